//! Reservations, permits and policies that change: what is charged, given back, released and renewed, call by call.

use std::fmt;

use anyhow::{Context, Result, bail};
use ratecell_core::Policy;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Judge, Judged, read};
use crate::answer::Answer;
use crate::holds::Holds;
use crate::policy::{self, policy, unix_seconds};
use crate::resolved::differences;

#[derive(Debug, Deserialize)]
struct Section {
    given: Option<String>,
    epoch: Option<String>,
    policy: Map<String, Value>,
    resolved: Option<Value>,
}

/// What is stated of a decision: code, remaining, retry and reset, and of those that may be delayed the delay.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Stated {
    Delayed(u8, u64, Option<u64>, u64, u64),
    Undelayed(u8, u64, Option<u64>, u64),
}

impl From<Stated> for Answer {
    fn from(stated: Stated) -> Self {
        let (code, remaining, retry_ns, reset_ns, delay_ns) = match stated {
            Stated::Delayed(code, remaining, retry, reset, delay) => (code, remaining, retry, reset, delay),
            Stated::Undelayed(code, remaining, retry, reset) => (code, remaining, retry, reset, 0),
        };
        Self { code, remaining, retry_ns, reset_ns, delay_ns }
    }
}

/// What a change comes to.
#[derive(Debug, Deserialize)]
struct Changed {
    resolved: Option<Value>,
    error: Option<String>,
}

/// The limiter of a section.
struct Live {
    keys: Box<dyn Holds>,
    is_multi: bool,
    epoch: Option<i64>,
}

impl fmt::Debug for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Live").field("policy", self.keys.policy()).finish_non_exhaustive()
    }
}

pub(super) fn calls(
    mut make: impl FnMut(Policy, Option<i64>, bool) -> Result<Box<dyn Holds>> + 'static,
) -> Judge {
    let mut live: Option<Live> = None;
    Box::new(move |row| {
        let Some(columns) = row.as_array() else {
            let section: Section = read(row, "a section with its policy")?;
            live = None;
            let epoch = section.epoch.as_deref().map(unix_seconds).transpose()?;
            let is_multi = is_multi(&section.policy);
            let policy = match policy(&policy::Stated { policy: section.policy, epoch }) {
                Ok(policy) => policy,
                Err(error) => return Ok(Judged::Wrong(format!("expected a policy, got {error}"))),
            };
            if let Some(wrong) = section.resolved.and_then(|resolved| differences(&resolved, &policy)) {
                return Ok(Judged::Wrong(wrong));
            }
            let known = section.given.as_deref() == Some("known");
            live = Some(Live { keys: make(policy, epoch, known)?, is_multi, epoch });
            return Ok(Judged::Section);
        };
        let Some(live) = &mut live else { return Ok(Judged::Wrong("no limiter".to_owned())) };
        match columns.first() {
            Some(Value::String(call)) => live.call(call, &columns[1..]),
            _ => live.request(columns),
        }
    })
}

/// A policy, with what it resolves to or why it is refused.
pub(super) fn construct(row: &Value) -> Result<Judged> {
    #[derive(Deserialize)]
    struct Construct {
        policy: Map<String, Value>,
        resolved: Option<Value>,
        error: Option<String>,
    }
    let Construct { policy: json, resolved, error } =
        read(row, "a policy, and its resolved form or its error")?;
    if let Some(code) = policy::mistyped(&json) {
        return Ok(Judged::compared(&format!("{error:?}"), &format!("{:?}", Some(code))));
    }
    Ok(match (policy(&policy::Stated { policy: json, epoch: None }), resolved) {
        (Ok(policy), Some(resolved)) => match differences(&resolved, &policy) {
            Some(wrong) => Judged::Wrong(wrong),
            None => Judged::Right,
        },
        (got, _) => {
            let got = got.err().map(|error| error.kind().code());
            Judged::compared(&format!("{:?}", error.as_deref()), &format!("{got:?}"))
        }
    })
}

impl Live {
    fn request(&mut self, columns: &[Value]) -> Result<Judged> {
        let (request, stated) = columns.split_at_checked(3).context("expected a request")?;
        let (now, key, cost): (u64, String, u32) = of(request, "an instant, a key and a cost")?;
        judged(stated, self.keys.check(&key, cost, now).into())
    }

    fn call(&mut self, call: &str, columns: &[Value]) -> Result<Judged> {
        match call {
            "reserve" | "acquire" => {
                let (request, stated) = columns.split_at_checked(4).context("expected a request")?;
                let (number, now, key, cost): (u64, u64, String, u32) =
                    of(request, "a number, an instant, a key and a cost")?;
                judged(stated, self.keys.reserve(number, &key, cost, now).into())
            }
            "settle" => {
                let (request, stated) = columns.split_at_checked(3).context("expected a settle")?;
                let (number, now, actual): (u64, u64, u32) = of(request, "a number, an instant and a cost")?;
                let settled = self.keys.settle(number, actual, now).context("no such reservation")?;
                judged(stated, settled.into())
            }
            "release" => {
                let (request, stated) = columns.split_at_checked(2).context("expected a release")?;
                let (number, now): (u64, u64) = of(request, "a number and an instant")?;
                let (stated, back) =
                    stated.split_at_checked(stated.len().saturating_sub(1)).context("no answer")?;
                let decision = self.keys.release(number, now).context("no such permit")?;
                let got = decision.given_back();
                if back.first().and_then(Value::as_u64) != Some(u64::from(got)) {
                    return Ok(Judged::Wrong(format!("expected {back:?} back, got {got}")));
                }
                judged(stated, decision.into())
            }
            "renew" => {
                let (request, stated) = columns.split_at_checked(2).context("expected a renewal")?;
                let (number, now): (u64, u64) = of(request, "a number and an instant")?;
                judged(stated, self.keys.renew(number, now).context("no such permit")?.into())
            }
            "charge" => {
                let (request, stated) = columns.split_at_checked(3).context("expected a charge")?;
                let (now, key, cost): (u64, String, u32) = of(request, "an instant, a key and a cost")?;
                judged(stated, self.keys.charge(&key, cost, now).into())
            }
            "change" => {
                let (now, json, stated): (u64, Map<String, Value>, Changed) =
                    of(columns, "an instant, a policy, and its resolved form or its error")?;
                let is_multi = is_multi(&json);
                let error = match policy(&policy::Stated { policy: json, epoch: self.epoch }) {
                    // No text says one layer of several.
                    Ok(_) if is_multi != self.is_multi => Some("different_table"),
                    Ok(policy) => self.keys.change(&policy, now).err(),
                    Err(error) => Some(error.kind().code()),
                };
                Ok(match (stated.error.as_deref(), stated.resolved) {
                    (stated, _) if stated != error => {
                        Judged::Wrong(format!("expected {stated:?}, got {error:?}"))
                    }
                    (_, Some(resolved)) => match differences(&resolved, self.keys.policy()) {
                        Some(wrong) => Judged::Wrong(wrong),
                        None => Judged::Right,
                    },
                    _ => Judged::Right,
                })
            }
            "forget" => {
                let (_, key): (u64, String) = of(columns, "an instant and a key")?;
                self.keys.forget(&key);
                Ok(Judged::Right)
            }
            _ => bail!("no call {call}"),
        }
    }
}

fn is_multi(policy: &Map<String, Value>) -> bool {
    policy.get("algorithm").and_then(Value::as_str) == Some("multi")
}

fn of<T: for<'a> Deserialize<'a>>(columns: &[Value], expected: &str) -> Result<T> {
    T::deserialize(Value::from(columns.to_vec())).with_context(|| format!("expected {expected}"))
}

fn judged(stated: &[Value], got: Answer) -> Result<Judged> {
    let stated: Stated = of(stated, "a code, remaining, retry and reset")?;
    Ok(Judged::compared(&Answer::from(stated), &got))
}
