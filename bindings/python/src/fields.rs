//! `fields`: the HTTP fields that tell a client its limits.

use core::num::NonZero;
use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use ratecell::Policy;
use ratecell::fields::{Answer, Fields, LayerNumbers, Style, Styles, Unit};

use crate::arguments::{NowUnix, text, wrong_type};
use crate::decision::Decision;
use crate::limiter::Limiter;

/// The names of a limiter's policy in HTTP fields.
///
/// `name` is 1 to 256 characters of printable ASCII; of several layers, the first is called name-1, the second name-2
/// and so on. Without a name, each layer is called by its text. `unit` is what the policy counts: "requests",
/// "content-bytes" or "concurrent-requests". `partition` is at most 256 bytes that tell apart the clients that the
/// limit is for. Every client that asks reads it: put no address in it, nor a hash of one without a key.
///
/// Raises ValueError, whose text begins with "bad_name", "bad_unit" or "bad_partition", for what no field can carry.
#[pyclass(frozen, eq, hash, module = "ratecell")]
#[derive(PartialEq, Eq, Hash, Default)]
pub(crate) struct Label {
    name: Option<String>,
    unit: Unit,
    partition: Option<Vec<u8>>,
}

impl Label {
    /// The label as the fields take it.
    fn borrowed(&self) -> PyResult<ratecell::fields::Label<'_>> {
        let mut label = ratecell::fields::Label::new().unit(self.unit);
        if let Some(name) = &self.name {
            label = label.named(name).map_err(refused)?;
        }
        if let Some(partition) = &self.partition {
            label = label.partition(partition).map_err(refused)?;
        }
        Ok(label)
    }
}

#[pymethods]
impl Label {
    #[new]
    #[pyo3(
        signature = (name=None, *, unit=None, partition=None),
        text_signature = "(name=None, *, unit='requests', partition=None)"
    )]
    fn new(
        name: Option<&Bound<'_, PyAny>>,
        unit: Option<&Bound<'_, PyAny>>,
        partition: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let mut label = Self::default();
        if let Some(name) = name {
            label.name = Some(text("name", name)?.to_owned());
            label.borrowed()?;
        }
        if let Some(unit) = unit {
            label.unit = text("unit", unit)?.parse().map_err(refused)?;
        }
        if let Some(partition) = partition {
            let bytes = partition.cast::<PyBytes>();
            let bytes = bytes.map_err(|_| wrong_type("partition", partition.as_borrowed(), "bytes"))?;
            label.partition = Some(bytes.as_bytes().to_owned());
            label.borrowed()?;
        }
        Ok(label)
    }

    /// The policy's name, or None.
    #[getter]
    fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// What the policy counts.
    #[getter]
    fn unit(&self) -> &'static str {
        self.unit.name()
    }

    /// The partition of the clients, or None.
    #[getter]
    fn partition(&self) -> Option<&[u8]> {
        self.partition.as_deref()
    }

    fn __repr__(&self) -> String {
        let name = self.name.as_ref().map_or_else(|| "None".to_owned(), |name| format!("{name:?}"));
        format!("<Label {name}: unit={}>", self.unit.name())
    }
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn refused(error: ratecell::fields::LabelError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// One layer of a policy: its text, units in a period, the period in nanoseconds or None, and its capacity.
pub(crate) type LayerParts = (String, u64, Option<NonZero<u64>>, u64);

/// The policy of an answer.
pub(crate) enum Source<'py> {
    /// That of a limiter.
    Limiter(Bound<'py, Limiter>),
    /// One that stands for layers of these numbers.
    Layers(Vec<LayerParts>),
}

impl<'py> FromPyObject<'_, 'py> for Source<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match object.cast::<Limiter>() {
            Ok(limiter) => Ok(Self::Limiter(limiter.to_owned())),
            Err(_) => object
                .extract()
                .map(Self::Layers)
                .map_err(|_| wrong_type("limiter", object, "Limiter, or a list of layers")),
        }
    }
}

/// The HTTP fields in these styles for `answers`, each (limiter, decision, label or None), as (name, value). In place
/// of a limiter there may be the layers of its policy: (text, limit, period_ns or None, capacity) of each.
#[pyfunction]
pub(crate) fn fields(
    answers: Vec<(Source<'_>, Bound<'_, Decision>, Option<Bound<'_, Label>>)>,
    styles: Vec<String>,
    now_unix_ns: NowUnix,
) -> PyResult<Vec<(&'static str, String)>> {
    let styles = chosen(&styles)?;
    let origins = answers.iter().map(|(source, ..)| Origin::of(source)).collect::<Vec<_>>();
    let answers = answers.iter().zip(&origins).map(|((_, decision, label), origin)| {
        let decision = decision.get().value();
        let label = label.as_ref().map_or_else(|| Ok(Default::default()), |label| label.get().borrowed())?;
        if decision.layer() >= origin.layers() {
            return Err(PyValueError::new_err(format!(
                "the decision names layer {} of {}: expected a decision of the same limiter",
                decision.layer(),
                origin.layers()
            )));
        }
        Ok(match origin {
            Origin::Policy(policy) => Answer::of(policy, label, decision),
            Origin::Layers(layers) => Answer::new(&**layers, label, decision),
        })
    });
    let answers = answers.collect::<PyResult<Vec<_>>>()?;
    let fields = Fields::new(styles, &answers, now_unix_ns.0);
    Ok(fields.iter().map(|(name, value)| (name, value.to_string())).collect())
}

/// The policy of an answer, as it is now.
enum Origin<'a> {
    Policy(Arc<Policy>),
    Layers(Vec<LayerNumbers<'a>>),
}

impl<'a> Origin<'a> {
    fn of(source: &'a Source<'_>) -> Self {
        match source {
            Source::Limiter(limiter) => Self::Policy(limiter.get().policy_of()),
            Source::Layers(layers) => Self::Layers(layers.iter().map(numbers).collect()),
        }
    }

    fn layers(&self) -> usize {
        match self {
            Self::Policy(policy) => policy.layers().len(),
            Self::Layers(layers) => layers.len(),
        }
    }
}

fn numbers((text, limit, period_ns, capacity): &LayerParts) -> LayerNumbers<'_> {
    LayerNumbers { text, limit: *limit, period_ns: *period_ns, capacity: *capacity }
}

/// The styles of these names.
pub(crate) fn chosen(names: &[String]) -> PyResult<Styles> {
    let mut styles: Option<Styles> = None;
    for name in names {
        let Some(style) = Style::from_name(name) else {
            let known = Style::ALL.map(Style::name).join(", ");
            return Err(PyValueError::new_err(format!("no style is called {name:?}: expected {known}")));
        };
        styles = Some(match styles {
            None => style.into(),
            Some(earlier) => earlier.and(style).map_err(|error| PyValueError::new_err(error.to_string()))?,
        });
    }
    styles.ok_or_else(|| PyValueError::new_err("styles is empty: expected one or more"))
}
