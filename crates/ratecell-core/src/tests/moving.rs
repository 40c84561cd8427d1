//! Calendars in the zone that each request names.

use alloc::string::ToString;
use alloc::vec::Vec;

use proptest::prelude::*;

use crate::algorithm::{Algorithm, CallerWindow, Kernel, Plan, Reserve};
use crate::decision::{Decision, Outcome};
use crate::policy::Policy;
use crate::request::Request;
use crate::zone::Zone;

const HOUR: u64 = 3_600_000_000_000;
const LIMIT: u64 = 3;

fn kernel(policy: &Policy) -> CallerWindow {
    match policy.layers()[0].plan() {
        Plan::Word(Kernel::CallerWindow(kernel)) => kernel,
        other => panic!("{other:?}"),
    }
}

/// A policy with its kernel, and zones that differ in all that matters.
fn moving(text: &str) -> (CallerWindow, Vec<Zone>) {
    let policy: Policy = text.parse().expect("a policy");
    let names =
        ["UTC", "Pacific/Kiritimati", "-12:00", "America/New_York", "Australia/Lord_Howe", "Asia/Tokyo"];
    let zones = names.map(|name| policy.zone(name).expect("a zone"));
    (kernel(&policy), zones.into())
}

fn request(zone: &Zone, cost: u32) -> Request<'_> {
    Request::default().cost(cost).zone(zone)
}

#[test]
fn nobody_gets_a_second_quota_by_moving() {
    let policy: Policy = "calendar_window 3/day tz=caller".parse().expect("a policy");
    let kernel = kernel(&policy);
    let [tokyo, new_york] = ["asia/tokyo", "America/New_York"].map(|name| policy.zone(name).expect("a zone"));
    assert_eq!((tokyo.name().as_str(), tokyo.clone() == tokyo), ("Asia/Tokyo", true));
    assert_ne!(tokyo, new_york);
    // From 2026-02-02 00:00 UTC, four weeks after the epoch.
    let at = |hours: u64| (28 * 24 + hours) * HOUR;
    let full = kernel.decide(0, at(13), &request(&tokyo, 3)).charged.expect("allowed");
    let denied = kernel.decide(full, at(15) - 60_000_000_000, &request(&new_york, 1)).decision;
    assert_eq!((denied.outcome(), denied.retry_after_ns()), (Outcome::Denied, 14 * HOUR + HOUR / 60));
    let moved = kernel.decide(full, at(29), &request(&new_york, 1));
    assert_eq!(moved.decision.remaining(), 2);
    let moved = kernel
        .decide(moved.charged.expect("allowed"), at(29), &request(&new_york, 2))
        .charged
        .expect("allowed");
    let denied = kernel.decide(moved, at(39), &request(&tokyo, 1)).decision;
    assert_eq!((denied.outcome(), denied.retry_after_ns()), (Outcome::Denied, 24 * HOUR));
}

/// What is left of a quota can be used until the next one is opened, which a mover may put off to the end of its window.
#[test]
fn a_mover_may_have_three_quotas_less_a_unit_within_a_day() {
    let policy: Policy = "calendar_window 3/day tz=caller".parse().expect("a policy");
    let kernel = kernel(&policy);
    let [utc, east] = ["UTC", "+01:00"].map(|name| policy.zone(name).expect("a zone"));
    let mut word = 0;
    for (zone, hours, cost) in [(&utc, 1, 1), (&east, 46, 2), (&utc, 47, 3), (&utc, 48, 3)] {
        word = kernel.decide(word, hours * HOUR, &request(zone, cost)).charged.expect("allowed");
    }
    for zone in [&utc, &east] {
        assert!(kernel.decide(word, 71 * HOUR - 1, &request(zone, 1)).charged.is_none());
    }
}

#[test]
fn a_request_without_the_right_zone_is_refused() {
    let of = |text: &str| text.parse::<Policy>().expect("a policy");
    let policy = of("calendar_window 3/day tz=caller");
    let asked = kernel(&policy);
    let refused = |kernel: &CallerWindow, request: Request<'_>| {
        let step = kernel.decide(0, HOUR, &request);
        let never = step.decision.outcome() == Outcome::Never && step.decision.is_without_zone();
        never && step.charged.is_none() && step.decision.retry_after_ns() == Decision::NEVER
    };
    assert!(refused(&asked, Request::default()));
    assert!(refused(&asked, Request::default().charge()));
    for other in [
        "calendar_window 3/week tz=caller",
        "calendar_window 3/day tz=caller at=06:00",
        "calendar_window 3/day tz=caller horizon=10w",
    ] {
        let zone = of(other).zone("UTC").expect("a zone");
        assert!(refused(&asked, request(&zone, 0)) && refused(&asked, request(&zone, 1).charge()), "{other}");
    }
    let later = policy.at_epoch(1_767_571_200 + 7 * 86_400).expect("an epoch").zone("UTC").expect("a zone");
    assert!(refused(&asked, request(&later, 1)));
    // That of another limit is one of the same calendar.
    let zone = of("calendar_window 9/day tz=caller").zone("UTC").expect("a zone");
    assert!(!refused(&asked, request(&zone, 1)));
    for named in ["calendar_window 3/day tz=UTC", "3/s", "in_flight 3 hold=1s"] {
        let named = of(named);
        let Plan::Word(kernel) = named.layers()[0].plan() else { panic!("{named}") };
        let asked = request(&zone, 1);
        let decision = match kernel {
            Kernel::CalendarWindow(kernel) => kernel.decide(0, 0, &asked).decision,
            Kernel::Gcra(kernel) => kernel.decide(0, 0, &asked).decision,
            Kernel::InFlight(kernel) => kernel.decide(0, 0, &asked).decision,
            other => panic!("{other:?}"),
        };
        assert!(decision.outcome() == Outcome::Never && decision.is_without_zone(), "{named}");
        assert!(
            named.zone("UTC").expect_err("none").to_string().contains("expected a policy with tz=caller")
        );
    }
    assert!(policy.zone("caller").is_err() && policy.zone("Berlin").is_err());
}

#[test]
fn it_is_no_layer_of_several() {
    let policy: Policy = "calendar_window 3/day tz=caller".parse().expect("a policy");
    for refused in [
        "calendar_window 3/day tz=caller & 5/s".parse::<Policy>(),
        "5/s & calendar_window 3/day tz=caller".parse(),
        Policy::all([policy]),
    ] {
        assert_eq!(refused.expect_err("refused").kind().code(), "bad_layers");
    }
}

#[test]
fn units_are_given_back_while_their_window_is_in_force() {
    let (kernel, zones) = moving("calendar_window 3/day tz=caller");
    let held = kernel.decide(0, 13 * HOUR, &request(&zones[0], 3)).charged.expect("allowed");
    let reservation = kernel.held(held, 13 * HOUR, 3, 0);
    let (back, units) = kernel.give_back(held, 14 * HOUR, &reservation, 3, 2, None);
    assert_eq!((units, kernel.decide(back, 14 * HOUR, &request(&zones[3], 0)).decision.remaining()), (2, 2));
    let next = kernel.decide(back, 50 * HOUR, &request(&zones[0], 1)).charged.expect("allowed");
    assert_eq!(kernel.give_back(next, 50 * HOUR, &reservation, 3, 1, None), (next, 0));
}

/// Instants of three weeks around a change of clocks, in half hours.
fn instant() -> impl Strategy<Value = u64> {
    (60 * 48..80 * 48_u64).prop_map(|half_hours| half_hours * HOUR / 2)
}

fn asked() -> impl Strategy<Value = Vec<(u64, usize, u32)>> {
    prop::collection::vec((instant(), 0..6_usize, 1..=3_u32), 0..8)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 1 } else { 400 }, failure_persistence: None, ..ProptestConfig::default() })]

    /// From `fresh_at` on a word decides in each zone as one that was never used, and an hour after the end some zone still needs it.
    #[test]
    fn a_word_is_fresh_in_every_zone(asked in asked(), now in instant()) {
        let (kernel, zones) = moving("calendar_window 3/day tz=caller");
        let step = |word, (now, zone, cost): (u64, usize, u32)| {
            kernel.decide(word, now, &request(&zones[zone], cost)).charged.unwrap_or(word)
        };
        let word = asked.into_iter().fold(0, step);
        let fresh_at = kernel.fresh_at(word);
        let now = now.max(fresh_at);
        for zone in &zones {
            let [one, other] = [word, 0].map(|word| kernel.decide(word, now, &request(zone, 1)));
            prop_assert_eq!((one.charged, one.decision), (other.charged, other.decision));
        }
        prop_assert_eq!((kernel.level(word, now), kernel.weight(word, now)), (0, 0));
        if word != 0 {
            let earlier = fresh_at - 47 * HOUR;
            let remaining = zones.iter().map(|zone| kernel.decide(word, earlier, &request(zone, 0)).decision.remaining());
            prop_assert!(remaining.min() < Some(LIMIT) && kernel.level(word, earlier) > 0);
        }
    }

    /// A key that lost its word and comes back is treated no better than with it, wherever it is asked for later.
    #[test]
    fn newcomers_are_treated_no_better(
        own in asked(),
        erased in asked(),
        now in instant(),
        zone in 0..6_usize,
        cost in 1..=3_u32,
        later in prop::collection::vec((instant(), 0..6_usize), 40),
    ) {
        let (kernel, zones) = moving("calendar_window 3/day tz=caller");
        let step = |word, (now, zone, cost): (u64, usize, u32)| {
            kernel.decide(word, now, &request(&zones[zone], cost)).charged.unwrap_or(word)
        };
        let (own, erased) = (own.into_iter().fold(0, step), erased.into_iter().fold(0, step));
        let floor = kernel.fresh_at(erased);
        let asked = request(&zones[zone], cost);
        let Some(after) = kernel.newcomer(own, floor, now, &asked).1 else { return Ok(()) };
        let judged = now.max(floor);
        let others = [0, own].map(|word| kernel.decide(word, judged, &asked).charged);
        for other in others.into_iter().flatten() {
            for (later, zone) in &later {
                let peek = request(&zones[*zone], 0);
                let remaining = |word| kernel.decide(word, judged.max(*later), &peek).decision.remaining();
                prop_assert!(remaining(after) <= remaining(other), "{after:#x} {other:#x}");
            }
        }
        // What no request is known of is judged no better than in any zone.
        let anywhere = kernel.carried(own, judged);
        for zone in &zones {
            prop_assert!(kernel.carried_in(own, judged, Some(zone)) <= anywhere.max(own));
        }
    }

    /// In the time of k shortest windows, a mover gets k + 2 quotas less a unit at most: each window that is opened begins
    /// that time after the one before, but for two: the one in force at the start, and the one that had begun by then and is
    /// opened late.
    #[test]
    fn movers_are_bounded_as_those_who_stay(mut asked in prop::collection::vec((instant(), 0..6_usize, 1..=3_u32), 200)) {
        let (kernel, zones) = moving("calendar_window 3/day tz=caller");
        asked.sort_by_key(|(at, ..)| *at);
        let (mut word, mut admitted) = (0, Vec::new());
        for (now, zone, cost) in asked {
            if let Some(charged) = kernel.decide(word, now, &request(&zones[zone], cost)).charged {
                prop_assert!(charged > word);
                word = charged;
                admitted.push((now, u64::from(cost)));
            }
        }
        for (from, _) in &admitted {
            for k in 1..=5 {
                let within = admitted.iter().filter(|(at, _)| (*from..from + k * 23 * HOUR).contains(at));
                prop_assert!(within.map(|(_, cost)| cost).sum::<u64>() < (k + 2) * LIMIT);
            }
        }
    }
}
