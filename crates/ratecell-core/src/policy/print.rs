//! Policies as text: what the parser reads back as the same policy.

use core::fmt;

use crate::algorithm::Spec;
use crate::algorithm::params::{COMMON_OPTIONS, FLAGS, Field, Mode, Params, Start};
use crate::algorithm::words::whole_units;
use crate::zone::{HoursMinutes, Weekday};

pub(super) fn layer(f: &mut fmt::Formatter<'_>, form: &Spec, params: &Params) -> fmt::Result {
    if form.name != "gcra" {
        write!(f, "{} ", form.name)?;
    }
    (form.quota.print)(params, f)?;
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
            Field::Tz(Some(tz)) => write!(f, " {name}={tz}")?,
            Field::Time(Some(minutes)) => write!(f, " {name}={}", HoursMinutes(*minutes))?,
            Field::Weekday(Some(day)) => write!(f, " {name}={}", name_of(day, &Weekday::NAMES))?,
            Field::Day(Some(day)) => write!(f, " {name}={day}")?,
            Field::Units(None)
            | Field::DurationNs(None)
            | Field::Flag(None)
            | Field::Mode(None)
            | Field::Start(None)
            | Field::Tz(None)
            | Field::Time(None)
            | Field::Weekday(None)
            | Field::Day(None) => {}
        }
    }
    Ok(())
}

fn name_of<T: PartialEq>(value: &T, names: &[(&'static str, T)]) -> &'static str {
    names.iter().find(|(_, named)| named == value).map_or("", |(name, _)| name)
}
