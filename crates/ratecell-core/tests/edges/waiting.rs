//! The machine that waits.

use ratecell_core::waiting::{Answer, Event, EventError, Pace, Parameters, Waiting};
use ratecell_core::{Decision, Outcome};

mod laws;

#[test]
fn a_drivers_mistake_changes_nothing() {
    let mut waiting = Waiting::new(Parameters::default());
    let arrive = |id| Event::Arrive { id, key: b"a", cost: 1, deadline: None };
    let answer = |id| Event::Answer { id, answer: Answer::Denied { retry_ns: 5, delay_ns: 0 } };
    assert_eq!(waiting.event(0, arrive(1)).expect("a waiter").count(), 1);
    assert_eq!(waiting.event(9, arrive(1)).err(), Some(EventError::IdInUse(1)));
    assert_eq!(waiting.event(9, answer(2)).err(), Some(EventError::NotAsked(2)));
    assert_eq!(waiting.event(0, answer(1)).expect("it was asked for").count(), 0);
    assert_eq!(waiting.event(9, answer(1)).err(), Some(EventError::NotAsked(1)));
    assert_eq!((waiting.next_ns(), waiting.due_ns(1), waiting.due_ns(2)), (Some(5), Some(5), None));
}

#[test]
fn the_pace_of_a_policy() {
    let pace = |text: &str| {
        let parameters = Parameters::of(&text.parse().expect(text));
        (parameters.capacity, parameters.pace)
    };
    let every = |num, den| Pace::new(num, den);
    for (text, capacity, expected) in [
        ("10/s burst=5", 5, every(100_000_000, 1)),
        ("3/s burst=1", 1, every(1_000_000_000, 3)),
        ("leaky_queue 3/s queue=6 burst=2", 8, every(1_000_000_000, 3)),
        ("10/s burst=4 & 120/m burst=9", 4, every(100_000_000, 1)),
        ("120/m burst=9 & 10/s burst=4", 4, every(100_000_000, 1)),
        ("10/s burst=4 & fixed_window 9/2s", 4, None),
        ("fixed_window 5/s", 5, None),
        ("sliding_log 5/s", 5, None),
        ("token_bucket 5/2s capacity=8 mode=interval", 8, None),
    ] {
        assert_eq!(pace(text), (Some(capacity), expected), "{text}");
    }
    assert_eq!(Pace::new(1, 0), None);
}

/// A refusal within a delay says how long that delay is in the way, too; an ask's answer is without it.
#[test]
fn a_decision_as_an_answer() {
    let decision = |outcome, retry, delay| Decision::new(outcome, 5, 0, retry, retry, delay, 0);
    let allowed = decision(Outcome::Allowed, 0, 7);
    assert_eq!(Answer::of(&allowed, Some(7)), Answer::Charged { delay_ns: 7 });
    let denied = decision(Outcome::Denied, 100, 30);
    assert_eq!(Answer::of(&denied, None), Answer::Denied { retry_ns: 100, delay_ns: 30 });
    assert_eq!(Answer::of(&denied, Some(40)), Answer::Denied { retry_ns: 100, delay_ns: 30 });
    assert_eq!(Answer::of(&denied, Some(20)), Answer::Denied { retry_ns: 90, delay_ns: 30 });
    assert_eq!(
        Answer::of(&denied.with_notes(Decision::NO_PLACE), Some(20)),
        Answer::NoPlace { retry_ns: Some(100) }
    );
    let unknown = decision(Outcome::Denied, Decision::NEVER, 0);
    assert_eq!(Answer::of(&unknown.with_notes(Decision::NO_PLACE), None), Answer::NoPlace { retry_ns: None });
    let alone = decision(Outcome::Never, Decision::NEVER, 30);
    assert_eq!(Answer::of(&alone, Some(20)), Answer::Denied { retry_ns: 0, delay_ns: 30 });
    assert_eq!(Answer::of(&decision(Outcome::Never, Decision::NEVER, 0), None), Answer::Never);
    assert_eq!(Answer::of(&Decision::clock_range(5), None), Answer::ClockRange);
}
