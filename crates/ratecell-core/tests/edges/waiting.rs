//! The machine that waits.

use ratecell_core::waiting::{Action, Answer, Event, EventError, Pace, Parameters, Waiting};
use ratecell_core::{Decision, Outcome};
use serde_json::{Value, json};

mod laws;

use crate::replay::{Row, array, assert_spoiled, number, optional, replay_file, string};

const TRACES: &str = include_str!("../../../../vectors/edges/waiting.jsonl");

fn small(value: &Value) -> u32 {
    u32::try_from(number(value)).expect("a u32")
}

fn pace(value: &Value) -> Option<Pace> {
    (!value.is_null()).then(|| Pace::new(number(&value[0]), number(&value[1])).expect("no 0 below"))
}

fn parameters(value: &Value) -> Parameters {
    let size = |name: &str| usize::try_from(number(&value[name])).expect("a size");
    Parameters {
        capacity: optional(&value["capacity"]),
        pace: pace(&value["pace"]),
        max_waiting: size("max_waiting"),
        max_total: size("max_total"),
        min_pause_ns: number(&value["min_pause_ns"]),
        max_pause_ns: number(&value["max_pause_ns"]),
        full_pause_ns: number(&value["full_pause_ns"]),
    }
}

fn answer(code: &Value, retry: &Value, delay: &Value) -> Answer {
    match number(code) {
        0 => Answer::Denied { retry_ns: number(retry), delay_ns: number(delay) },
        1 => Answer::Charged { delay_ns: number(delay) },
        2 => Answer::Never,
        3 => Answer::ClockRange,
        4 => Answer::NoPlace { retry_ns: optional(retry) },
        code => panic!("{code}: no code"),
    }
}

fn event(row: &[Value]) -> Event<'_> {
    let [name, _now, arguments @ ..] = row else { panic!("{row:?}: too short") };
    match (string(name), arguments) {
        ("arrive", [id, key, cost, deadline]) => Event::Arrive {
            id: number(id),
            key: string(key).as_bytes(),
            cost: small(cost),
            deadline: optional(deadline),
        },
        ("answer", [id, code, retry, delay]) => {
            Event::Answer { id: number(id), answer: answer(code, retry, delay) }
        }
        ("timer", []) => Event::Timer,
        ("cancel", [id]) => Event::Cancel { id: number(id) },
        ("changed", [key]) => Event::Changed { key: string(key).as_bytes() },
        ("policy", [capacity, pace]) => {
            Event::Policy { capacity: optional(capacity), pace: self::pace(pace) }
        }
        ("close", []) => Event::Close,
        _ => panic!("{row:?}: no event"),
    }
}

fn written(action: Action) -> Value {
    match action {
        Action::Ask { id, by } => json!(["ask", id, by]),
        Action::Finish { id, outcome, at } => json!(["finish", id, outcome.name(), at]),
        Action::GiveBack { id } => json!(["give_back", id]),
    }
}

fn traces() -> impl FnMut(&Value) -> Row {
    let mut waiting = Waiting::new(Parameters::default());
    move |row| {
        if row.is_object() {
            waiting = Waiting::new(parameters(&row["waiting"]));
            return Row::Section;
        }
        let [event @ .., actions, next] = array(row) else { panic!("{row}: too short") };
        let got = waiting.event(number(&event[1]), self::event(event)).expect("a driver's event");
        let got: Vec<_> = got.map(written).collect();
        Row::Compared { computed: json!([got, waiting.next_ns()]), expected: json!([actions, next]) }
    }
}

#[test]
fn traces_as_published() {
    replay_file("waiting.jsonl", TRACES, "waiting", 7828, traces());
}

/// With room for one action at each call, the same actions come out in the same order.
#[test]
fn what_does_not_fit_comes_with_the_next_call() {
    let mut waiting = Waiting::new(Parameters::default());
    let (mut taken, mut expected) = (Vec::new(), Vec::new());
    let mut left_over = 0;
    for row in TRACES.lines().skip(1).map(|line| serde_json::from_str::<Value>(line).expect(line)) {
        if row.is_object() {
            let rest: Vec<_> = waiting.actions().map(written).collect();
            left_over += rest.len();
            taken.extend(rest);
            assert_eq!(taken, expected);
            (taken, expected) = (Vec::new(), Vec::new());
            waiting = Waiting::new(parameters(&row["waiting"]));
            continue;
        }
        let [event @ .., actions, _next] = array(&row) else { panic!("{row}: too short") };
        expected.extend_from_slice(array(actions));
        let handed = waiting.event(number(&event[1]), self::event(event)).expect("a driver's event");
        taken.extend(handed.take(1).map(written));
    }
    assert!(left_over > 0, "no event has had two actions");
}

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
    assert_eq!(Answer::of(&allowed, Some(7), false), Answer::Charged { delay_ns: 7 });
    let denied = decision(Outcome::Denied, 100, 30);
    assert_eq!(Answer::of(&denied, None, false), Answer::Denied { retry_ns: 100, delay_ns: 30 });
    assert_eq!(Answer::of(&denied, Some(40), false), Answer::Denied { retry_ns: 100, delay_ns: 30 });
    assert_eq!(Answer::of(&denied, Some(20), false), Answer::Denied { retry_ns: 90, delay_ns: 30 });
    assert_eq!(Answer::of(&denied, Some(20), true), Answer::NoPlace { retry_ns: Some(100) });
    let unknown = decision(Outcome::Denied, Decision::NEVER, 0);
    assert_eq!(Answer::of(&unknown, None, true), Answer::NoPlace { retry_ns: None });
    let alone = decision(Outcome::Never, Decision::NEVER, 30);
    assert_eq!(Answer::of(&alone, Some(20), false), Answer::Denied { retry_ns: 0, delay_ns: 30 });
    assert_eq!(Answer::of(&decision(Outcome::Never, Decision::NEVER, 0), None, false), Answer::Never);
    assert_eq!(Answer::of(&Decision::clock_range(5), None, false), Answer::ClockRange);
}

#[test]
fn a_changed_figure_fails() {
    let figures = [
        (r#"["timer",99999999,[],100000000]"#, r#"["timer",99999999,[],100000001]"#),
        (r#"["answer",0,1,1,0,0,[["finish",1,"go",null]],null]"#, r#"["answer",0,1,1,0,0,[],null]"#),
    ];
    assert_spoiled(TRACES, "waiting", &figures, || Box::new(traces()));
}
