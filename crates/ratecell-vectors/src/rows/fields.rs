//! The HTTP fields: what is written of decisions, and which labels are refused.

use std::num::NonZeroU64;

use anyhow::{Context, Result, ensure};
use ratecell_core::fields::{Answer, Fields, Label, LabelError, LayerNumbers, Layers, Style};
use ratecell_core::{Decision, Outcome, Policy};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Judge, Judged, read};

#[derive(Debug, Deserialize)]
struct Section {
    section: String,
    policies: Vec<Labelled>,
}

/// A policy, with what it is called.
#[derive(Debug, Deserialize)]
struct Labelled {
    name: Option<String>,
    unit: Option<String>,
    partition: Option<Hex>,
    layers: Vec<LayerRow>,
}

/// Bytes, written in hexadecimal digits.
#[derive(Debug, Deserialize)]
#[serde(try_from = "String")]
struct Hex(Vec<u8>);

impl TryFrom<String> for Hex {
    type Error = anyhow::Error;

    fn try_from(digits: String) -> Result<Self> {
        ensure!(digits.is_ascii() && digits.len().is_multiple_of(2), "{digits}: expected pairs of digits");
        let byte = |at| u8::from_str_radix(&digits[at..at + 2], 16);
        Ok(Self((0..digits.len()).step_by(2).map(byte).collect::<Result<_, _>>()?))
    }
}

#[derive(Debug, Deserialize)]
struct LayerRow {
    text: String,
    limit: Option<u64>,
    period_ns: Option<u64>,
    capacity: u64,
}

impl Labelled {
    fn label(&self) -> Result<Label<'_>, LabelError> {
        let mut label = Label::new();
        if let Some(name) = &self.name {
            label = label.named(name)?;
        }
        if let Some(unit) = &self.unit {
            label = label.unit(unit.parse()?);
        }
        match &self.partition {
            Some(Hex(partition)) => label.partition(partition),
            None => Ok(label),
        }
    }

    fn numbers(&self) -> Vec<LayerNumbers<'_>> {
        let numbers = self.layers.iter().map(|layer| LayerNumbers {
            text: &layer.text,
            limit: layer.limit.unwrap_or(0),
            period_ns: layer.period_ns.and_then(NonZeroU64::new),
            capacity: layer.capacity,
        });
        numbers.collect()
    }

    /// The policy itself, where the layers are those of one.
    fn policy(&self) -> Result<Policy> {
        let texts: Vec<_> = self.layers.iter().map(|layer| &*layer.text).collect();
        let text = texts.join(" & ");
        text.parse().with_context(|| format!("expected a policy: {text}"))
    }
}

#[derive(Debug, Deserialize)]
struct DecisionRow {
    outcome: String,
    limit: u64,
    remaining: u64,
    retry_ns: Option<u64>,
    reset_ns: u64,
    next_ns: Option<u64>,
    delay_ns: u64,
    layer: u32,
}

impl DecisionRow {
    fn decision(&self) -> Result<Decision> {
        let outcome = match &*self.outcome {
            "allowed" => Some(Outcome::Allowed),
            "denied" => Some(Outcome::Denied),
            "never" => Some(Outcome::Never),
            "clock_range" => Some(Outcome::ClockRange),
            _ => None,
        };
        let outcome = outcome.with_context(|| format!("no outcome: {}", self.outcome))?;
        let retry_ns = self.retry_ns.unwrap_or(Decision::NEVER);
        let Self { limit, remaining, reset_ns, delay_ns, layer, .. } = *self;
        Ok(Decision::new(outcome, limit, remaining, retry_ns, reset_ns, delay_ns, layer))
    }
}

/// A response: the decisions, and the fields that are written of them.
#[derive(Debug, Deserialize)]
struct Response {
    #[serde(alias = "decision", deserialize_with = "one_or_several")]
    decisions: Vec<DecisionRow>,
    style: String,
    now_unix_ns: u64,
    fields: Vec<(String, String)>,
}

fn one_or_several<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<DecisionRow>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Rows {
        One(DecisionRow),
        Several(Vec<DecisionRow>),
    }
    Ok(match Rows::deserialize(from)? {
        Rows::One(row) => vec![row],
        Rows::Several(rows) => rows,
    })
}

impl Response {
    /// The fields, with policies whose numbers or whose own layers are given.
    fn written<'a>(
        &self,
        policies: impl Iterator<Item = (impl Into<Layers<'a>>, Label<'a>)>,
    ) -> Result<Vec<(String, String)>> {
        let style = Style::from_name(&self.style).with_context(|| format!("no style: {}", self.style))?;
        let answer = |((layers, label), row): (_, &DecisionRow)| {
            Ok(Answer::new(layers, label, row.decision()?.with_next(row.next_ns.unwrap_or(0))))
        };
        let answers = policies.zip(&self.decisions).map(answer).collect::<Result<Vec<_>>>()?;
        let fields = Fields::new(style, &answers, self.now_unix_ns);
        Ok(fields.iter().map(|(name, value)| (name.to_owned(), value.to_string())).collect())
    }
}

pub(super) fn responses() -> Judge {
    let mut policies: Vec<Labelled> = Vec::new();
    let mut real: Option<Vec<Policy>> = None;
    Box::new(move |row| {
        if row.get("section").is_some() {
            let section: Section = read(row, "a section and its policies")?;
            let is_real = ["decided/", "several/"].iter().any(|start| section.section.starts_with(start));
            real = is_real.then(|| section.policies.iter().map(Labelled::policy).collect()).transpose()?;
            policies = section.policies;
            return Ok(Judged::Section);
        }
        let response: Response = read(row, "decisions, a style, an instant and the fields")?;
        let labels = policies.iter().map(Labelled::label).collect::<Result<Vec<_>, _>>()?;
        let numbers: Vec<_> = policies.iter().map(Labelled::numbers).collect();
        let given = numbers.iter().map(|layers| &**layers).zip(labels.iter().copied());
        let judged = Judged::compared(&json!(response.fields), &json!(response.written(given)?));
        match &real {
            Some(real) if judged == Judged::Right => {
                let itself = response.written(real.iter().zip(labels))?;
                Ok(match Judged::compared(&json!(response.fields), &json!(itself)) {
                    Judged::Wrong(how) => Judged::Wrong(format!("of the policy itself: {how}")),
                    judged => judged,
                })
            }
            _ => Ok(judged),
        }
    })
}

#[derive(Debug, Deserialize)]
struct Construct {
    policy: Labelled,
    error: Option<String>,
}

pub(super) fn construct(row: &Value) -> Result<Judged> {
    let row: Construct = read(row, "a policy's label and its error")?;
    let error = row.policy.label().err().map(|error| error.kind().code());
    Ok(Judged::compared(&json!(row.error), &json!(error)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratecell_core::fields::next_ns;

    const FIELDS: &str = include_str!("../../../../vectors/edges/fields.jsonl");

    /// What follows from a decision of one layer is what the published decisions have, or 1 ns more.
    #[test]
    fn the_time_to_one_more_unit() {
        let (mut compared, mut unknown) = (0, 0);
        let mut policy = None;
        for row in FIELDS.lines().skip(1).map(|line| serde_json::from_str::<Value>(line).expect(line)) {
            if row.get("section").is_some() {
                let section: Section = read(&row, "a section").expect("a section");
                let is_decided = section.section.starts_with("decided/");
                policy = is_decided.then(|| section.policies[0].policy().expect("a policy"));
                continue;
            }
            let Some(policy) = &policy else { continue };
            let response: Response = read(&row, "a response").expect("a response");
            let [decision] = &*response.decisions else { panic!("{row}: expected one decision") };
            let Some(published) = decision.next_ns else { continue };
            match next_ns(policy, &decision.decision().expect("a decision")) {
                Some(next) => {
                    let emission = policy.resolved().next().and_then(|layer| layer.emission);
                    let late = u64::from(emission.is_some_and(|emission| emission.den > 1));
                    assert!((published..=published + late).contains(&next), "{policy}: {next}, {row}");
                    compared += 1;
                }
                None => {
                    let text = policy.to_string();
                    assert!(text.contains(" & ") || text.contains("sliding"), "{policy}: {row}");
                    unknown += 1;
                }
            }
        }
        println!("{compared} compared, {unknown} need the word");
        assert!(compared > 300, "{compared} compared");
    }
}
