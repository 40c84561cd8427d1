//! Policies as text: what the parser reads back as the same policy.

use core::fmt;

use super::parse::UNITS;
use crate::algorithm::Form;
use crate::algorithm::params::{COMMON_OPTIONS, FLAGS, Field, Mode, Params, Start};

pub(super) fn layer(f: &mut fmt::Formatter<'_>, form: &Form, params: &Params) -> fmt::Result {
    if form.name != "gcra" {
        write!(f, "{} ", form.name)?;
    }
    let WholeUnits(count, unit) = whole_units(params.period_ns);
    write!(f, "{}/", params.limit)?;
    if count != 1 {
        write!(f, "{count}")?;
    }
    f.write_str(unit)?;
    let mut params = *params;
    for key in form.options.iter().chain(&COMMON_OPTIONS) {
        let name = key.name();
        match params.field(*key) {
            Field::Units(Some(units)) => write!(f, " {name}={units}")?,
            Field::DurationNs(Some(ns)) => {
                write!(f, " {name}={}", whole_units(*ns))?;
            }
            Field::Flag(Some(flag)) => write!(f, " {name}={}", name_of(flag, &FLAGS))?,
            Field::Mode(Some(mode)) => write!(f, " {name}={}", name_of(mode, &Mode::NAMES))?,
            Field::Start(Some(start)) => write!(f, " {name}={}", name_of(start, &Start::NAMES))?,
            Field::Units(None)
            | Field::DurationNs(None)
            | Field::Flag(None)
            | Field::Mode(None)
            | Field::Start(None) => {}
        }
    }
    Ok(())
}

/// A duration in the largest unit that divides it.
#[derive(Clone, Copy, Debug)]
pub struct WholeUnits(u64, &'static str);

/// `ns` nanoseconds in the largest unit that divides them.
pub fn whole_units(ns: u64) -> WholeUnits {
    let largest = UNITS.iter().rev().find(|(_, unit)| ns >= *unit && ns.is_multiple_of(*unit));
    largest.map_or(WholeUnits(ns, "ns"), |(name, unit)| WholeUnits(ns / unit, name))
}

impl fmt::Display for WholeUnits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.0, self.1)
    }
}

fn name_of<T: PartialEq>(value: &T, names: &[(&'static str, T)]) -> &'static str {
    names.iter().find(|(_, named)| named == value).map_or("", |(name, _)| name)
}
