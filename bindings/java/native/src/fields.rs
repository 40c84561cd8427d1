//! The HTTP fields that tell a client its limits.

use core::num::NonZero;
use std::sync::Arc;

use ratecell::Policy;
use ratecell::fields::{Answer, Fields, Label, LayerNumbers, Style, Styles};

use crate::fault::Fault;
use crate::message::{Reader, Writer};
use crate::{decision, limiter};

fn label<'a>(reader: &mut Reader<'a>) -> Result<Label<'a>, Fault> {
    let refused = |error: ratecell::fields::LabelError| Fault::argument(error.to_string());
    let mut label = Label::new();
    if let Some(name) = reader.maybe(Reader::text)? {
        label = label.named(name).map_err(refused)?;
    }
    if let Some(unit) = reader.maybe(Reader::text)? {
        label = label.unit(unit.parse().map_err(refused)?);
    }
    match reader.maybe(Reader::bytes)? {
        Some(partition) => label.partition(partition).map_err(refused),
        None => Ok(label),
    }
}

/// A label that no field could carry is a fault.
pub(crate) fn check_label(reader: &mut Reader<'_>, _: &mut Writer) -> Result<(), Fault> {
    label(reader).map(drop)
}

/// The styles of these names.
pub(crate) fn styles(reader: &mut Reader<'_>) -> Result<Styles, Fault> {
    let mut styles: Option<Styles> = None;
    for name in reader.several(Reader::text)? {
        let Some(style) = Style::from_name(name) else {
            let known = Style::ALL.map(Style::name).join(", ");
            return Err(Fault::argument(format!("no style is called {name:?}: expected {known}")));
        };
        styles = Some(match styles {
            None => style.into(),
            Some(earlier) => earlier.and(style).map_err(|error| Fault::argument(error.to_string()))?,
        });
    }
    styles.ok_or_else(|| Fault::argument("styles is empty: expected one or more"))
}

/// Styles that no answer could have together are a fault.
pub(crate) fn check_styles(reader: &mut Reader<'_>, _: &mut Writer) -> Result<(), Fault> {
    styles(reader).map(drop)
}

/// The policy of an answer: that of a limiter as it is now, or the numbers of its layers.
enum Origin<'a> {
    Policy(Arc<Policy>),
    Layers(Vec<LayerNumbers<'a>>),
}

impl<'a> Origin<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, Fault> {
        if reader.flag()? {
            return Ok(Self::Policy(limiter::read(reader)?.core.policy()));
        }
        let layers = reader.several(|reader| {
            Ok(LayerNumbers {
                text: reader.text()?,
                limit: reader.u64()?,
                period_ns: NonZero::new(reader.u64()?),
                capacity: reader.u64()?,
            })
        });
        layers.map(Self::Layers)
    }

    fn layers(&self) -> usize {
        match self {
            Self::Policy(policy) => policy.layers().len(),
            Self::Layers(layers) => layers.len(),
        }
    }
}

/// The fields in these styles of answers, each of an origin, a decision and a label.
pub(crate) fn fields(reader: &mut Reader<'_>, writer: &mut Writer) -> Result<(), Fault> {
    let (styles, now_unix_ns) = (styles(reader)?, reader.u64()?);
    let parts = reader.several(|reader| {
        let (origin, told) = (Origin::read(reader)?, decision::read(reader)?);
        let label = reader.maybe(label)?.unwrap_or_default();
        if told.layer() >= origin.layers() {
            return Err(Fault::argument(format!(
                "the decision names layer {} of {}: expected a decision of the same limiter",
                told.layer(),
                origin.layers()
            )));
        }
        Ok((origin, told, label))
    })?;
    let answers = parts.iter().map(|(origin, told, label)| match origin {
        Origin::Policy(policy) => Answer::of(policy, *label, *told),
        Origin::Layers(layers) => Answer::new(&**layers, *label, *told),
    });
    let answers: Vec<_> = answers.collect();
    let fields = Fields::new(styles, &answers, now_unix_ns);
    write_fields(writer, fields.iter().map(|(name, value)| (name, value.to_string())).collect());
    Ok(())
}

pub(crate) fn write_fields(writer: &mut Writer, fields: Vec<(&'static str, String)>) {
    writer.count(fields.len());
    for (name, value) in fields {
        writer.text(name);
        writer.text(&value);
    }
}
