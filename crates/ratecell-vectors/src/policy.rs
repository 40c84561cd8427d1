//! From a policy in the vectors' JSON to a policy of the library, through its text.

use anyhow::{Context, Result};
use jiff::Timestamp;
use ratecell_core::{Policy, PolicyError};
use serde_json::{Map, Value};

const LIMIT_NAMES: [&str; 3] = ["limit", "refill", "leak"];
const PERIOD_NAMES: [&str; 3] = ["period_ns", "interval_ns", "window_ns"];

/// A policy, and the epoch of the limiter that it is for, in seconds since 1970.
#[derive(Debug)]
pub(crate) struct Stated {
    pub(crate) policy: Map<String, Value>,
    pub(crate) epoch: Option<i64>,
}

/// An instant of the form `2026-01-05T00:00:00Z`, in seconds since 1970.
pub(crate) fn unix_seconds(instant: &str) -> Result<i64> {
    let instant: Timestamp = instant.parse().with_context(|| format!("epoch `{instant}`"))?;
    Ok(instant.as_second())
}

/// The policy for a limiter of the epoch that is stated, or the library's reason against it.
pub(crate) fn policy(stated: &Stated) -> Result<Policy, PolicyError> {
    let policy = timeless(&stated.policy)?;
    match stated.epoch {
        Some(epoch) => policy.at_epoch(epoch),
        None => Ok(policy),
    }
}

/// The policy for a limiter of any epoch, or the library's reason against it.
pub(crate) fn timeless(json: &Map<String, Value>) -> Result<Policy, PolicyError> {
    if json.get("algorithm").and_then(Value::as_str) != Some("multi") {
        return text(json).parse();
    }
    let layers: Vec<&Map<_, _>> = match json.get("layers") {
        Some(Value::Array(layers)) => layers.iter().filter_map(Value::as_object).collect(),
        _ => Vec::new(),
    };
    // The text has no words for no layers, for one layer that is not alone, nor for layers of layers.
    if layers.len() < 2 || layers.iter().any(|layer| layer.contains_key("layers")) {
        return Policy::all(layers.into_iter().map(timeless).collect::<Result<Vec<_>, _>>()?);
    }
    layers.into_iter().map(text).collect::<Vec<_>>().join(" & ").parse()
}

/// The code of what is wrong with a field that no text could hold: the reader of JSON refuses it, before there is a policy.
pub(crate) fn mistyped(layer: &Map<String, Value>) -> Option<&'static str> {
    let numbers = layer.iter().filter(|(name, _)| *name == "limit" || name.ends_with("_ns"));
    let mut codes = numbers.filter_map(|(_, value)| match value {
        Value::Number(number) if number.is_u64() => None,
        Value::Number(_) => Some("range"),
        _ => Some("bad_type"),
    });
    codes.next()
}

/// One layer as text: `algorithm LIMIT/PERIODns option=value ...`.
fn text(layer: &Map<String, Value>) -> String {
    let mut algorithm = String::new();
    let mut limit = String::new();
    let mut period = String::new();
    let mut options = String::new();
    for (name, value) in layer {
        // A number that is written as text stays one.
        let text = value.as_str().filter(|_| name != "day");
        let value = text.map_or_else(|| value.to_string(), str::to_owned);
        if name == "algorithm" {
            algorithm = value;
        } else if LIMIT_NAMES.contains(&name.as_str()) {
            limit = value;
        } else if PERIOD_NAMES.contains(&name.as_str()) {
            period = format!("/{value}ns");
        } else if name == "period" {
            period = format!("/{value}");
        } else if let Some(duration) = name.strip_suffix("_ns") {
            options += &format!(" {duration}={value}ns");
        } else {
            options += &format!(" {name}={value}");
        }
    }
    format!("{algorithm} {limit}{period}{options}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(json: &str) -> Result<String, &'static str> {
        let policy = timeless(&serde_json::from_str(json).unwrap());
        policy.map(|policy| policy.to_string()).map_err(|error| error.kind().code())
    }

    #[test]
    fn every_field_has_its_place_in_the_text() {
        let json = r#"{"algorithm":"fixed_window","start":"aligned","limit":5,"window_ns":60000000000,"offset_ns":1500,"heal_ns":7}"#;
        assert_eq!(parse(json).unwrap(), "fixed_window 5/m start=aligned offset=1500ns heal=7ns");
        let json = r#"{"algorithm":"token_bucket","mode":"interval","refill":2,"interval_ns":1000,"capacity":4294967295,"horizon_ns":9}"#;
        assert_eq!(parse(json).unwrap(), "token_bucket 2/us capacity=4294967295 mode=interval horizon=9ns");
    }

    #[test]
    fn a_calendar_is_text() {
        let json = r#"{"algorithm":"calendar_window","limit":5,"period":"month","tz":"Etc/GMT+12","at":"06:00","day":31}"#;
        assert_eq!(parse(json).unwrap(), "calendar_window 5/month tz=Etc/GMT+12 at=06:00 day=31");
    }

    #[test]
    fn layers_are_joined() {
        let json = r#"{"algorithm":"multi","layers":[{"algorithm":"gcra","limit":1,"period_ns":1000},{"algorithm":"sliding_window","limit":2,"window_ns":1000000000,"strict":true}]}"#;
        assert_eq!(parse(json).unwrap(), "1/us & sliding_window 2/s strict=true");
    }

    #[test]
    fn errors_are_the_library_s_own() {
        assert_eq!(parse(r#"{"algorithm":"nope"}"#), Err("unknown_algorithm"));
        assert_eq!(parse(r#"{"algorithm":"multi","layers":[]}"#), Err("bad_layers"));
        assert_eq!(
            parse(r#"{"algorithm":"multi","layers":[{"algorithm":"multi","layers":[]}]}"#),
            Err("bad_layers")
        );
        assert_eq!(parse(r#"{"algorithm":"gcra","limit":18446744073709551615,"period_ns":1}"#), Err("range"));
    }
}
