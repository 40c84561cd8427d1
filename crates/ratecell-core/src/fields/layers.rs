//! The layers of a policy, as far as fields speak of them.

use core::fmt;
use core::num::NonZeroU64;

use super::NS_PER_SECOND;
use crate::policy::{Layer, Policy};
use crate::structured::Integer;

/// One layer by its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayerNumbers<'a> {
    /// Its name, where the policy has none: printable ASCII.
    pub text: &'a str,
    /// Units in each period.
    pub limit: u64,
    /// The period in nanoseconds; `None` where no fixed one says the rate.
    pub period_ns: Option<NonZeroU64>,
    /// The most units that can pass at one instant.
    pub capacity: u64,
}

/// The layers of a policy, in order: of a [`Policy`], or by their numbers.
#[derive(Clone, Copy, Debug)]
pub struct Layers<'a>(Source<'a>);

#[derive(Clone, Copy, Debug)]
enum Source<'a> {
    Policy(&'a Policy),
    Numbers(&'a [LayerNumbers<'a>]),
}

impl<'a> From<&'a Policy> for Layers<'a> {
    fn from(policy: &'a Policy) -> Self {
        Self(Source::Policy(policy))
    }
}

impl<'a> From<&'a [LayerNumbers<'a>]> for Layers<'a> {
    fn from(layers: &'a [LayerNumbers<'a>]) -> Self {
        Self(Source::Numbers(layers))
    }
}

impl<'a> Layers<'a> {
    pub(super) fn len(self) -> usize {
        match self.0 {
            Source::Policy(policy) => policy.layers().len(),
            Source::Numbers(layers) => layers.len(),
        }
    }

    pub(super) fn get(self, number: usize) -> Option<LayerFields<'a>> {
        match self.0 {
            Source::Policy(policy) => policy.layers().get(number).map(LayerFields::of_layer),
            Source::Numbers(layers) => layers.get(number).map(LayerFields::of_numbers),
        }
    }

    pub(super) fn iter(self) -> impl Iterator<Item = LayerFields<'a>> {
        (0..self.len()).filter_map(move |number| self.get(number))
    }

    /// The most units that can pass at one instant.
    pub(super) fn capacity(self) -> u64 {
        self.iter().map(|layer| layer.capacity).min().unwrap_or(0)
    }
}

/// One layer of either source.
#[derive(Clone, Copy, Debug)]
pub(super) struct LayerFields<'a> {
    pub(super) text: Text<'a>,
    limit: u64,
    pub(super) period_ns: Option<NonZeroU64>,
    pub(super) capacity: u64,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Text<'a> {
    Layer(&'a Layer),
    Given(&'a str),
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Layer(layer) => write!(f, "{layer}"),
            Self::Given(text) => f.write_str(text),
        }
    }
}

impl<'a> LayerFields<'a> {
    fn of_layer(layer: &'a Layer) -> Self {
        let (limit, period_ns) = layer.rate();
        let (text, period_ns) = (Text::Layer(layer), NonZeroU64::new(period_ns));
        Self { text, limit, period_ns, capacity: layer.capacity() }
    }

    fn of_numbers(layer: &LayerNumbers<'a>) -> Self {
        let LayerNumbers { text, limit, period_ns, capacity } = *layer;
        Self { text: Text::Given(text), limit, period_ns, capacity }
    }

    /// The rate as whole units in the fewest whole seconds that are whole periods; `None` where no pair of
    /// structured integers says it.
    pub(super) fn rate(self) -> Option<(u64, u64)> {
        let period_ns = self.period_ns?.get();
        // The greatest common divisor, by Euclid: so many nanoseconds are a whole part of either.
        let (mut part, mut rest) = (period_ns, NS_PER_SECOND);
        while rest > 0 {
            (part, rest) = (rest, part % rest);
        }
        let (quota, window) = (self.limit.checked_mul(NS_PER_SECOND / part)?, period_ns / part);
        (quota <= Integer::MAX && window <= Integer::MAX).then_some((quota, window))
    }
}
