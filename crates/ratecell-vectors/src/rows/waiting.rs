//! The machine that waits: its events, and the actions that come of each.

use anyhow::{Context, Result, bail};
use ratecell_core::waiting::{Action, Answer, Event, Pace, Parameters, Waiting};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Judge, Judged, read};

#[derive(Debug, Deserialize)]
struct Section {
    waiting: ParametersRow,
}

#[derive(Debug, Deserialize)]
struct ParametersRow {
    capacity: Option<u64>,
    pace: Option<(u64, u64)>,
    max_waiting: usize,
    max_total: usize,
    min_pause_ns: u64,
    max_pause_ns: u64,
    full_pause_ns: u64,
}

fn pace(pace: Option<(u64, u64)>) -> Result<Option<Pace>> {
    pace.map(|(num, den)| Pace::new(num, den).context("a pace with 0 below")).transpose()
}

/// The machine of a section.
fn machine(section: &Value) -> Result<Waiting> {
    let Section { waiting } = read(section, "a section with its parameters of waiting")?;
    Ok(Waiting::new(Parameters {
        capacity: waiting.capacity,
        pace: pace(waiting.pace)?,
        max_waiting: waiting.max_waiting,
        max_total: waiting.max_total,
        min_pause_ns: waiting.min_pause_ns,
        max_pause_ns: waiting.max_pause_ns,
        full_pause_ns: waiting.full_pause_ns,
    }))
}

fn answer(code: u64, retry_ns: Option<u64>, delay_ns: u64) -> Result<Answer> {
    Ok(match code {
        0 => Answer::Denied { retry_ns: retry_ns.context("a refusal without its retry")?, delay_ns },
        1 => Answer::Charged { delay_ns },
        2 => Answer::Never,
        3 => Answer::ClockRange,
        4 => Answer::NoPlace { retry_ns },
        code => bail!("no code: {code}"),
    })
}

/// A row: the event, its instant and what belongs to it; the actions; and the next instant.
struct Row<'a> {
    now_ns: u64,
    event: Event<'a>,
    actions: &'a Value,
    next_ns: &'a Value,
}

impl<'a> Row<'a> {
    fn read(row: &'a Value) -> Result<Self> {
        let columns = row.as_array().map(Vec::as_slice);
        let Some([name, now_ns, arguments @ .., actions, next_ns]) = columns else {
            bail!("expected an event, its instant, the actions and the next instant");
        };
        let name = name.as_str().unwrap_or_default();
        let event = event(name, arguments).with_context(|| format!("no event: {row}"))?;
        Ok(Self { now_ns: read(now_ns, "an instant")?, event, actions, next_ns })
    }
}

fn event<'a>(name: &str, arguments: &'a [Value]) -> Result<Event<'a>> {
    let key = |key: &'a Value| Ok::<_, anyhow::Error>(key.as_str().context("expected a key")?.as_bytes());
    Ok(match (name, arguments) {
        ("arrive", [id, name, cost, deadline]) => Event::Arrive {
            id: read(id, "an id")?,
            key: key(name)?,
            cost: read(cost, "a cost")?,
            deadline: read(deadline, "a deadline")?,
        },
        ("answer", [id, code, retry_ns, delay_ns]) => Event::Answer {
            id: read(id, "an id")?,
            answer: answer(read(code, "a code")?, read(retry_ns, "a wait")?, read(delay_ns, "a delay")?)?,
        },
        ("timer", []) => Event::Timer,
        ("cancel", [id]) => Event::Cancel { id: read(id, "an id")? },
        ("changed", [name]) => Event::Changed { key: key(name)? },
        ("policy", [capacity, every]) => {
            Event::Policy { capacity: read(capacity, "a capacity")?, pace: pace(read(every, "a pace")?)? }
        }
        ("close", []) => Event::Close,
        _ => bail!("expected an event of waiting and what belongs to it"),
    })
}

fn written(action: Action) -> Value {
    match action {
        Action::Ask { id, by } => json!(["ask", id, by]),
        Action::Finish { id, outcome, at } => json!(["finish", id, outcome.name(), at]),
        Action::GiveBack { id } => json!(["give_back", id]),
    }
}

pub(super) fn traces() -> Judge {
    let mut waiting = Waiting::new(Parameters::default());
    Box::new(move |row| {
        if row.is_object() {
            waiting = machine(row)?;
            return Ok(Judged::Section);
        }
        let Row { now_ns, event, actions, next_ns } = Row::read(row)?;
        let got: Vec<_> = waiting.event(now_ns, event)?.map(written).collect();
        Ok(Judged::compared(&json!([actions, next_ns]), &json!([got, waiting.next_ns()])))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACES: &str = include_str!("../../../../vectors/edges/waiting.jsonl");

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
                waiting = machine(&row).expect("a section");
                continue;
            }
            let row = Row::read(&row).expect("a row");
            expected.extend_from_slice(row.actions.as_array().expect("actions"));
            let handed = waiting.event(row.now_ns, row.event).expect("a driver's event");
            taken.extend(handed.take(1).map(written));
        }
        assert!(left_over > 0, "no event has had two actions");
    }
}
