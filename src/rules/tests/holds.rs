//! What is held by rules, and given back.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;

use ratecell_core::{Outcome, Request};

use super::{ANN, rule, rules};
use crate::limiter::{Limiter, ReservationError, Unsettled};
use crate::rules::{RulesLimiter, RulesReservation};

const MINUTE: u64 = 60_000_000_000;

fn reserving(text: &str) -> RulesLimiter {
    RulesLimiter::builder(rules(text)).max_keys(1_000).reserving().build().expect("a limiter")
}

fn change(limiter: &RulesLimiter, text: &str) {
    limiter.change_at(rules(text), 0).expect("another file");
}

fn reserved(limiter: &RulesLimiter, attributes: &[(&str, &str)]) -> RulesReservation {
    limiter.reserve_at(attributes, 0).1.expect("it is allowed")
}

/// How many of these requests are allowed now.
fn room(limiter: &RulesLimiter, attributes: &[(&str, &str)]) -> usize {
    let taken: Vec<_> = core::iter::from_fn(|| limiter.reserve_at(attributes, 0).1).take(1_000).collect();
    for reservation in &taken {
        limiter.cancel_at(reservation.clone(), 0);
        limiter.release_at(reservation.clone(), 0);
    }
    taken.len()
}

/// A rule whose cost is the attribute `tier`.
fn costly(name: &str, limit: &str) -> String {
    rule(name, limit) + "cost = { from = 'tier', default = 10 }\n"
}

#[test]
fn all_permits_of_a_request_come_back_together() {
    let limiter = reserving(&(rule("a", "in_flight 3 hold=1h") + &rule("b", "9/h & in_flight 2 hold=1m")));
    let (first, second) = (reserved(&limiter, &ANN), reserved(&limiter, &ANN));
    let (third, none) = limiter.reserve_at(&ANN, 0);
    assert_eq!((third.rule_name(), none), (Some("b"), None));
    assert_eq!(limiter.release_at(first, 0), 1);
    assert_eq!(room(&limiter, &ANN), 1);
    // By itself that of b has passed, as the next request finds, and that of a has not.
    assert!(limiter.reserve_at(&ANN, 3 * MINUTE).0.is_allowed());
    assert_eq!(limiter.release_at(second, 3 * MINUTE), 0);
    assert_eq!(core::iter::from_fn(|| limiter.reserve_at(&ANN, 3 * MINUTE).1).count(), 1);
}

#[test]
fn a_request_that_no_rule_limits_holds_nothing() {
    let limiter =
        reserving("[[rule]]\nname = 'a'\nmatch.user = 'ann'\nkey = []\nlimit = 'in_flight 1 hold=1h'\n");
    let reservation = reserved(&limiter, &[("user", "bob")]);
    assert_eq!(reservation.to_bytes(), []);
    assert_eq!(limiter.release_at(reservation, 0), 0);
    let blocked = reserving(
        &(rule("a", "in_flight 1 hold=1h") + "[[rule]]\nname = 'b'\nkey = []\nlimit = 'blocked'\n"),
    );
    assert_eq!(blocked.reserve_at(&ANN, 0).1, None);
}

#[test]
fn a_shadow_rule_holds_nothing() {
    let limiter = reserving(
        &(rule("a", "in_flight 1 hold=1h") + &rule("b", "in_flight 1 hold=1h") + "mode = 'shadow'\n"),
    );
    assert_eq!(limiter.release_at(reserved(&limiter, &ANN), 0), 1);
    let (second, _) = limiter.reserve_at(&ANN, 0);
    assert!(second.is_allowed());
    assert_eq!(second.shadows().map(|(name, _)| name).collect::<Vec<_>>(), ["b"]);
    assert_eq!(second.shadow[0].1, Outcome::Denied);
}

/// A claim whose cost is taken from an attribute is settled by it; all others stay.
#[test]
fn costs_are_settled_by_what_is_known_afterwards() {
    let text = rule("requests", "fixed_window 100/1d")
        + &costly("units", "fixed_window 1000/1d")
        + &rule("kinds", "fixed_window 500/1d")
        + "cost = { by = 'tier', of = { 0 = 0, 30 = 3 }, default = 7 }\n";
    let limiter = reserving(&text);
    let left = |limiter: &RulesLimiter| {
        let decision = limiter.reserve_at(&[("user", "ann"), ("tier", "0")], 0).0;
        // Of these units `requests` has one more now.
        decision.made.iter().map(|made| made.decision.remaining()).collect::<Vec<_>>()
    };
    let held = reserved(&limiter, &ANN);
    assert_eq!(left(&limiter), [98, 990, 493]);
    limiter.settle_at(held, &[("tier", "4")], 0);
    assert_eq!(left(&limiter), [97, 996, 493]);
    limiter.settle_at(reserved(&limiter, &ANN), &[("tier", "30")], 0);
    assert_eq!(left(&limiter), [95, 966, 490]);
    // Another attribute says nothing of these costs.
    limiter.settle_at(reserved(&limiter, &ANN), &[("user", "bob")], 0);
    assert_eq!(left(&limiter), [93, 956, 483]);
    limiter.cancel_at(reserved(&limiter, &ANN), 0);
    assert_eq!(left(&limiter), [92, 956, 483]);
}

/// What is held stays where its rule stays, whatever else of the file changes.
#[test]
fn what_is_held_outlives_a_change_of_the_file() {
    let (a, b) = (rule("a", "in_flight 2 hold=1h"), costly("b", "fixed_window 100/1d"));
    let limiter = reserving(&(a.clone() + &b));
    let (first, second) = (reserved(&limiter, &ANN), reserved(&limiter, &ANN));
    change(&limiter, &(rule("before", "5/h") + &b.replace("100", "50") + &a.replace("flight 2", "flight 3")));
    assert_eq!(limiter.release_at(first.clone(), 0), 1);
    limiter.settle_at(first, &[("tier", "1")], 0);
    // 20 were reserved, of which 9 are back.
    let (third, permit) = limiter.reserve_at(&ANN, 0);
    assert_eq!(third.made[1].decision.remaining(), 50 - 11 - 10);
    // The way to the cost is another: what it would be is not known.
    change(&limiter, &(b.replace("default = 10", "default = 20") + &a + "mode = 'shadow'\n"));
    limiter.settle_at(second.clone(), &[("tier", "1")], 0);
    assert_eq!(limiter.release_at(second, 0), 1);
    assert_eq!(limiter.release_at(permit.expect("it was allowed"), 0), 1);
    change(&limiter, &(a + &costly("b", "fixed_window 100/1d")));
    assert_eq!(limiter.reserve_at(&ANN, 0).0.made[1].decision.remaining(), 100 - 21 - 10);
}

/// Where a rule went away, or has begun anew, nothing is given back, and nobody is harmed.
#[test]
fn of_a_rule_that_went_away_nothing_comes_back() {
    let (a, b) = (rule("a", "in_flight 2 hold=1h"), rule("b", "fixed_window 100/1d"));
    let limiter = reserving(&(a.clone() + &b));
    let held = reserved(&limiter, &ANN);
    change(&limiter, &b);
    assert_eq!(limiter.release_at(held.clone(), 0), 0);
    change(&limiter, &(a.clone() + &b.replace("100", "101")));
    change(&limiter, &(a + &b));
    let other = reserved(&limiter, &ANN);
    // The cells are others, in which another request is.
    assert_eq!(limiter.release_at(held.clone(), 0), 0);
    limiter.cancel_at(held, 0);
    assert_eq!(room(&limiter, &ANN), 1);
    assert_eq!(limiter.release_at(other, 0), 1);
    // Another kind in place of the rule.
    let held = reserved(&limiter, &ANN);
    change(&limiter, &rule("a", "10/h"));
    limiter.cancel_at(held.clone(), 0);
    assert_eq!((limiter.release_at(held, 0), room(&limiter, &ANN)), (0, 10));
}

#[test]
fn tiers_give_back_in_their_own_cells() {
    let file = |limit: &str| {
        format!(
            "[[rule]]\nname = 'a'\nkey = ['user']\nlimit = {{ by = 'tier', of = {{ pro = '{limit}' }}, default = 'in_flight 1 hold=1h' }}\n"
        )
    };
    let limiter = reserving(&file("in_flight 2 hold=1h"));
    let pro = [("user", "ann"), ("tier", "pro")];
    let (one, other) = (reserved(&limiter, &pro), reserved(&limiter, &ANN));
    assert_eq!((room(&limiter, &pro), room(&limiter, &ANN)), (1, 0));
    change(&limiter, &file("in_flight 3 hold=1h"));
    assert_eq!((limiter.release_at(one, 0), room(&limiter, &pro), room(&limiter, &ANN)), (1, 3, 0));
    assert_eq!((limiter.release_at(other, 0), room(&limiter, &ANN)), (1, 1));
}

#[test]
fn tiers_with_one_cell_give_back_in_it() {
    let file = |free: u32| {
        format!(
            "[[rule]]\nname = 'a'\nkey = ['user']\ncost = 4\nlimit = {{ by = 'tier', of = {{ pro = 'fixed_window 20/1d' }}, default = 'fixed_window {free}/1d', shared = true }}\n"
        )
    };
    let limiter = reserving(&file(10));
    let pro = [("user", "ann"), ("tier", "pro")];
    let (one, other) = (reserved(&limiter, &ANN), reserved(&limiter, &pro));
    assert_eq!((room(&limiter, &ANN), room(&limiter, &pro)), (0, 3));
    change(&limiter, &file(12));
    limiter.cancel_at(one, 0);
    limiter.cancel_at(other, 0);
    assert_eq!((room(&limiter, &ANN), room(&limiter, &pro)), (3, 5));
}

/// What is above the reserved units is charged as far as the dearest tier reaches, whichever of them the request has.
#[test]
fn tiers_with_one_cell_are_charged_in_it() {
    let limiter = reserving(
        "[[rule]]\nname = 'a'\nkey = ['user']\ncost = { from = 'header:units', default = 1 }\nlimit = { by = 'tier', of = { free = 'fixed_window 10/1d', pro = 'fixed_window 100/1d' }, default = 'fixed_window 20/1d', shared = true }\n",
    );
    let pro = [("user", "ann"), ("tier", "pro")];
    limiter.settle_at(reserved(&limiter, &pro), &[("header:units", "60")], 0);
    assert_eq!(room(&limiter, &pro), 40);
}

#[test]
fn a_guard_gives_back_what_it_holds() {
    let limiter = reserving(&(rule("a", "in_flight 1 hold=1h") + &costly("b", "fixed_window 100/1d")));
    let hold = |unsettled| limiter.hold_at(&ANN, unsettled, 0);
    let held = hold(Unsettled::Keep).expect("there is room");
    assert!(held.decision().is_allowed());
    assert_eq!(hold(Unsettled::Keep).expect_err("one is in flight").rule_name(), Some("a"));
    assert_eq!(held.settle(&[("tier", "3")]), 1);
    drop(hold(Unsettled::Cancel));
    drop(hold(Unsettled::Keep));
    let panicked = std::panic::catch_unwind(core::panic::AssertUnwindSafe(|| {
        let _held = hold(Unsettled::Cancel);
        std::panic::resume_unwind(Box::new("the handler fails"));
    }));
    assert!(panicked.is_err());
    let mut held = hold(Unsettled::Keep).expect("the permits are back");
    assert_eq!(held.decision().made[1].decision.remaining(), 100 - 3 - 10 - 10);
    held.set_now_ns(MINUTE);
    let shown = format!("{held:?}");
    assert!(shown.contains("RulesDecision") && !shown.contains("ann"), "{shown}");
    let reservation = held.into_reservation();
    assert!(hold(Unsettled::Keep).is_err());
    assert_eq!(limiter.release_at(reservation, MINUTE), 1);
}

#[test]
fn a_reservation_is_bytes() {
    let limiter = reserving(&(rule("a", "9/h & in_flight 1 hold=1h") + &rule("b", "9/h")));
    let bytes = reserved(&limiter, &ANN).to_bytes();
    assert_eq!(bytes.len(), 2 * 40 + 3 * 40);
    let read = RulesReservation::from_bytes(&bytes).expect("a reservation");
    assert_eq!(read.to_bytes(), bytes);
    for cut in (1..bytes.len()).filter(|cut| *cut != 120) {
        let error = RulesReservation::from_bytes(&bytes[..cut]).expect_err("a part of it");
        assert!(matches!(error, ReservationError::Length { .. }), "{cut}: {error}");
    }
    let mut form = bytes;
    form[16 + 13] = 9;
    assert_eq!(RulesReservation::from_bytes(&form), Err(ReservationError::Form { form: 9 }));
    assert_eq!(limiter.release_at(read, 0), 1);
}

#[test]
fn a_limiter_that_reserves_does_nothing_else() {
    let (decides, reserves) = (super::limiter(&rule("a", "9/h")), reserving(&rule("a", "9/h")));
    assert!(!decides.is_reserving() && reserves.is_reserving());
    let panics = |act: &dyn Fn()| std::panic::catch_unwind(core::panic::AssertUnwindSafe(act)).is_err();
    assert!(panics(&|| drop(reserves.decide(&ANN))));
    assert!(decides.decide_at(&ANN, 0).is_allowed());
    decides.cancel_at(reserved(&decides, &ANN), 0);
    assert_eq!(room(&decides, &ANN), 8);
    let beside = reserves.beside(rules(&rule("a", "in_flight 1 hold=1h"))).expect("one that reserves, too");
    assert_eq!(beside.release_at(reserved(&beside, &ANN), 0), 1);
}

/// While threads reserve, settle and release, and another changes the file at random, no more requests than the greatest limit
/// are in flight, and once all have ended nothing is held.
#[test]
fn changes_under_way_lose_no_permit() {
    const THREADS: usize = 3;
    const MOST: u32 = 5;
    let file = |number: u64| {
        let permits = rule("permits", &format!("in_flight {} hold=1h", [5, 3][number as usize % 2]));
        let units = costly("units", &format!("fixed_window {}/1d", 1_000_000 + number % 3));
        let come_and_go = rule(&format!("other{}", number % 5), "in_flight 900 hold=1h");
        let parts = [permits, units, come_and_go];
        let order = [[0, 1, 2], [2, 0, 1], [1, 2, 0]][number as usize % 3];
        rules(&order.into_iter().map(|part| parts[part].clone()).collect::<String>())
    };
    let limiter = RulesLimiter::builder(file(0)).max_keys(100).reserving().build().expect("a limiter");
    let (in_flight, is_over) = (AtomicU32::new(0), AtomicBool::new(false));
    let used = Mutex::new(0_u64);
    let work = || {
        let mut rounds = 0_u64;
        // Relaxed: it ends a loop.
        while rounds < 3_000 || !is_over.load(Ordering::Relaxed) {
            rounds += 1;
            let (_, Some(reservation)) = limiter.reserve_at(&ANN, 0) else { continue };
            // Relaxed: what is added before a release in one order of all its changes is what is in flight.
            let before = in_flight.fetch_add(1, Ordering::Relaxed);
            assert!(before < MOST, "{before} were in flight");
            let actual = rounds % 10;
            limiter.settle_at(reservation.clone(), &[("tier", actual.to_string())], 0);
            *used.lock().expect("no panic") += actual;
            in_flight.fetch_sub(1, Ordering::Relaxed);
            assert_eq!(RulesReservation::from_bytes(&reservation.to_bytes()), Ok(reservation.clone()));
            limiter.release_at(reservation, 0);
        }
    };
    thread::scope(|scope| {
        let working = [(); THREADS].map(|()| scope.spawn(work));
        for number in 1..=60 {
            limiter.change_at(file(number), 0).expect("another file");
        }
        // Relaxed: it ends a loop.
        is_over.store(true, Ordering::Relaxed);
        working.into_iter().for_each(|thread| thread.join().expect("a thread that works"));
    });
    change(&limiter, &(rule("permits", "in_flight 5 hold=1h") + &costly("units", "fixed_window 1000000/1d")));
    // A permit of an attempt that met a change comes back by itself.
    let all = core::iter::from_fn(|| limiter.reserve_at(&ANN, 120 * MINUTE).1).count();
    assert_eq!(all, 5, "permits are held by nobody");
    let left = limiter.reserve_at(&ANN, 0).0.made[1].decision.remaining();
    let used = used.into_inner().expect("no panic");
    // A cost that met a change may be charged, and answered by the next policy once more.
    assert!(left <= 1_000_000 - 50 - used, "{left} of 1,000,000 are left, and {used} were used");
}

/// Policies of every kind of word, each with another that may follow it.
const KINDS: [[&str; 2]; 8] = [
    ["10/s burst=20", "7/s burst=30"],
    ["token_bucket 5/1s capacity=20 mode=interval", "token_bucket 9/1s capacity=30 mode=interval"],
    ["leaky_queue 10/s queue=20", "leaky_queue 5/s queue=30"],
    ["fixed_window 20/1s", "fixed_window 30/1s"],
    ["sliding_window 20/1s", "sliding_window 30/1s"],
    ["sliding_log 20/1s", "sliding_log 30/1s"],
    ["in_flight 20 hold=1s", "in_flight 30 hold=1s"],
    [
        "100/s & in_flight 20 hold=1s & fixed_window 900/1m",
        "80/s & in_flight 30 hold=1s & fixed_window 800/1m",
    ],
];

/// A rule reserves, settles, cancels and releases as a limiter of its policy does, call by call, also after changes.
#[test]
fn a_rule_holds_as_a_limiter_does() {
    for ([first, second], seed) in KINDS.iter().flat_map(|kind| (1..=20).map(move |seed| (kind, seed))) {
        let mut state: u64 = seed;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let policy = |text: &str| text.parse::<ratecell_core::Policy>().expect(text);
        let by_rule = reserving(&costly("a", first));
        let limiter = Limiter::builder(policy(first)).max_keys(1_000).build().expect("a limiter");
        let decided = |cost: u32, now: u64| {
            let cost = cost.to_string();
            let (decision, held) = by_rule.reserve_at(&[("user", "ann"), ("tier", &cost)], now);
            (decision.made[0].decision, held)
        };
        let mut kept = Vec::new();
        let mut now = 0_u64;
        for step in 0..200 {
            now = (now + random(400_000_000)).saturating_sub(random(100_000_000));
            let cost = random(12) as u32;
            if random(40) == 0 {
                let next = [first, second][random(2) as usize];
                limiter.change_at(policy(next), now).expect("it may follow");
                by_rule.change_at(rules(&costly("a", next)), now).expect("it may follow");
            } else if kept.is_empty() || random(2) == 0 {
                let asked = limiter.reserve(Request::new("ann").cost(cost).at(now)).expect("it reserves");
                let (decision, held) = decided(cost, now);
                assert_eq!(decision, asked.0, "{first}, {seed}: {cost} at {now}, step {step}");
                assert_eq!(held.is_some(), asked.1.is_some());
                kept.extend(held.zip(asked.1));
                continue;
            }
            if !kept.is_empty() {
                let (held, twin) = kept.swap_remove(random(kept.len() as u64) as usize);
                match random(3) {
                    0 => {
                        by_rule.cancel_at(held.clone(), now);
                        let _ = limiter.settle_at(twin.clone(), 0, now);
                    }
                    _ => {
                        by_rule.settle_at(held.clone(), &[("tier", cost.to_string())], now);
                        let _ = limiter.settle_at(twin.clone(), cost, now);
                    }
                }
                let back = (by_rule.release_at(held, now), limiter.release_at(twin, now).given_back());
                assert_eq!(back.0, back.1, "{first}, {seed}: a release at {now}, step {step}");
            }
            let peek = limiter.check_at("ann", 0, now);
            assert_eq!(decided(0, now).0, peek, "{first}, {seed}: a peek at {now}, step {step}");
        }
    }
}
