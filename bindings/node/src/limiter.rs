//! `Limiter`: the calls that decide.

use core::cell::RefCell;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use napi::bindgen_prelude::{AsyncTask, BigInt, BigUint64Array, ObjectFinalize, Uint8Array};
use napi::{Env, Error, Result, Status, Task};
use napi_derive::napi;
use ratecell::waiting::Line;
use ratecell::{Decision, LimiterBuilder, OnFailure, OnMiss, Outcome, Policy, Request, WhenFull};

use crate::errors;
use crate::memory::{self, Page};
use crate::page;
use crate::request::{Terms, u64_of};
use crate::zone::{self, Zone};

/// Requests of a batch that are made at once.
const REQUESTS: usize = 32;

/// About the bytes of a key in a layer, and the keys that have room where nothing else is said.
const KEY_BYTES: usize = 26;
const DEFAULT_KEYS: usize = 100_000;

/// The limiter without what JavaScript adds.
#[napi(js_name = "Limiter", custom_finalize)]
pub struct Limiter {
    pub(crate) core: Arc<ratecell::Limiter>,
    /// Those who wait for it.
    pub(crate) line: RefCell<Option<Line>>,
    /// The bytes that Node's collector was told of.
    told: i64,
}

/// What a limiter is made of.
#[napi(object)]
pub struct Options {
    pub max_keys: Option<f64>,
    pub when_full: Option<String>,
    pub path: Option<String>,
    pub on_miss: Option<String>,
    pub wait_ms: Option<f64>,
    pub on_failure: Option<String>,
    pub epoch_s: Option<f64>,
    pub names: Option<bool>,
}

pub(crate) fn when_full(name: &str) -> Result<WhenFull> {
    match name {
        "evict" => Ok(WhenFull::Evict),
        "share" => Ok(WhenFull::Share),
        "deny" => Ok(WhenFull::Deny),
        "allow" => Ok(WhenFull::Allow),
        other => Err(errors::of_value(&format!(
            "whenFull is '{other}': expected 'evict', 'share', 'deny' or 'allow'"
        ))),
    }
}

/// The instant so many seconds after 1970.
#[expect(clippy::cast_sign_loss, clippy::cast_possible_truncation, reason = "JavaScript gives whole seconds")]
pub(crate) fn epoch(seconds: f64) -> Result<SystemTime> {
    let distance = Duration::from_secs(seconds.abs() as u64);
    let epoch =
        if seconds < 0.0 { UNIX_EPOCH.checked_sub(distance) } else { UNIX_EPOCH.checked_add(distance) };
    let wrong = || {
        errors::of_value(&format!("epochS is {seconds}: expected an instant that the system's times hold"))
    };
    epoch.ok_or_else(wrong)
}

/// A number of keys; JavaScript gives whole ones from 1 on.
#[expect(clippy::cast_sign_loss, clippy::cast_possible_truncation, reason = "JavaScript gives whole numbers")]
pub(crate) fn keys(number: f64) -> usize {
    number as usize
}

fn configured(mut builder: LimiterBuilder, options: &Options) -> Result<LimiterBuilder> {
    if let Some(max_keys) = options.max_keys {
        builder = builder.max_keys(keys(max_keys));
    }
    if let Some(name) = &options.when_full {
        builder = builder.when_full(when_full(name)?);
    }
    if let Some(seconds) = options.epoch_s {
        builder = builder.epoch(epoch(seconds)?);
    }
    let wait = options.wait_ms.map(|ms| OnMiss::Wait(Duration::from_secs_f64(ms / 1e3)));
    match (options.on_miss.as_deref(), wait) {
        (None, None) => {}
        (None | Some("wait"), wait) => builder = builder.on_miss(wait.unwrap_or_default()),
        (Some("deny"), None) => builder = builder.on_miss(OnMiss::Deny),
        (Some("deny"), Some(_)) => {
            return Err(errors::of_value(
                "waitMs is given with onMiss: 'deny': expected it with onMiss: 'wait' alone",
            ));
        }
        (Some(other), _) => {
            return Err(errors::of_value(&format!("onMiss is '{other}': expected 'wait' or 'deny'")));
        }
    }
    match options.on_failure.as_deref() {
        None => {}
        Some("closed") => builder = builder.on_failure(OnFailure::Closed),
        Some("open") => builder = builder.on_failure(OnFailure::Open),
        Some(other) => {
            return Err(errors::of_value(&format!("onFailure is '{other}': expected 'closed' or 'open'")));
        }
    }
    Ok(builder.names(options.names.unwrap_or_default()))
}

fn parse(policy: &str) -> Result<Policy> {
    policy.parse().map_err(|error| errors::of_policy(&error))
}

impl Limiter {
    fn of(core: ratecell::Limiter) -> Self {
        Self { core: Arc::new(core), line: RefCell::new(None), told: 0 }
    }

    /// Tells Node's collector of the table, which it does not see: so it collects limiters that nobody has.
    fn tell(mut self, env: Env, max_keys: Option<f64>) -> Result<Self> {
        let keys = max_keys.map_or(DEFAULT_KEYS, keys);
        let bytes = keys.saturating_mul(KEY_BYTES * self.core.policy().layers().len());
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        env.adjust_external_memory(bytes)?;
        self.told = bytes;
        Ok(self)
    }
}

impl ObjectFinalize for Limiter {
    fn finalize(self, env: Env) -> Result<()> {
        if self.told > 0 {
            env.adjust_external_memory(-self.told)?;
        }
        Ok(())
    }
}

/// What a limiter holds and what has happened to it.
#[napi(object)]
pub struct Stats {
    pub slots: f64,
    pub live: f64,
    pub live_error: f64,
    pub bytes: f64,
    pub evicted: f64,
    pub forgiven: f64,
    pub shared: f64,
    pub denied_full: f64,
    pub allowed_full: f64,
    pub exhausted: f64,
    pub leased: f64,
    pub used: f64,
    pub passed: f64,
    pub given_back: f64,
    pub misses: f64,
    pub waits: f64,
    pub timeouts: f64,
    pub operations: f64,
    pub swaps_lost: f64,
    pub lag_ns: f64,
    pub healed: f64,
    pub board_full: f64,
    pub opened: f64,
    pub local: f64,
    pub connected: bool,
}

#[expect(clippy::cast_precision_loss, reason = "they are counts, and shown")]
pub(crate) fn stats(stats: &ratecell::Stats, shared: &ratecell::Shared) -> Stats {
    Stats {
        slots: stats.slots as f64,
        live: stats.live as f64,
        live_error: stats.live_error as f64,
        bytes: stats.bytes as f64,
        evicted: stats.evicted as f64,
        forgiven: stats.forgiven as f64,
        shared: stats.shared as f64,
        denied_full: stats.denied_full as f64,
        allowed_full: stats.allowed_full as f64,
        exhausted: stats.exhausted as f64,
        leased: shared.leased as f64,
        used: shared.used as f64,
        passed: shared.passed as f64,
        given_back: shared.given_back as f64,
        misses: shared.misses as f64,
        waits: shared.waits as f64,
        timeouts: shared.timeouts as f64,
        operations: shared.operations as f64,
        swaps_lost: shared.swaps_lost as f64,
        lag_ns: shared.lag_ns as f64,
        healed: shared.healed as f64,
        board_full: shared.board_full as f64,
        opened: shared.opened as f64,
        local: shared.local as f64,
        connected: shared.is_connected,
    }
}

#[napi]
impl Limiter {
    /// Makes one by its policy, or by that of the file.
    #[napi(constructor)]
    pub fn new(env: Env, policy: Option<String>, options: Options) -> Result<Self> {
        let builder = match &policy {
            Some(policy) => ratecell::Limiter::builder(parse(policy)?),
            None => ratecell::Limiter::following(),
        };
        let builder = configured(builder, &options)?;
        match options.path {
            // The pages of a file are the system's.
            Some(path) => builder.open(path).map(Self::of).map_err(|error| errors::of_build(&error)),
            None => {
                let made = builder.build().map_err(|error| errors::of_build(&error))?;
                Self::of(made).tell(env, options.max_keys)
            }
        }
    }

    /// The same keys by another capacity.
    #[napi]
    pub fn with_policy(&self, policy: String) -> Result<Self> {
        let made = self.core.with_policy(parse(&policy)?);
        made.map(Self::of).map_err(|error| errors::of_build(&error))
    }

    /// Decides the request of the page, for a key that does not fit there, or in a zone.
    #[napi]
    pub fn decide(&self, page: &mut Page, key: &[u8], zone: Option<&Zone>) -> Result<()> {
        let zone = zone.map(|zone| &zone.zone);
        if let Some(zone) = zone {
            zone::check(&self.core, zone)?;
        }
        let decision = self.core.decide(Terms::of(page.bytes()).request(key, zone));
        page.write(&decision);
        Ok(())
    }

    /// Decides the request of the page, which may wait for a store, in a thread of libuv's: a record.
    #[napi]
    pub fn decide_elsewhere(&self, page: &Page, key: &[u8]) -> AsyncTask<Decide> {
        AsyncTask::new(Decide { core: self.core.clone(), terms: Terms::of(page.bytes()), key: key.to_vec() })
    }

    /// Decides the request of the page for each of the keys, which stand in `bytes` one behind the other and end at
    /// `ends`: a record for each goes to `records`, which has room for them.
    #[napi]
    pub fn decide_many(
        &self,
        page: &Page,
        bytes: &[u8],
        ends: &[u32],
        mut records: Uint8Array,
    ) -> Result<()> {
        let records = memory::records(&mut records);
        if !ends.is_sorted() || ends.last().is_some_and(|end| *end as usize > bytes.len()) {
            return Err(Error::new(Status::InvalidArg, "the keys end past their bytes"));
        }
        if records.len() < ends.len() {
            return Err(Error::new(Status::InvalidArg, "the records have too little room"));
        }
        let terms = Terms::of(page.bytes()).at(&self.core);
        let mut requests: Vec<Request<'_>> = Vec::with_capacity(REQUESTS.min(ends.len()));
        let mut decisions = [Decision::default(); REQUESTS];
        let mut start = 0;
        for (ends, records) in ends.chunks(REQUESTS).zip(records.chunks_mut(REQUESTS)) {
            requests.clear();
            for end in ends {
                let end = *end as usize;
                requests.push(terms.request(&bytes[start..end], None));
                start = end;
            }
            let decisions = &mut decisions[..requests.len()];
            self.core.decide_batch(&requests, decisions);
            for (record, decision) in records.iter_mut().zip(decisions) {
                page::write(record, decision);
            }
        }
        Ok(())
    }

    /// A zone for requests to this limiter.
    #[napi]
    pub fn zone(&self, name: String) -> Result<Zone> {
        self.core.zone(&name).map(|zone| Zone { zone }).map_err(|error| errors::of_policy(&error))
    }

    /// Makes `key` as if never seen; whether there was anything to forget.
    #[napi]
    pub fn forget(&self, key: &[u8]) -> bool {
        self.core.forget(key)
    }

    /// Limits by another policy from now on.
    #[napi]
    pub fn change(&self, policy: String, at_ns: Option<BigInt>) -> Result<()> {
        let policy = parse(&policy)?;
        let changed = match at_ns.map(u64_of) {
            Some(at_ns) => self.core.change_at(policy, at_ns),
            None => self.core.change(policy),
        };
        changed.map_err(|error| errors::of_build(&error))
    }

    #[napi]
    pub fn stats(&self, at_ns: Option<BigInt>, exact: bool) -> Stats {
        let now_ns = at_ns.map_or_else(|| self.core.now_ns(), u64_of);
        let figures = if exact { self.core.stats_exact_at(now_ns) } else { self.core.stats_at(now_ns) };
        stats(&figures, &self.core.shared().unwrap_or_default())
    }

    #[napi(getter)]
    pub fn policy(&self) -> String {
        self.core.policy().to_string()
    }

    #[napi(getter)]
    pub fn capacity(&self) -> u64 {
        self.core.policy().capacity()
    }

    #[napi(getter)]
    pub fn max_now_ns(&self) -> u64 {
        self.core.policy().max_now_ns()
    }

    /// Whether the policy asks for a zone.
    #[napi(getter)]
    pub fn asks_for_zone(&self) -> bool {
        self.core.policy().asks_for_zone()
    }

    /// Whether its units are those of many machines: then a decision may wait for their store.
    #[napi(getter)]
    pub fn is_leased(&self) -> bool {
        self.core.shared().is_some()
    }

    #[napi]
    pub fn now_ns(&self) -> u64 {
        self.core.now_ns()
    }

    /// The zero of the limiter's clock, in milliseconds since 1970.
    #[napi(getter)]
    pub fn epoch_ms(&self) -> f64 {
        epoch_ms(self.core.epoch())
    }
}

pub(crate) fn epoch_ms(epoch: SystemTime) -> f64 {
    match epoch.duration_since(UNIX_EPOCH) {
        Ok(since) => since.as_secs_f64() * 1e3,
        Err(before) => -before.duration().as_secs_f64() * 1e3,
    }
}

/// A decision that is made elsewhere.
pub struct Decide {
    core: Arc<ratecell::Limiter>,
    terms: Terms,
    key: Vec<u8>,
}

impl Task for Decide {
    type Output = Decision;
    type JsValue = BigUint64Array;

    fn compute(&mut self) -> Result<Decision> {
        let request = self.terms.request(&self.key, None);
        let decision = self.core.decide_here(request);
        Ok(if decision.outcome() == Outcome::Asked { self.core.decide(request) } else { decision })
    }

    fn resolve(&mut self, _: Env, decision: Decision) -> Result<BigUint64Array> {
        Ok(page::records(&[decision]))
    }
}
