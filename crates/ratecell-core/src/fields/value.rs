//! The values of fields.

use core::fmt;

use super::layers::{LayerFields, Layers};
use super::{Answer, Label, Unit};
use crate::structured::{ByteSequence, Integer, QuotedString};

/// The value of a field, to be written.
#[derive(Clone, Copy, Debug)]
pub struct Value<'a>(Content<'a>);

#[derive(Clone, Copy, Debug)]
enum Content<'a> {
    Number(u64),
    Policies(&'a [Answer<'a>]),
    Limits(&'a [Answer<'a>]),
    OldPolicies(&'a [Answer<'a>]),
    OldLimit { limit: u64, remaining: u64, reset: u64 },
    LimitAndPolicies(u64, &'a [Answer<'a>]),
}

impl<'a> Value<'a> {
    pub(super) fn number(number: u64) -> Self {
        Self(Content::Number(number))
    }

    /// At most the largest structured integer.
    pub(super) fn integer(number: u64) -> Self {
        Self::number(number.min(Integer::MAX))
    }

    /// Every layer's quota, by draft -11.
    pub(super) fn policies(answers: &'a [Answer<'a>]) -> Self {
        Self(Content::Policies(answers))
    }

    /// What remains of each policy, by draft -11.
    pub(super) fn limits(answers: &'a [Answer<'a>]) -> Self {
        Self(Content::Limits(answers))
    }

    /// The rates, by the older drafts.
    pub(super) fn old_policies(answers: &'a [Answer<'a>]) -> Self {
        Self(Content::OldPolicies(answers))
    }

    /// What remains, by draft -07.
    pub(super) fn old_limit(limit: u64, remaining: u64, reset: u64) -> Self {
        Self(Content::OldLimit { limit, remaining, reset })
    }

    /// The limit, and the rates behind it, by drafts -03 to -05.
    pub(super) fn limit_and_policies(limit: u64, answers: &'a [Answer<'a>]) -> Self {
        Self(Content::LimitAndPolicies(limit, answers))
    }
}

impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Content::Number(number) => write!(f, "{number}"),
            Content::Policies(answers) => policies(f, answers),
            Content::Limits(answers) => limits(f, answers),
            Content::OldPolicies(answers) => old_policies(f, answers, ""),
            Content::OldLimit { limit, remaining, reset } => {
                let (limit, remaining) = (Integer(limit), Integer(remaining));
                write!(f, "limit={limit}, remaining={remaining}, reset={reset}")
            }
            Content::LimitAndPolicies(limit, answers) => {
                write!(f, "{}", Integer(limit))?;
                old_policies(f, answers, ", ")
            }
        }
    }
}

fn policies(f: &mut fmt::Formatter<'_>, answers: &[Answer<'_>]) -> fmt::Result {
    let mut separator = "";
    for Answer { layers, label, .. } in answers {
        for (number, layer) in layers.iter().enumerate() {
            f.write_str(separator)?;
            separator = ", ";
            name(f, *layers, label, number)?;
            let rate = layer.rate();
            write!(f, ";q={}", Integer(rate.map_or(layer.capacity, |(quota, _)| quota)))?;
            if label.unit != Unit::Requests {
                write!(f, ";qu={}", QuotedString(label.unit.name()))?;
            }
            if let Some((_, window)) = rate {
                write!(f, ";w={window}")?;
            }
            partition(f, label)?;
            burst(f, "ratecell-burst", layer)?;
        }
    }
    Ok(())
}

fn limits(f: &mut fmt::Formatter<'_>, answers: &[Answer<'_>]) -> fmt::Result {
    let mut separator = "";
    for answer in answers.iter().filter(|answer| answer.layer().is_some()) {
        f.write_str(separator)?;
        separator = ", ";
        name(f, answer.layers, &answer.label, answer.decision.layer())?;
        write!(f, ";r={}", Integer(answer.decision.remaining()))?;
        if let Some(window) = answer.window() {
            write!(f, ";t={window}")?;
        }
        partition(f, &answer.label)?;
    }
    Ok(())
}

/// The layers whose rate the older drafts can say, each with its quota and window. Two of one quota are an
/// error in these drafts: the first stands for all.
pub(super) fn old_rates<'a>(answers: &'a [Answer<'a>]) -> impl Iterator<Item = (LayerFields<'a>, u64, u64)> {
    let layers = || answers.iter().flat_map(|answer| answer.layers.iter());
    layers().enumerate().filter_map(move |(number, layer)| {
        let (quota, window) = layer.rate()?;
        let is_first = layers().take(number).all(|earlier| earlier.rate().is_none_or(|(q, _)| q != quota));
        is_first.then_some((layer, quota, window))
    })
}

fn old_policies(f: &mut fmt::Formatter<'_>, answers: &[Answer<'_>], before: &str) -> fmt::Result {
    let mut separator = before;
    for (layer, quota, window) in old_rates(answers) {
        write!(f, "{separator}{quota};w={window}")?;
        separator = ", ";
        burst(f, "burst", layer)?;
    }
    Ok(())
}

/// The name of one layer.
fn name(f: &mut fmt::Formatter<'_>, layers: Layers<'_>, label: &Label<'_>, number: usize) -> fmt::Result {
    match (label.name, layers.get(number)) {
        (Some(name), _) if layers.len() == 1 => write!(f, "{}", QuotedString(name)),
        (Some(name), _) => write!(f, "{}", QuotedString(format_args!("{name}-{}", number + 1))),
        (None, layer) => layer.map_or(Ok(()), |layer| write!(f, "{}", QuotedString(layer.text))),
    }
}

fn partition(f: &mut fmt::Formatter<'_>, label: &Label<'_>) -> fmt::Result {
    label.partition.map_or(Ok(()), |partition| write!(f, ";pk={}", ByteSequence(partition)))
}

/// The capacity, where it is not the quota of a window.
fn burst(f: &mut fmt::Formatter<'_>, name: &str, layer: LayerFields<'_>) -> fmt::Result {
    match layer.rate() {
        Some((quota, _)) if quota != layer.capacity => write!(f, ";{name}={}", Integer(layer.capacity)),
        _ => Ok(()),
    }
}
