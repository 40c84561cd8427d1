//! The time zone database of the system.

use alloc::string::ToString;
use alloc::vec::Vec;

use jiff::tz::{TimeZone, TimeZoneDatabase};

/// Where systems have it.
pub(super) const FOLDER: &str = "/usr/share/zoneinfo";

/// A database in a folder, with the names that it had when it was opened.
pub(super) struct System {
    database: TimeZoneDatabase,
    names: Vec<&'static str>,
}

impl System {
    /// That in the folder `path`; without a zone if there is none. For once in a process: its names are never freed.
    pub(super) fn in_folder(path: &str) -> Self {
        let database = TimeZoneDatabase::from_dir(path).unwrap_or_else(|_| TimeZoneDatabase::none());
        let names = database.available().map(|name| &*name.to_string().leak()).collect();
        Self { database, names }
    }

    /// The zone of this name, whatever its case: its spelling and its rules.
    pub(super) fn get(&self, name: &str) -> Option<(&'static str, TimeZone)> {
        let name = self.names().find(|known| known.eq_ignore_ascii_case(name))?;
        Some((name, self.database.get(name).ok()?))
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.names.iter().copied()
    }

    /// What is expected in the place of a name that is none.
    pub(super) fn expected(&self) -> &'static str {
        if self.names.is_empty() {
            "expected UTC or an offset such as +05:30, as this system has no time zones in /usr/share/zoneinfo (Debian: tzdata)"
        } else {
            super::EXPECTED
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "interpreted, all zones take an hour")]
    fn zones_are_spelled_as_the_system_spells_them() {
        let system = System::in_folder(FOLDER);
        let (name, zone) = system.get("europe/berlin").expect("tzdata is installed");
        let summer = jiff::Timestamp::from_second(1_750_000_000).expect("an instant");
        assert_eq!((name, zone.to_offset(summer).seconds()), ("Europe/Berlin", 7_200));
        assert!(system.get("Europe/Atlantis").is_none());
        assert!(system.names().all(|name| system.get(name).is_some()));
        assert_eq!(system.expected(), super::super::EXPECTED);
    }

    #[test]
    fn a_system_without_zones_is_told() {
        let none = System::in_folder("/nowhere/at/all");
        assert!(none.get("Europe/Berlin").is_none());
        assert!(none.expected().contains("no time zones in /usr/share/zoneinfo"));
    }
}
