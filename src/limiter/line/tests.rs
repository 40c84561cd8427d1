//! A line at instants that are made up.

use super::*;
use std::time::Duration;

use crate::board::{Board, State};
use crate::limiter::remote::{OnFailure, OnMiss, Remote};
use crate::limiter::tables::LayerTable;
use crate::table::{Table, WhenFull};
use ratecell_core::{Outcome, Policy};

const MS: u64 = 1_000_000;

fn world(policy: &str) -> (Limiter, Line) {
    let policy: Policy = policy.parse().expect("a policy");
    let limiter = Limiter::builder(policy).max_keys(100).build().expect("a limiter");
    let line = Line::new(Parameters::of(&limiter.policy()));
    (limiter, line)
}

fn end(turn: Turn) -> WaitEnd {
    match turn {
        Turn::End(end) => end,
        Turn::Sleep { until } => panic!("it sleeps until {until:?}"),
    }
}

fn until(turn: Turn) -> Option<u64> {
    match turn {
        Turn::Sleep { until } => until,
        Turn::End(end) => panic!("it has ended: {end:?}"),
    }
}

#[test]
fn newcomers_with_little_time_do_not_pass() {
    let (limiter, mut line) = world("10/s burst=10");
    assert!(limiter.check_at("k", 10, 0).is_allowed());
    let large = line.arrive(0, b"k", 10, None);
    assert_eq!(until(line.turn(&limiter, 0, large)), Some(1000 * MS));
    for now in (0..1000).step_by(50).map(|ms| ms * MS) {
        for within in [0, 50 * MS] {
            let small = line.arrive(now, b"k", 1, Some(now + within));
            let late = end(line.turn(&limiter, now, small));
            assert_eq!((late.outcome, late.at), (WaitOutcome::Late, Some(1100 * MS)), "at {now}");
        }
    }
    assert_eq!(line.asks(), 1);
    assert_eq!(end(line.turn(&limiter, 1000 * MS, large)).outcome, WaitOutcome::Go);
    assert!(line.is_empty());
}

#[test]
fn a_first_that_others_beat_does_not_spin() {
    let (limiter, mut line) = world("1000000/s burst=1");
    assert!(limiter.check_at("k", 1, 0).is_allowed());
    let first = line.arrive(0, b"k", 1, Some(100 * MS));
    let mut now = 0;
    let end = loop {
        match line.turn(&limiter, now, first) {
            Turn::End(end) => break end,
            Turn::Sleep { until } => now = until.expect("it asks again"),
        }
        // Another takes the unit at that instant.
        let _ = limiter.check_at("k", 1, now);
    };
    assert_eq!(end.outcome, WaitOutcome::Late);
    assert!((90..=102).contains(&line.asks()), "{} asks while 100,000 units came", line.asks());
}

#[test]
fn those_who_wait_follow_a_changed_policy() {
    let (limiter, mut line) = world("1/s burst=4");
    let change = |line: &mut Line, policy: &str| {
        limiter.change_at(policy.parse().expect("a policy"), 0).expect("a policy that may follow");
        line.follow(&limiter);
        let mut woken: Vec<_> = std::iter::from_fn(|| line.woken()).collect();
        woken.sort_unstable();
        woken
    };
    line.follow(&limiter);
    assert!(limiter.check_at("k", 4, 0).is_allowed() && limiter.check_at("other", 4, 0).is_allowed());
    let one = line.arrive(0, b"k", 1, None);
    let three = line.arrive(0, b"other", 3, None);
    assert_eq!(until(line.turn(&limiter, 0, one)), Some(1000 * MS));
    assert_eq!(until(line.turn(&limiter, 0, three)), Some(3000 * MS));
    assert_eq!(change(&mut line, "10/s burst=2"), [one, three]);
    // 4 units are used still, 2 above the burst.
    assert_eq!(until(line.turn(&limiter, 0, one)), Some(300 * MS));
    assert_eq!(end(line.turn(&limiter, 0, three)).outcome, WaitOutcome::Never);
    assert_eq!(change(&mut line, "10/s burst=2"), []);
    assert_eq!(change(&mut line, "10/s burst=20"), [one]);
    assert_eq!(end(line.turn(&limiter, 0, one)).outcome, WaitOutcome::Go);
    // More than any policy before could allow.
    let most = line.arrive(0, b"new", 20, None);
    assert_eq!(end(line.turn(&limiter, 0, most)).outcome, WaitOutcome::Go);
}

/// Whoever waits for a store sleeps in line, not in a turn: here the agent never answers, and a request waits for an hour.
#[test]
fn a_missing_lease_is_asked_for_without_waiting() {
    let (mut limiter, mut line) = world("10/s burst=10");
    let kernels = crate::limiter::regions::kernels(&limiter.policy(), true).expect("kernels");
    let table = |kernel| LayerTable::own(kernel, Table::alone(16, WhenFull::Evict));
    limiter.regimes.first.layers = kernels.into_iter().map(table).collect();
    let board = Board::private().expect("a board");
    board.beat(limiter.now_ns());
    board.set_state(State::Here);
    let on_miss = OnMiss::Wait(Duration::from_secs(3600));
    let limiter = limiter.of_many_machines(Remote::new(board, on_miss, OnFailure::Closed));

    let now = limiter.now_ns();
    let waiter = line.arrive(now, b"k", 1, None);
    let asked = until(line.turn(&limiter, now, waiter)).expect("it asks again");
    assert!(asked > now, "until {asked}, which is not after {now}");
    let shared = limiter.shared().expect("a limiter of many machines");
    assert_eq!((shared.misses, shared.waits, line.asks()), (1, 0, 1));
    line.leave(&limiter, now, waiter);
    // One try has no time to look again.
    let late = line.arrive(now, b"k", 1, Some(now));
    let late = end(line.turn(&limiter, now, late));
    assert_eq!(late.outcome, WaitOutcome::Late);
    assert_eq!(late.decision.map(|decision| decision.outcome()), Some(Outcome::Asked));
}

#[test]
fn each_waiter_asks_at_most_twice() {
    let (limiter, mut line) = world("1000/s burst=3");
    assert!(limiter.check_at("k", 3, 0).is_allowed());
    let mut waiting: Vec<_> = (0..200).map(|i| line.arrive(0, b"k", 1 + i % 3, None)).collect();
    let mut now = 0;
    while let Some(&first) = waiting.first() {
        match line.turn(&limiter, now, first) {
            Turn::Sleep { until } => now = until.expect("the first asks again"),
            Turn::End(end) => {
                assert_eq!(end.outcome, WaitOutcome::Go);
                assert!(end.decision.is_some_and(|decision| decision.is_allowed()));
                waiting.remove(0);
            }
        }
        assert_eq!(line.len(), waiting.len());
    }
    assert!(line.asks() <= 400, "{} asks", line.asks());
}

/// The first is woken, and does not have its turn: the deadlines of those behind it hold all the same.
#[test]
fn a_first_without_its_turn_holds_nobody_past_a_deadline() {
    let (limiter, mut line) = world("10/h burst=10");
    assert!(limiter.check_at("k", 10, 0).is_allowed());
    let first = line.arrive(0, b"k", 5, None);
    let second = line.arrive(0, b"k", 1, Some(50));
    assert_eq!(until(line.turn(&limiter, 0, second)), Some(51));
    let late = end(line.turn(&limiter, 51, second));
    assert_eq!((late.outcome, late.decision), (WaitOutcome::Late, None));
    assert_eq!((line.asks(), line.len()), (0, 1));
    // And its own: it is not asked for after it.
    let third = line.arrive(60, b"other", 1, Some(60));
    assert_eq!(end(line.turn(&limiter, 61, third)).outcome, WaitOutcome::Late);
    assert_eq!(line.asks(), 0);
    line.leave(&limiter, 61, first);
    line.leave(&limiter, 61, first);
    assert!(line.is_empty());
    assert_eq!(end(line.turn(&limiter, 61, first)).outcome, WaitOutcome::Cancelled);
}

#[test]
fn whoever_leaves_before_its_turn_is_not_charged() {
    let (limiter, mut line) = world("10/h burst=10");
    let first = line.arrive(0, b"k", 10, None);
    line.leave(&limiter, 0, first);
    assert_eq!(limiter.check_at("k", 0, 0).remaining(), 10);
    let second = line.arrive(0, b"k", 10, Some(0));
    assert_eq!(end(line.turn(&limiter, 0, second)).outcome, WaitOutcome::Go);
    assert_eq!((line.asks(), line.len()), (1, 0));
}

/// The last place of a queue comes back; behind another one nobody moves.
#[test]
fn whoever_leaves_the_last_place_gives_it_back() {
    let (limiter, mut line) = world("leaky_queue 1/s queue=9");
    assert!(limiter.check_at("k", 1, 0).is_allowed());
    let [second, third] = [0, 1].map(|now| {
        let waiter = line.arrive(now, b"k", 1, None);
        assert!(matches!(line.turn(&limiter, now, waiter), Turn::Sleep { until: Some(_) }));
        waiter
    });
    assert_eq!(limiter.check_at("k", 0, 1).remaining(), 7);
    line.leave(&limiter, 1, second);
    assert_eq!(limiter.check_at("k", 0, 1).remaining(), 7);
    line.leave(&limiter, 1, third);
    assert_eq!(limiter.check_at("k", 0, 1).remaining(), 8);
    assert!(line.is_empty());
}

/// Under a queue a waiter that goes in time is charged at once and held; one that goes 1 ns late is refused at once.
#[test]
fn a_queue_holds_or_refuses_at_once() {
    let (limiter, mut line) = world("leaky_queue 10/s queue=5");
    for (deadline, expected) in
        [(None, Some(0)), (None, Some(100)), (Some(200 * MS), Some(200)), (Some(300 * MS - 1), None)]
    {
        let waiter = line.arrive(0, b"k", 1, deadline);
        match (line.turn(&limiter, 0, waiter), expected) {
            (Turn::Sleep { until }, Some(ms)) => assert_eq!(until, Some(ms * MS)),
            (Turn::End(end), Some(0)) => assert_eq!(end.outcome, WaitOutcome::Go),
            (Turn::End(end), None) => assert_eq!((end.outcome, end.at), (WaitOutcome::Late, Some(300 * MS))),
            (turn, _) => panic!("{turn:?}"),
        }
    }
    assert_eq!((line.asks(), line.len()), (4, 2));
    for (waiter, now) in [(2, 100 * MS), (3, 200 * MS)] {
        assert_eq!(end(line.turn(&limiter, now, waiter)).outcome, WaitOutcome::Go);
    }
    assert_eq!(line.asks(), 4);
}

/// The table's refusal is not the policy's: the first asks again when a place may come free.
#[test]
fn a_full_table_is_asked_again() {
    let policy: Policy = "1/h".parse().expect("a policy");
    let builder = Limiter::builder(policy).max_keys(1).when_full(WhenFull::Deny);
    let limiter = builder.build().expect("a limiter");
    let mut line = Line::new(Parameters { max_pause_ns: u64::MAX, ..Parameters::default() });
    let full = (0..10_000_u32).find(|key| limiter.check_at(key.to_le_bytes(), 1, 0).is_without_place());
    let key = full.expect("a table of one key is full").to_le_bytes();
    let waiter = line.arrive(0, &key, 1, None);
    let until = until(line.turn(&limiter, 0, waiter)).expect("it asks again");
    assert!((1..=3600 * 1000 * MS).contains(&until), "until {until}");
    assert_eq!(end(line.turn(&limiter, until, waiter)).outcome, WaitOutcome::Go);
}
