//! Ways to ask the server, each over one connection.

use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use ratecell_core::algorithm::{Span, Want, WordLayout};
use ratecell_sync::{Answer, Operation, Store, Terms};
use redis::Value;

use crate::server;

const PATIENCE: Duration = Duration::from_secs(10);

/// So many units a second, and as many at once.
#[derive(Clone, Copy)]
pub(crate) struct Limit(pub(crate) u64);

impl Limit {
    pub(crate) fn text(self) -> String {
        format!("{0}/s burst={0}", self.0)
    }
}

/// One connection that is asked for units of some keys, one of each in a call. The answer is how many were allowed.
pub(crate) type Ask = Box<dyn FnMut() -> Result<usize>>;

/// `INCR` of each key: no decision, what the least of commands costs.
pub(crate) fn incr(folder: &Path, keys: &[String]) -> Result<Ask> {
    let mut connection = server::connect(folder)?;
    let mut pipe = redis::pipe();
    for key in keys {
        pipe.cmd("INCR").arg(format!("incr:{key}"));
    }
    Ok(Box::new(move || Ok(pipe.query::<Vec<u64>>(&mut connection)?.len())))
}

/// redis_rate's script, with what its `AllowN` gives it: the burst, the rate, the period in seconds and the units.
pub(crate) fn redis_rate(folder: &Path, script: &Path, keys: &[String], limit: Limit) -> Result<Ask> {
    let mut connection = server::connect(folder)?;
    let text = std::fs::read_to_string(script).with_context(|| script.display().to_string())?;
    let sum: String = redis::cmd("SCRIPT").arg("LOAD").arg(text).query(&mut connection)?;
    let mut pipe = redis::pipe();
    for key in keys {
        let command = pipe.cmd("EVALSHA").arg(&sum).arg(1).arg(format!("rate:{key}"));
        command.arg(limit.0).arg(limit.0).arg(1).arg(1);
    }
    Ok(Box::new(move || {
        let mut allowed = 0;
        for answer in pipe.query::<Vec<Value>>(&mut connection)? {
            match answer {
                Value::Array(fields) if matches!(fields.first(), Some(Value::Int(1))) => allowed += 1,
                Value::Array(fields) if matches!(fields.first(), Some(Value::Int(0))) => {}
                other => bail!("redis_rate's script answered {other:?}: expected 0 or 1 unit"),
            }
        }
        Ok(allowed)
    }))
}

/// Takes of one unit, by the client that agents have, without a lease.
pub(crate) fn take(folder: &Path, keys: &[String], limit: Limit) -> Result<Ask> {
    let layout = WordLayout { word: *b"gcra    ", unit: 1, grain: 0, count_bits: 0 };
    let terms = Terms {
        layouts: vec![layout],
        reach: vec![u32::try_from(limit.0)?],
        policy: limit.text(),
        version: 0,
    };
    let named = Store::open(&server::url(folder))?.named(&format!("takes{}", limit.0))?;
    let attached = named.attach(Some(&terms), PATIENCE)?;
    let (mut connection, generation) = (attached.connection, (attached.record.generation % 256) as u8);
    let hashes: Vec<u64> = keys.iter().map(|key| hash(key)).collect();
    let second = 1_000_000_000;
    Ok(Box::new(move || {
        let since = UNIX_EPOCH.elapsed()?;
        let (now, expires_ms) = (since.as_nanos() as u64, since.as_millis() as u64 + 60_000);
        // A GCRA of as many units at once as in a second.
        let span = Span { floor: now, ceiling: now + second, unit: second / limit.0, raises: true };
        let take = |h: &u64| Operation::Take {
            h: *h,
            generation,
            spans: std::iter::once(span).collect(),
            want: Want { most: 1, least: 1, share: 1 },
            expires_ms,
        };
        let operations: Vec<Operation> = hashes.iter().map(take).collect();
        let mut allowed = 0;
        for answer in connection.batch(&operations)?.answers {
            match answer {
                Answer::Taken { .. } => allowed += 1,
                Answer::Refused(_) => {}
                other => bail!("a take was answered {other:?}"),
            }
        }
        Ok(allowed)
    }))
}

/// Any numbers, each another.
fn hash(key: &str) -> u64 {
    key.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
