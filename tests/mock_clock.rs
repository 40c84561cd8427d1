//! A clock that is advanced by hand: what a limiter decides by it, and who is woken.
#![cfg(feature = "mock-clock")]

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ratecell::{DirectLimiter, Limiter, MockClock, Policy};

const SECOND: Duration = Duration::from_secs(1);
const NS: Duration = Duration::from_nanos(1);

fn limiter(policy: &str, clock: &MockClock) -> Limiter {
    let policy: Policy = policy.parse().expect("a policy");
    Limiter::builder(policy).max_keys(100).clock(clock).build().expect("a limiter")
}

#[test]
fn it_stands_still_until_it_is_advanced() {
    let clock = MockClock::new();
    let limiter = limiter("1/s", &clock);
    assert_eq!(limiter.now_ns(), 0);
    assert!(limiter.check("k").is_allowed());
    for _ in 0..1_000 {
        assert_eq!(limiter.check("k").retry_after(), Some(SECOND));
    }
    clock.advance(SECOND - NS);
    assert_eq!(limiter.check("k").retry_after(), Some(NS));
    clock.advance(NS);
    assert!(limiter.check("k").is_allowed());
    assert_eq!(limiter.now_ns(), 1_000_000_000);
}

#[test]
fn clones_are_one_clock() {
    let clock = MockClock::new();
    let (one, other) = (limiter("1/s", &clock), limiter("1/s", &clock.clone()));
    assert!(one.check("k").is_allowed() && other.check("k").is_allowed());
    std::thread::scope(|scope| {
        let clock = clock.clone();
        scope.spawn(move || clock.advance(SECOND));
    });
    assert!(one.check("k").is_allowed() && other.check("k").is_allowed());
    // A limiter with another rate beside it has its clock, too.
    let beside = one.with_policy("2/s".parse().expect("a policy")).expect("it fits");
    assert_eq!(beside.now_ns(), one.now_ns());
}

#[test]
fn windows_are_those_of_its_time() {
    let new_year = UNIX_EPOCH + Duration::from_secs(1_767_225_600);
    let clock = MockClock::starting_at(new_year - SECOND);
    let limiter = limiter("calendar_window 2/year tz=UTC", &clock);
    assert!(limiter.check_n("k", 2).is_allowed());
    assert_eq!(limiter.check("k").retry_after(), Some(SECOND));
    clock.advance(SECOND);
    assert_eq!(clock.now(), new_year);
    assert!(limiter.check("k").is_allowed());
    assert_eq!(limiter.epoch() + Duration::from_nanos(limiter.now_ns()), new_year);
}

#[test]
fn the_epoch_may_be_set() {
    let clock = MockClock::new();
    let policy: Policy = "1/s".parse().expect("a policy");
    let since = clock.now() - 5 * SECOND;
    let limiter = Limiter::builder(policy).epoch(since).clock(&clock).build().expect("a limiter");
    assert_eq!((limiter.epoch(), limiter.now_ns()), (since, 5_000_000_000));
    clock.advance(SECOND);
    assert_eq!(limiter.now_ns(), 6_000_000_000);
}

#[test]
fn it_has_no_time_before_1970_or_after_2554() {
    let clock = MockClock::starting_at(UNIX_EPOCH - SECOND);
    assert_eq!(clock.now(), UNIX_EPOCH);
    clock.advance(Duration::MAX);
    clock.advance(SECOND);
    assert_eq!(clock.now(), SystemTime::UNIX_EPOCH + Duration::from_nanos(u64::MAX));
}

#[test]
fn permits_come_back_by_it() {
    let clock = MockClock::new();
    let limiter = Arc::new(limiter("in_flight 1 hold=60s", &clock));
    let (_, permit) = limiter.reserve(ratecell::Request::new("k")).expect("it can reserve");
    assert!(!limiter.check("k").is_allowed());
    clock.advance(Duration::from_secs(200));
    assert!(limiter.check("k").is_allowed());
    assert_eq!(limiter.release(permit.expect("it was allowed")).given_back(), 0);
}

#[test]
fn a_change_is_in_force_at_once() {
    let clock = MockClock::new();
    let limiter = limiter("2/d", &clock);
    assert!(limiter.check_n("k", 2).is_allowed() && !limiter.check("k").is_allowed());
    limiter.change("3/d".parse().expect("a policy")).expect("it follows");
    assert!(limiter.check("k").is_allowed() && !limiter.check("k").is_allowed());
}

#[test]
fn a_limiter_without_keys_has_one_too() {
    let clock = MockClock::new();
    let limiter = DirectLimiter::with_clock("1/s".parse().expect("a policy"), &clock);
    assert!(limiter.check().is_allowed() && !limiter.check().is_allowed());
    clock.advance(SECOND);
    assert!(limiter.check().is_allowed());
}

#[cfg(target_os = "linux")]
#[test]
fn a_region_has_its_own_clock() {
    let policy: Policy = "1/s".parse().expect("a policy");
    let builder = Limiter::builder(policy).max_keys(100);
    let memory = ratecell::Memory::shared(builder.region_bytes().expect("a size")).expect("memory");
    let refused = builder.clock(&MockClock::new()).init(&memory).expect_err("two clocks");
    assert_eq!(refused, ratecell::BuildError::Clock);
    assert_eq!(refused.to_string(), "clock: expected none where a region or a store has its own");
}

#[cfg(feature = "rules")]
#[test]
fn rules_are_decided_by_it() {
    use ratecell::rules::{Rules, RulesLimiter};

    let clock = MockClock::new();
    let rules = Rules::parse("ratecell_rules = 1\n[[rule]]\nname = 'site'\nkey = []\nlimit = '1/s'\n");
    let limiter = RulesLimiter::builder(rules.expect("rules")).clock(&clock).build().expect("a limiter");
    let decide = || limiter.decide(&[("path", "/")]).is_allowed();
    assert!(decide() && !decide());
    clock.advance(SECOND);
    assert!(decide());
}

#[cfg(feature = "async")]
mod futures {
    use std::pin::pin;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Context, Poll, Wake, Waker};

    use super::*;

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    impl Woken {
        fn count(&self) -> usize {
            self.0.load(Ordering::Relaxed)
        }
    }

    #[test]
    fn an_advance_wakes_who_waits() {
        let clock = MockClock::new();
        let limiter = limiter("1/s", &clock);
        assert!(limiter.check("k").is_allowed());
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(Arc::clone(&woken));
        let mut context = Context::from_waker(&waker);
        let mut first = pin!(limiter.acquire("k"));
        let mut second = pin!(limiter.acquire("k"));
        assert!(first.as_mut().poll(&mut context).is_pending());
        assert!(second.as_mut().poll(&mut context).is_pending());
        std::thread::sleep(Duration::from_millis(2));
        assert_eq!(woken.count(), 0);
        clock.advance(SECOND - NS);
        assert_eq!(woken.count(), 1);
        assert!(first.as_mut().poll(&mut context).is_pending());
        clock.advance(NS);
        assert_eq!(woken.count(), 2);
        assert!(matches!(first.as_mut().poll(&mut context), Poll::Ready(Ok(_))));
        assert!(second.as_mut().poll(&mut context).is_pending());
        clock.advance(SECOND);
        assert!(matches!(second.as_mut().poll(&mut context), Poll::Ready(Ok(_))));
    }

    #[test]
    fn a_wait_ends_late_by_it() {
        let clock = MockClock::new();
        let limiter = limiter("1/s", &clock);
        assert!(limiter.check("k").is_allowed());
        let late = ::futures::executor::block_on(limiter.acquire("k").within(SECOND - NS));
        assert_eq!(late.expect_err("it is too early").after(), Some(SECOND));
        let (end, ()) = ::futures::executor::block_on(::futures::future::join(
            limiter.acquire("k").within(SECOND),
            async { clock.advance(SECOND) },
        ));
        assert!(end.expect("it goes at the last instant").is_allowed());
    }

    #[test]
    fn tasks_of_other_threads_are_woken() {
        let clock = MockClock::new();
        let limiter = limiter("1/h", &clock);
        assert!(limiter.check("k").is_allowed());
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| ::futures::executor::block_on(limiter.acquire("k")));
            while !waiting.is_finished() {
                clock.advance(Duration::from_secs(60));
                std::thread::yield_now();
            }
            assert!(waiting.join().expect("no panic").is_ok());
        });
    }

    #[test]
    fn a_sleep_ends_when_it_is_due() {
        let clock = MockClock::new();
        let limiter = limiter("1/s", &clock);
        let mut context = Context::from_waker(Waker::noop());
        let mut sleep = pin!(limiter.sleep(SECOND));
        assert!(sleep.as_mut().poll(&mut context).is_pending());
        clock.advance(SECOND - NS);
        assert!(sleep.as_mut().poll(&mut context).is_pending());
        clock.advance(NS);
        assert!(sleep.as_mut().poll(&mut context).is_ready());
    }
}
