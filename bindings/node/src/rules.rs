//! `Rules`: limits by a file of rules.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use napi::Result;
use napi::bindgen_prelude::{BigInt, Buffer, Uint8Array};
use napi_derive::napi;
use ratecell::rules::{RulesLimiter, RulesReservation};

use crate::errors;
use crate::fields::{chosen, flat};
use crate::limiter::{Stats, epoch, epoch_ms, keys, stats, when_full};
use crate::request::u64_of;

/// Limits by a file of rules.
#[napi]
pub struct Rules {
    limiter: Arc<RulesLimiter>,
}

/// What rules are made of, besides their text.
#[napi(object)]
pub struct RulesOptions {
    pub max_keys: Option<f64>,
    pub when_full: Option<String>,
    pub epoch_s: Option<f64>,
    pub reserving: Option<bool>,
    pub file: Option<String>,
    pub follow: Option<bool>,
    pub change: Option<bool>,
}

/// The answer of rules to one request.
#[napi]
pub struct RulesDecision {
    decision: ratecell::rules::RulesDecision,
}

/// What was reserved: the decision, and the bytes if it is allowed.
#[napi]
pub struct RulesReserved {
    decision: Option<RulesDecision>,
    data: Option<Vec<u8>>,
}

/// The rules of a text or of a file.
fn parsed(text: Option<&[u8]>, path: Option<PathBuf>) -> Result<ratecell::rules::Rules> {
    let read: Vec<u8>;
    let (text, path): (&[u8], Option<&Path>) = match (text, &path) {
        (Some(text), _) => (text, None),
        (None, Some(path)) => {
            read = std::fs::read(path).map_err(|error| {
                let text = format!("{}: {error}", path.display());
                errors::of_file(path, error.raw_os_error(), &text)
            })?;
            (&read, Some(path))
        }
        (None, None) => return Err(errors::of_value("neither text nor path is given: expected one of them")),
    };
    ratecell::rules::Rules::parse(text).map_err(|error| errors::of_rules(path, &error))
}

/// The attributes, each a name and its value.
fn pairs<'a>(names: &'a [String], values: &'a [Uint8Array]) -> Vec<(&'a str, &'a [u8])> {
    names.iter().zip(values).map(|(name, value)| (&**name, &**value)).collect()
}

#[napi]
impl Rules {
    #[napi(constructor)]
    pub fn new(text: Option<&[u8]>, path: Option<String>, options: RulesOptions) -> Result<Self> {
        let mut builder = RulesLimiter::builder(parsed(text, path.map(PathBuf::from))?);
        if let Some(max_keys) = options.max_keys {
            builder = builder.max_keys(keys(max_keys));
        }
        if let Some(name) = &options.when_full {
            builder = builder.when_full(when_full(name)?);
        }
        if let Some(seconds) = options.epoch_s {
            builder = builder.epoch(epoch(seconds)?);
        }
        if options.reserving.unwrap_or_default() {
            builder = builder.reserving();
        }
        if options.follow.unwrap_or_default() {
            builder = builder.follow();
        }
        if options.change.unwrap_or_default() {
            builder = builder.change();
        }
        let made = match options.file {
            None => builder.build(),
            Some(file) => builder.open(file),
        };
        let limiter = made.map_err(|error| errors::of_build(&error))?;
        Ok(Self { limiter: Arc::new(limiter) })
    }

    #[napi]
    pub fn decide(
        &self,
        names: Vec<String>,
        values: Vec<Uint8Array>,
        at_ns: Option<BigInt>,
    ) -> Result<RulesDecision> {
        if self.limiter.is_reserving() {
            return Err(errors::of_value(
                "rules that are made with reserving: decide gives no permit that could be released; expected reserve",
            ));
        }
        let now_ns = at_ns.map_or_else(|| self.limiter.now_ns(), u64_of);
        let decision = self.limiter.decide_at(&pairs(&names, &values), now_ns);
        Ok(RulesDecision { decision })
    }

    #[napi]
    pub fn reserve(
        &self,
        names: Vec<String>,
        values: Vec<Uint8Array>,
        at_ns: Option<BigInt>,
    ) -> RulesReserved {
        let request = pairs(&names, &values);
        let (decision, reservation) = match at_ns.map(u64_of) {
            Some(at_ns) => self.limiter.reserve_at(&request, at_ns),
            None => self.limiter.reserve(&request),
        };
        let data = reservation.map(|reservation| reservation.to_bytes().to_vec());
        RulesReserved { decision: Some(RulesDecision { decision }), data }
    }

    /// Settles by attributes that are known afterwards; without names, cancels.
    #[napi]
    pub fn settle(
        &self,
        data: &[u8],
        names: Option<Vec<String>>,
        values: Vec<Uint8Array>,
        at_ns: Option<BigInt>,
    ) -> Result<()> {
        let (reservation, at_ns) = (of_bytes(data)?, at_ns.map(u64_of));
        let Some(names) = names else {
            match at_ns {
                Some(at_ns) => self.limiter.cancel_at(reservation, at_ns),
                None => self.limiter.cancel(reservation),
            }
            return Ok(());
        };
        let actual = pairs(&names, &values);
        match at_ns {
            Some(at_ns) => self.limiter.settle_at(reservation, &actual, at_ns),
            None => self.limiter.settle(reservation, &actual),
        }
        Ok(())
    }

    #[napi]
    pub fn release(&self, data: &[u8], at_ns: Option<BigInt>) -> Result<u32> {
        let reservation = of_bytes(data)?;
        Ok(match at_ns.map(u64_of) {
            Some(at_ns) => self.limiter.release_at(reservation, at_ns),
            None => self.limiter.release(reservation),
        })
    }

    #[napi]
    pub fn change(&self, text: Option<&[u8]>, path: Option<String>, at_ns: Option<BigInt>) -> Result<()> {
        let rules = parsed(text, path.map(PathBuf::from))?;
        let changed = match at_ns.map(u64_of) {
            None => self.limiter.change(rules),
            Some(at_ns) => self.limiter.change_at(rules, at_ns),
        };
        changed.map_err(|error| errors::of_build(&error))
    }

    #[napi]
    pub fn stats(&self, at_ns: Option<BigInt>) -> Stats {
        let now_ns = at_ns.map_or_else(|| self.limiter.now_ns(), u64_of);
        stats(&self.limiter.stats_at(now_ns), &ratecell::Shared::default())
    }

    #[napi(getter)]
    pub fn reserving(&self) -> bool {
        self.limiter.is_reserving()
    }

    #[napi(getter)]
    pub fn names(&self) -> Vec<String> {
        self.limiter.rules().iter().map(|rule| rule.name().to_owned()).collect()
    }

    #[napi]
    pub fn now_ns(&self) -> u64 {
        self.limiter.now_ns()
    }

    #[napi(getter)]
    pub fn epoch_ms(&self) -> f64 {
        epoch_ms(self.limiter.epoch())
    }
}

fn of_bytes(data: &[u8]) -> Result<RulesReservation> {
    RulesReservation::from_bytes(data).map_err(|error| errors::of_value(&error.to_string()))
}

#[napi]
impl RulesReserved {
    /// The decision, once.
    #[napi]
    pub fn decision(&mut self) -> Option<RulesDecision> {
        self.decision.take()
    }

    #[napi]
    pub fn data(&mut self) -> Option<Buffer> {
        self.data.take().map(Buffer::from)
    }
}

#[napi]
impl RulesDecision {
    #[napi(getter)]
    pub fn allowed(&self) -> bool {
        self.decision.is_allowed()
    }

    #[napi(getter)]
    pub fn outcome(&self) -> u32 {
        self.decision.outcome as u32
    }

    #[napi(getter)]
    pub fn rule(&self) -> Option<String> {
        self.decision.rule_name().or_else(|| self.decision.shown_name()).map(str::to_owned)
    }

    #[napi(getter)]
    pub fn is_unclear_path(&self) -> bool {
        self.decision.is_unclear_path()
    }

    /// limit, remaining, retry or 2^64-1, reset, delay.
    #[napi(getter)]
    pub fn figures(&self) -> Vec<BigInt> {
        let retry = self.decision.retry_after().map_or(u64::MAX, |_| self.decision.retry_after_ns);
        let (limit, remaining, reset) = self
            .decision
            .shown
            .map_or((0, 0, 0), |shown| (shown.limit, shown.remaining, shown.reset_after_ns));
        [limit, remaining, retry, reset, self.decision.delay_ns].into_iter().map(BigInt::from).collect()
    }

    /// Names and outcomes of the shadow rules, in turns.
    #[napi(getter)]
    pub fn shadow(&self) -> Vec<String> {
        let shadows = self.decision.shadows();
        shadows.flat_map(|(rule, outcome)| [rule.to_owned(), (outcome as u32).to_string()]).collect()
    }

    #[napi]
    pub fn fields(&self, styles: Vec<String>, now_unix_ns: BigInt) -> Result<Vec<String>> {
        Ok(flat(self.decision.fields(chosen(&styles)?, u64_of(now_unix_ns)).iter()))
    }
}
