//! Policies that change over live keys: by threads at the same time, through files, beside views and held charges. What each
//! decision is the published vectors say.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use ratecell::{BuildError, ChangeError, Limiter, Policy, Request};

const SECOND: u64 = 1_000_000_000;

fn policy(text: &str) -> Policy {
    text.parse().expect(text)
}

fn limiter(text: &str) -> Limiter {
    Limiter::builder(policy(text)).max_keys(1_000).build().expect("a limiter")
}

/// By how much the instant of a change may be later than the limiter's clock says right after it.
const LATE: u64 = 100_000;

/// A key that is always exhausted gets no unit more than the policies in force allow, each for its time.
#[test]
fn a_saturated_key_gets_what_its_policies_allow() {
    const CHANGES: usize = 200;
    const BURST: u64 = 50_000;
    let rates = [1_000_000_u64, 200_000, 3_000_000, 700_000];
    let text = |rate: u64| policy(&format!("{rate}/s burst={BURST}"));
    let limiter = Limiter::builder(text(rates[0])).max_keys(100).build().expect("a limiter");
    let (admitted, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    let (mut rate, mut since) = (rates[0], limiter.now_ns());
    // In units, times a second.
    let mut allowed = u128::from(BURST * SECOND);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                // Relaxed: nothing is read by it.
                while !is_over.load(Ordering::Relaxed) {
                    // Relaxed: it counts alone.
                    admitted.fetch_add(u64::from(limiter.check("key").is_allowed()), Ordering::Relaxed);
                }
            });
        }
        for number in 1..=CHANGES {
            thread::sleep(Duration::from_millis(2));
            let next = rates[number % rates.len()];
            let before = limiter.now_ns();
            limiter.change(text(next)).expect("it can follow");
            let after = limiter.now_ns() + LATE;
            allowed += u128::from(rate) * u128::from(before.saturating_sub(since));
            // Either may have been in force.
            allowed += u128::from(rate.max(next)) * u128::from(after - before);
            (rate, since) = (next, after);
        }
        // Relaxed: it ends loops.
        is_over.store(true, Ordering::Relaxed);
    });
    allowed += u128::from(rate) * u128::from(limiter.now_ns().saturating_sub(since));
    // Relaxed: all threads have ended.
    let admitted = u128::from(admitted.load(Ordering::Relaxed));
    let most = allowed / u128::from(SECOND);
    println!("{admitted} units admitted during {CHANGES} changes, at most {most}");
    assert!(admitted <= most && admitted > 0);
}

#[test]
fn a_view_keeps_its_burst_and_takes_the_rate() {
    let limiter = limiter("1/s burst=5");
    let view = limiter.with_policy(policy("1/s burst=20")).expect("a view");
    assert!(view.check_at("key", 12, 0).is_allowed());
    limiter.change_at(policy("10/s burst=5"), SECOND).expect("it can follow");
    assert_eq!(
        (limiter.policy().to_string(), view.policy().to_string()),
        ("10/s burst=5".to_owned(), "10/s burst=20".to_owned())
    );
    // 11 are used still.
    assert_eq!(view.check_at("key", 0, SECOND).remaining(), 9);
    let peeked = limiter.check_at("key", 0, SECOND);
    assert!(!peeked.is_allowed() && peeked.retry_after() == Some(Duration::from_millis(600)));
    view.change_at(policy("1/s burst=7"), SECOND).expect("it can follow");
    assert_eq!(limiter.policy().to_string(), "1/s burst=7");
    // What a view has used is used after any number of changes, also what it used after the first.
    assert!(view.check_at("other", 20, SECOND).is_allowed());
    for next in ["10/s burst=6", "1/s burst=6", "7/m burst=5", "1/s burst=20", "2/s burst=5", "1/s burst=6"] {
        limiter.change_at(policy(next), SECOND).expect("it can follow");
        assert_eq!(view.check_at("other", 0, SECOND).remaining(), 0, "{next}");
        assert!(view.policy().to_string().ends_with("burst=20"), "{}", view.policy());
    }
}

#[test]
fn what_cannot_follow_changes_nothing() {
    let limiter = limiter("1/s burst=5 & fixed_window 9/h");
    assert!(limiter.check_at("key", 3, 0).is_allowed());
    for (text, expected) in [
        ("1/s burst=5", "`1/s burst=5` cannot follow"),
        ("1/s burst=5 & fixed_window 9/2h", "expected as many layers, each of the same algorithm"),
        ("fixed_window 9/1h & 1/s burst=5", "expected as many layers"),
    ] {
        let error = limiter.change_at(policy(text), 0).expect_err(text);
        assert!(matches!(error, BuildError::Change(ChangeError::DifferentTable { .. })), "{error:?}");
        assert!(error.to_string().contains(expected), "{error}");
    }
    let late = limiter.change_at(policy("2/s burst=5 & fixed_window 9/1h"), u64::MAX).expect_err("too late");
    assert!(matches!(late, BuildError::Change(ChangeError::ClockRange { .. })), "{late:?}");
    assert_eq!(limiter.policy().to_string(), "1/s burst=5 & fixed_window 9/h");
    assert_eq!(limiter.check_at("key", 0, 0).remaining(), 2);
    // As the one in force decides: nothing is another.
    limiter.change_at(policy("1/s burst=5 & fixed_window 9/1h"), SECOND).expect("nothing to do");
    assert_eq!(limiter.check_at("key", 0, 0).remaining(), 2);
}

#[test]
fn what_was_reserved_before_a_change() {
    for (text, next, back) in [
        ("100/h", "200/h", 0),
        ("token_bucket 100/h capacity=100 mode=interval", "token_bucket 99/h capacity=100 mode=interval", 0),
        ("fixed_window 100/1h", "fixed_window 200/1h", 30),
        ("sliding_window 100/1h", "sliding_window 200/1h", 30),
        ("sliding_log 100/1h", "sliding_log 200/1h", 30),
    ] {
        for changes in [1, 3, 7] {
            let limiter = limiter(text);
            let (decision, reservation) =
                limiter.reserve(Request::new("key").cost(50).at(0)).expect("it reserves");
            assert!(decision.is_allowed());
            for number in 0..changes {
                limiter.change_at(policy(if number % 2 == 0 { next } else { text }), 0).expect("it follows");
            }
            let before = limiter.check_at("key", 0, 0).remaining();
            let settled = limiter.settle_at(reservation.expect("it was allowed"), 20, 0);
            assert_eq!(settled.remaining(), before + back, "{text}, {changes} changes");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_has_one_policy_for_all() {
    use ratecell::Region;

    let path = std::env::temp_dir().join(format!("ratecell-changing-{}", std::process::id()));
    let first = Limiter::builder(policy("1/h burst=10")).max_keys(600).open(&path).expect("a region");
    let other = Limiter::following().open(&path).expect("the region");
    let own = Limiter::builder(policy("1/h burst=30")).open(&path).expect("a view");
    for (number, burst) in (0..40).map(|number| (number, 10 + number % 7)) {
        assert!(first.check_at(format!("key {number}"), burst, 0).is_allowed());
        let next = format!("{}/h burst={}", 1 + number % 3, 10 + (number + 1) % 7);
        if number % 2 == 0 { &first } else { &other }.change_at(policy(&next), 0).expect("it can follow");
        for limiter in [&first, &other] {
            assert_eq!(limiter.policy().to_string(), next);
        }
        assert!(own.policy().to_string().ends_with("burst=30"), "{}", own.policy());
        // All that was used is used.
        for key in 0..=number {
            let peeked =
                Limiter::following().open(&path).expect("the region").check_at(format!("key {key}"), 0, 0);
            let used = 10 + key % 7;
            let left = u64::from((10 + (number + 1) % 7).saturating_sub(used));
            assert!(peeked.remaining() <= left, "key {key} after {number} changes");
        }
    }
    let region = Region::read(&path).expect("the region");
    assert_eq!(region.policy().to_string(), first.policy().to_string());
    assert_eq!((region.stats_at(0).live, first.stats_at(0).live), (40, 40));
    std::fs::remove_file(&path).expect("removed");
    let error = first.change(policy("9/h burst=10")).expect_err("no file to lock").to_string();
    assert!(error.contains("ratecell-changing"), "{error}");
}
