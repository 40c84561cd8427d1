//! `Fields`: the HTTP fields that tell a client its limits.

use core::num::NonZero;
use std::sync::Arc;

use napi::bindgen_prelude::BigInt;
use napi::{Error, Result, Status};
use napi_derive::napi;
use ratecell::Policy;
use ratecell::fields::{Answer, Fields as Written, Label, LayerNumbers, Style, Styles, Unit};

use crate::errors;
use crate::limiter::Limiter;
use crate::page;
use crate::request::u64_of;

/// What has decided: a limiter, or the numbers of a policy's layers.
enum Source {
    Limiter(Arc<ratecell::Limiter>),
    Layers(Vec<Layer>),
}

/// One layer: its text, units in a period, the period in nanoseconds or none, and its capacity.
struct Layer {
    text: String,
    limit: u64,
    period_ns: Option<NonZero<u64>>,
    capacity: u64,
}

/// The names of a policy in fields.
#[derive(Default)]
struct Named {
    name: Option<String>,
    unit: Unit,
    partition: Option<Vec<u8>>,
}

impl Named {
    fn new(name: Option<String>, unit: Option<String>, partition: Option<&[u8]>) -> Result<Self> {
        let unit = unit.map_or(Ok(Unit::default()), |unit| unit.parse());
        let unit = unit.map_err(|error: ratecell::fields::LabelError| errors::of_value(&error.to_string()));
        // The name is looked at first.
        let named = Self { name, unit: Unit::default(), partition: None };
        named.label()?;
        let named = Self { unit: unit?, partition: partition.map(<[u8]>::to_vec), ..named };
        named.label()?;
        Ok(named)
    }

    fn label(&self) -> Result<Label<'_>> {
        let refused = |error: ratecell::fields::LabelError| errors::of_value(&error.to_string());
        let mut label = Label::new().unit(self.unit);
        if let Some(name) = &self.name {
            label = label.named(name).map_err(refused)?;
        }
        if let Some(partition) = &self.partition {
            label = label.partition(partition).map_err(refused)?;
        }
        Ok(label)
    }
}

/// The fields of the decisions of some limiters, each added once.
#[napi]
pub struct Fields {
    styles: Styles,
    sources: Vec<(Source, Named)>,
}

/// The styles of these names.
pub(crate) fn chosen(names: &[String]) -> Result<Styles> {
    let mut styles: Option<Styles> = None;
    for name in names {
        let Some(style) = Style::from_name(name) else {
            let known = Style::ALL.map(Style::name).join(", ");
            return Err(errors::of_value(&format!("no style is called {name:?}: expected {known}")));
        };
        styles = Some(match styles {
            None => style.into(),
            Some(earlier) => earlier.and(style).map_err(|error| errors::of_value(&error.to_string()))?,
        });
    }
    styles.ok_or_else(|| errors::of_value("styles is empty: expected one or more"))
}

/// Names and values, in turns.
pub(crate) fn flat<'a>(fields: impl Iterator<Item = (&'static str, impl ToString + 'a)>) -> Vec<String> {
    fields.flat_map(|(name, value)| [name.to_owned(), value.to_string()]).collect()
}

#[napi]
impl Fields {
    #[napi(constructor)]
    pub fn new(styles: Vec<String>) -> Result<Self> {
        Ok(Self { styles: chosen(&styles)?, sources: Vec::new() })
    }

    /// Adds a limiter and the names of its policy.
    #[napi]
    pub fn add(
        &mut self,
        limiter: &Limiter,
        name: Option<String>,
        unit: Option<String>,
        partition: Option<&[u8]>,
    ) -> Result<()> {
        self.sources.push((Source::Limiter(limiter.core.clone()), Named::new(name, unit, partition)?));
        Ok(())
    }

    /// Adds the layers of a policy by their texts and, three of each, limit, period or 0, and capacity.
    #[napi]
    pub fn add_layers(
        &mut self,
        texts: Vec<String>,
        numbers: &[u64],
        name: Option<String>,
        unit: Option<String>,
        partition: Option<&[u8]>,
    ) -> Result<()> {
        let (numbers, _) = numbers.as_chunks::<3>();
        let layers = texts.into_iter().zip(numbers).map(|(text, &[limit, period_ns, capacity])| Layer {
            text,
            limit,
            period_ns: NonZero::new(period_ns),
            capacity,
        });
        self.sources.push((Source::Layers(layers.collect()), Named::new(name, unit, partition)?));
        Ok(())
    }

    /// The fields, names and values in turns, of decisions of the sources `which`; each decision is ten numbers.
    #[napi]
    pub fn write(&self, which: &[u32], decisions: &[u64], now_unix_ns: BigInt) -> Result<Vec<String>> {
        let missing = || Error::new(Status::InvalidArg, "an answer has no source, or no decision");
        let sources = which.iter().map(|number| self.sources.get(*number as usize).ok_or_else(missing));
        let sources = sources.collect::<Result<Vec<_>>>()?;
        let origins: Vec<Origin<'_>> = sources.iter().map(|(source, _)| Origin::of(source)).collect();
        let mut answers = Vec::with_capacity(sources.len());
        for (number, (origin, (_, named))) in origins.iter().zip(&sources).enumerate() {
            let numbers = decisions.get(number * 10..number * 10 + 10);
            let decision = numbers.and_then(page::decision).ok_or_else(missing)?;
            if decision.layer() >= origin.layers() {
                return Err(errors::of_value(&format!(
                    "the decision names layer {} of {}: expected a decision of the same limiter",
                    decision.layer(),
                    origin.layers()
                )));
            }
            let label = named.label()?;
            answers.push(match origin {
                Origin::Policy(policy) => Answer::of(policy, label, decision),
                Origin::Layers(layers) => Answer::new(&**layers, label, decision),
            });
        }
        let fields = Written::new(self.styles, &answers, u64_of(now_unix_ns));
        Ok(flat(fields.iter()))
    }
}

/// The policy of an answer, as it is now.
enum Origin<'a> {
    Policy(Arc<Policy>),
    Layers(Vec<LayerNumbers<'a>>),
}

impl<'a> Origin<'a> {
    fn of(source: &'a Source) -> Self {
        match source {
            Source::Limiter(limiter) => Self::Policy(limiter.policy()),
            Source::Layers(layers) => Self::Layers(
                layers
                    .iter()
                    .map(|Layer { text, limit, period_ns, capacity }| LayerNumbers {
                        text,
                        limit: *limit,
                        period_ns: *period_ns,
                        capacity: *capacity,
                    })
                    .collect(),
            ),
        }
    }

    fn layers(&self) -> usize {
        match self {
            Self::Policy(policy) => policy.layers().len(),
            Self::Layers(layers) => layers.len(),
        }
    }
}
