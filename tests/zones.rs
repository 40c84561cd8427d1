//! `tz=caller`: each request names its zone, through limiters with a table and without.

use ratecell::waiting::{Line, Parameters, Turn, WaitOutcome};
use ratecell::{Claim, Decision, DirectLimiter, Limiter, Outcome, Policy, Request, WhenFull, Zone};

const HOUR: u64 = 3_600_000_000_000;

fn policy() -> Policy {
    "calendar_window 3/day tz=caller".parse().expect("a policy")
}

fn limiter(when_full: WhenFull) -> Limiter {
    Limiter::builder(policy()).max_keys(5).when_full(when_full).build().expect("a limiter")
}

fn is_refused(decision: &Decision) -> bool {
    decision.outcome() == Outcome::Never && decision.is_without_zone()
}

#[test]
fn a_zone_can_be_kept_by_any_thread() {
    fn kept<T: Clone + Send + Sync + 'static>() {}
    kept::<Zone>();
}

#[test]
fn each_way_to_ask_takes_the_zone() {
    let limiter = limiter(WhenFull::Evict);
    let tokyo = limiter.zone("Asia/Tokyo").expect("a zone");
    let request = Request::new("a").at(HOUR).zone(&tokyo);
    let allowed = limiter.decide(request);
    // To the midnight of Tokyo.
    assert_eq!((allowed.remaining(), allowed.reset_after_ns()), (2, 14 * HOUR));
    assert_eq!(limiter.decide(request.cost(0)).remaining(), 2);
    let mut decisions = [Decision::default(); 2];
    limiter.decide_batch(&[request, request.cost(9)], &mut decisions);
    assert_eq!((decisions[0].remaining(), decisions[1].outcome()), (1, Outcome::Never));
    assert!(!decisions[1].is_without_zone());
    let claim = Claim { limiter: &limiter, request };
    assert_eq!(Limiter::decide_all(&[claim], &mut decisions[..1]), Outcome::Allowed);
    assert_eq!(Limiter::decide_all(&[claim], &mut decisions[..1]), Outcome::Denied);
    assert_eq!((decisions[0].remaining(), decisions[0].retry_after_ns()), (0, 14 * HOUR));
    let next = limiter.decide(request.with_next());
    assert_eq!((next.outcome(), next.next_ns()), (Outcome::Denied, 14 * HOUR));
    assert_eq!(limiter.decide(request.cost(2).charge().at(15 * HOUR)).remaining(), 1);
    assert!(limiter.decide(request.at(15 * HOUR).within_ns(0)).is_allowed());
    assert!(limiter.forget("a") && limiter.decide(request.at(15 * HOUR)).remaining() == 2);
}

#[test]
fn without_a_zone_nothing_is_charged() {
    let limiter = limiter(WhenFull::Evict);
    let utc = limiter.zone("UTC").expect("a zone");
    let other = Limiter::builder("3/s".parse().expect("a policy")).max_keys(5).build().expect("a limiter");
    let log = Limiter::builder("sliding_log 3/s".parse().expect("a policy"))
        .max_keys(5)
        .build()
        .expect("a limiter");
    assert!(
        is_refused(&limiter.check("a"))
            && is_refused(&limiter.peek("a"))
            && is_refused(&limiter.check_at("a", 1, 0))
    );
    assert!(is_refused(&limiter.decide(Request::new("a").charge())));
    for limiter in [&other, &log] {
        let request = Request::new("a").zone(&utc);
        assert!(is_refused(&limiter.decide(request)) && is_refused(&limiter.decide(request.charge())));
        assert_eq!(limiter.peek("a").remaining(), 3);
        assert!(limiter.zone("UTC").is_err());
    }
    // One claim without a zone is none at all.
    let mut decisions = [Decision::default(); 2];
    let claims = [
        Claim { limiter: &other, request: Request::new("a") },
        Claim { limiter: &limiter, request: Request::new("a") },
    ];
    assert_eq!(Limiter::decide_all(&claims, &mut decisions), Outcome::Never);
    assert!(is_refused(&decisions[1]));
    assert_eq!((other.peek("a").remaining(), limiter.stats().live), (3, 0));
}

#[test]
fn one_limit_for_everything_takes_zones_too() {
    let limiter = DirectLimiter::new(policy());
    let tokyo = limiter.zone("Asia/Tokyo").expect("a zone");
    let request = Request::default().cost(3).at(HOUR).zone(&tokyo);
    assert_eq!(limiter.decide(request).reset_after_ns(), 14 * HOUR);
    assert_eq!(limiter.decide(request.at(15 * HOUR - 1)).retry_after_ns(), 1);
    assert!(is_refused(&limiter.check()));
    assert!(limiter.decide(request.at(15 * HOUR)).is_allowed());
}

/// Keys of all zones in a table that is full: none gets more than its limit to the end of its own window.
#[test]
fn a_full_table_answers_in_the_zone_of_the_request() {
    for (when_full, most) in [(WhenFull::Deny, 7 * 3), (WhenFull::Share, 14 * 3)] {
        let limiter = limiter(when_full);
        let zones = ["Asia/Tokyo", "UTC", "-11:00"].map(|name| limiter.zone(name).expect("a zone"));
        let mut admitted = 0;
        for (number, zone) in (0..400).zip(zones.iter().cycle()) {
            let request = Request::hashed(number).at(HOUR).zone(zone);
            admitted += (0..4).filter(|_| limiter.decide(request).is_allowed()).count();
        }
        assert!((7 * 3..=most).contains(&admitted), "{when_full:?}: {admitted}");
        // The last window that was opened ends 24 h after the first, so that each key has a word for two days more.
        let full = limiter.decide(Request::hashed(500).at(2 * HOUR).zone(&zones[0]));
        assert_eq!(full.outcome(), Outcome::Denied, "{when_full:?}");
        let charged = limiter.decide(Request::hashed(500).at(2 * HOUR).zone(&zones[0]).charge());
        assert!(!charged.is_without_zone(), "{when_full:?}");
        assert!(
            limiter.decide(Request::hashed(500).at(80 * HOUR).zone(&zones[0])).is_allowed(),
            "{when_full:?}"
        );
    }
}

#[test]
fn who_waits_names_no_zone() {
    let limiter = limiter(WhenFull::Evict);
    let mut line = Line::new(Parameters::of(&limiter.policy()));
    let waiter = line.arrive(0, b"a", 1, None);
    let Turn::End(end) = line.turn(&limiter, 0, waiter) else { panic!("it waits for a zone") };
    assert_eq!(end.outcome, WaitOutcome::Never);
    assert!(end.decision.is_some_and(|decision| is_refused(&decision)));
}

#[test]
fn a_settlement_gives_back_without_a_zone() {
    let limiter = limiter(WhenFull::Evict);
    let utc = limiter.zone("UTC").expect("a zone");
    let request = Request::new("a").cost(3).at(HOUR).zone(&utc);
    for (actual, remaining) in [(1, 2), (3, 0)] {
        let (_, reservation) = limiter.reserve(request).expect("a limiter that reserves");
        assert!(is_refused(&limiter.settle_at(reservation.expect("it was allowed"), actual, HOUR)));
        assert_eq!(limiter.decide(request.cost(0)).remaining(), remaining);
        limiter.forget("a");
    }
    // What was used beyond the units that were reserved is not charged.
    let (_, reservation) = limiter.reserve(request.cost(1)).expect("a limiter that reserves");
    assert!(is_refused(&limiter.settle_at(reservation.expect("it was allowed"), 2, HOUR)));
    assert_eq!(limiter.decide(request.cost(0)).remaining(), 2);
}
