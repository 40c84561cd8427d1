//! The machine that says who asks when, by itself, for the published traces.

use core::fmt::Write;

use napi::Result;
use napi::bindgen_prelude::BigInt;
use napi_derive::napi;
use ratecell::waiting::{Action, Answer, Event, Pace, Parameters, Waiting as Core};

use crate::errors;
use crate::request::u64_of;

/// It asks no limiter and wakes nobody.
#[napi]
pub struct Waiting(Core);

fn pace(num: Option<u64>, den: Option<u64>) -> Result<Option<Pace>> {
    let (Some(num), Some(den)) = (num, den) else { return Ok(None) };
    let pace = Pace::new(num, den);
    pace.map(Some).ok_or_else(|| errors::of_value("pace has a denominator of 0: expected 1 or more"))
}

#[napi]
impl Waiting {
    /// Makes one of capacity, the two parts of the pace, most that wait by key and in all, and the three pauses.
    #[napi(constructor)]
    pub fn new(numbers: Vec<Option<BigInt>>) -> Result<Self> {
        let mut numbers = numbers.into_iter().map(|number| number.map(u64_of));
        let mut next = || numbers.next().flatten();
        let (capacity, num, den) = (next(), next(), next());
        let mut known = || next().ok_or_else(|| errors::of_value("a number is missing: expected eight"));
        Ok(Self(Core::new(Parameters {
            capacity,
            pace: pace(num, den)?,
            max_waiting: known()? as usize,
            max_total: known()? as usize,
            min_pause_ns: known()?,
            max_pause_ns: known()?,
            full_pause_ns: known()?,
        })))
    }

    /// Takes in an event, by its name and its numbers as the published traces have them. The actions that follow and the
    /// instant of the next timer, as JSON.
    #[napi]
    pub fn event(
        &mut self,
        name: String,
        now_ns: BigInt,
        key: &[u8],
        numbers: Vec<Option<BigInt>>,
    ) -> Result<String> {
        let mut numbers = numbers.into_iter().map(|number| number.map(u64_of));
        let mut next = || numbers.next().flatten();
        let event = match &*name {
            "arrive" => Event::Arrive {
                id: next().unwrap_or_default(),
                key,
                cost: next().and_then(|cost| u32::try_from(cost).ok()).unwrap_or_default(),
                deadline: next(),
            },
            "answer" => {
                let (id, code) = (next().unwrap_or_default(), next().unwrap_or_default());
                let (retry_ns, delay_ns) = (next(), next().unwrap_or_default());
                Event::Answer { id, answer: answer(code, retry_ns, delay_ns)? }
            }
            "timer" => Event::Timer,
            "cancel" => Event::Cancel { id: next().unwrap_or_default() },
            "changed" => Event::Changed { key },
            "policy" => Event::Policy { capacity: next(), pace: pace(next(), next())? },
            "close" => Event::Close,
            other => {
                return Err(errors::of_value(&format!("name is '{other}': expected an event of waiting")));
            }
        };
        let actions = self.0.event(u64_of(now_ns), event);
        let mut json = String::from("[[");
        let of = |number: Option<u64>| number.map_or_else(|| "null".to_owned(), |number| number.to_string());
        for action in actions.map_err(|error| errors::of_value(&error.to_string()))? {
            if json.len() > 2 {
                json.push(',');
            }
            let _ = match action {
                Action::Ask { id, by } => write!(json, r#"["ask",{id},{}]"#, of(by)),
                Action::Finish { id, outcome, at } => {
                    write!(json, r#"["finish",{id},"{}",{}]"#, outcome.name(), of(at))
                }
                Action::GiveBack { id } => write!(json, r#"["give_back",{id}]"#),
            };
        }
        let _ = write!(json, "],{}]", of(self.0.next_ns()));
        Ok(json)
    }
}

fn answer(code: u64, retry_ns: Option<u64>, delay_ns: u64) -> Result<Answer> {
    Ok(match (code, retry_ns) {
        (0, Some(retry_ns)) => Answer::Denied { retry_ns, delay_ns },
        (1, _) => Answer::Charged { delay_ns },
        (2, _) => Answer::Never,
        (3, _) => Answer::ClockRange,
        (4, retry_ns) => Answer::NoPlace { retry_ns },
        _ => {
            return Err(errors::of_value(&format!("code is {code}: expected 0 with a retry, or 1 to 4")));
        }
    })
}
