//! Which run of which machine a clock belongs to, by three witnesses.
//!
//! | witness | what it says |
//! | --- | --- |
//! | boot id | the same or another. It can be hidden, as all of /proc/sys |
//! | CLOCK_MONOTONIC | behind what was seen of a boot, it is another's: within one it never goes back |
//! | start of the machine, by the wall clock | far from what it was, it is another's, unless the wall clock was set |
//!
//! Where both boot ids are known, they decide, and the clocks are not asked. Otherwise either clock can say that
//! it is another boot. Both errors are bounded:
//!
//! - *One boot taken for two.* The region's clock is set by the wall clock. If nobody has set that since, this is what
//!   the region's clock tells anyway. If it was set forward, each key may be admitted its burst once more: so a
//!   start that moved forward is believed only by more than any automatic correction ([`WALL_STEP`]), and by at least
//!   as long as the boot was seen to run, which a restart always does. If it was set back, too much is denied.
//! - *Two boots taken for one.* The region's clock misses the time between them, so it does not admit too much. It is
//!   late by no more than [`WALL_STEP`], or than the first boot was seen to run.

use core::fmt;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use crate::clock::Reading;

/// Nanoseconds by which a wall clock is corrected without being asked: ntpd, which corrects most, gives up beyond
/// 1,000 s (its panic threshold).
const WALL_STEP: i64 = 1_000_000_000_000;
/// Nanoseconds by which the clocks of two time namespaces may differ against the wall clock and still be one.
const NAMESPACE_TOLERANCE: u64 = 1_000_000_000;

/// Where the monotonic clock of this process comes from. What the system does not tell is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Boot {
    /// Of the machine's run.
    pub(super) id: [u64; 2],
    /// Of the time namespace.
    pub(super) namespace: u64,
}

impl Boot {
    pub(super) fn here() -> Self {
        let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let namespace = fs::read_link("/proc/self/ns/time").unwrap_or_default();
        Self { id: uuid(&id), namespace: number(namespace.as_os_str().as_bytes()) }
    }
}

/// What is known of a boot at some time in it: nanoseconds, and 0 for what is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sight {
    pub(super) boot: Boot,
    /// The latest CLOCK_MONOTONIC that was seen.
    pub(super) monotonic: u64,
    /// When that clock was 0, by the wall clock, since 1970. Each suspension moves it.
    pub(super) monotonic_zero: u64,
    /// When CLOCK_BOOTTIME was 0, by the wall clock, since 1970.
    pub(super) started: u64,
}

/// What a region is kept in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Medium {
    /// It ends with the boot, unless the caller has mapped a file: the wall clock, which may have been set, is not asked.
    Memory,
    /// It outlives the boot.
    File,
}

/// What one sight is to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    /// The same clock.
    Same,
    OtherBoot,
    /// One boot, and a time namespace whose clock tells another time.
    OtherNamespace,
}

impl Sight {
    pub(super) fn here() -> Self {
        let Reading { wall, monotonic, boottime } = Reading::now();
        Self {
            boot: Boot::here(),
            monotonic,
            monotonic_zero: wall.wrapping_sub(monotonic),
            started: wall.wrapping_sub(boottime),
        }
    }

    /// What the boot that a region in `medium` has seen so is, to one who sees `here`.
    pub(super) fn relation(&self, here: &Self, medium: Medium) -> Relation {
        let known = |ids: [[u64; 2]; 2]| !ids.contains(&[0, 0]);
        let ids_known = known([self.boot.id, here.boot.id]);
        if ids_known && self.boot.id != here.boot.id || !ids_known && self.clocks_differ(here, medium) {
            return Relation::OtherBoot;
        }
        let other = match [self.boot.namespace, here.boot.namespace] {
            // A system without time namespaces tells none. The wall clock is not believed; a clock that has gone back is
            // another.
            [0, 0] => ids_known && here.monotonic < self.monotonic,
            [0, _] | [_, 0] => self.clocks_differ(here, medium) && ids_known,
            [held, own] => {
                // The wall clock is not believed within one namespace: it may have been set.
                held != own && self.monotonic_zero.abs_diff(here.monotonic_zero) > NAMESPACE_TOLERANCE
            }
        };
        if other { Relation::OtherNamespace } else { Relation::Same }
    }

    /// Whether the clocks alone say that what was seen here is not what was seen `here`.
    fn clocks_differ(&self, here: &Self, medium: Medium) -> bool {
        if medium == Medium::Memory {
            return here.monotonic < self.monotonic;
        }
        let (then, now) = match self.started {
            0 => (self.monotonic_zero, here.monotonic_zero),
            started => (started, here.started),
        };
        let later = now.wrapping_sub(then).cast_signed();
        let ran = i64::try_from(self.monotonic).unwrap_or(i64::MAX);
        here.monotonic < self.monotonic || later < -WALL_STEP || later > WALL_STEP.max(ran)
    }
}

/// The boot id, and where it is not known what the clocks say.
impl fmt::Display for Sight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SECOND: u64 = 1_000_000_000;
        let [id, more_id] = self.boot.id;
        if self.boot.id == [0, 0] {
            let (ran, zero) = (self.monotonic / SECOND, self.monotonic_zero / SECOND);
            write!(f, "without an id, seen at {ran} s of its clock, whose 0 is {zero} s after 1970")
        } else {
            write!(f, "{id:016x}{more_id:016x}")
        }
    }
}

/// The hexadecimal digits of a UUID.
fn uuid(text: &str) -> [u64; 2] {
    let digits: String = text.chars().filter(char::is_ascii_hexdigit).collect();
    let half = |range| digits.get(range).and_then(|half| u64::from_str_radix(half, 16).ok()).unwrap_or(0);
    [half(0..16), half(16..32)]
}

/// The number in `time:[4026531834]`.
fn number(link: &[u8]) -> u64 {
    let digits = link.iter().filter(|byte| byte.is_ascii_digit());
    digits.fold(0, |number: u64, digit| number.wrapping_mul(10).wrapping_add(u64::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn what_the_system_tells_is_read() {
        let id = uuid("01234567-89ab-cdef-fedc-ba9876543210\n");
        assert_eq!(id, [0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210]);
        assert_eq!(uuid("none"), [0, 0]);
        assert_eq!(number(b"time:[4026531834]"), 4_026_531_834);
        assert_eq!(number(b""), 0);
        assert_eq!(Boot::here(), Boot::here());
        let before = Sight::here();
        assert_eq!(before.relation(&Sight::here(), Medium::File), Relation::Same);
    }

    const BOOT: Boot = Boot { id: [1, 2], namespace: 7 };
    const NEXT: Boot = Boot { id: [3, 4], namespace: 7 };
    const HIDDEN: Boot = Boot { id: [0, 0], namespace: 0 };

    /// A machine that started at `started`, `seconds` of that ago, of which it was suspended for `suspended`.
    fn sight(boot: Boot, started: u64, seconds: u64, suspended: u64) -> Sight {
        Sight {
            boot,
            monotonic: (seconds - suspended) * SECOND,
            monotonic_zero: (started + suspended) * SECOND,
            started: started * SECOND,
        }
    }

    const START: u64 = 1_700_000_000;

    #[test]
    fn boot_ids_decide_where_both_are_known() {
        let held = sight(BOOT, START, 100_000, 0);
        for started in [START - 9_000_000, START, START + 9_000_000] {
            for seconds in [1, 100_000, 200_000] {
                assert_eq!(held.relation(&sight(BOOT, started, seconds, 0), Medium::File), Relation::Same);
                assert_eq!(
                    held.relation(&sight(NEXT, started, seconds, 0), Medium::File),
                    Relation::OtherBoot
                );
            }
        }
    }

    #[test]
    fn without_time_namespaces_the_wall_clock_is_not_believed() {
        let boot = Boot { namespace: 0, ..BOOT };
        let held = sight(boot, START, 20, 0);
        for started in [START - 9_000_000, START + 2_000, START + 9_000_000] {
            assert_eq!(held.relation(&sight(boot, started, 5_000, 0), Medium::File), Relation::Same);
        }
        assert_eq!(held.relation(&sight(boot, START, 19, 0), Medium::File), Relation::OtherNamespace);
    }

    #[test]
    fn clocks_decide_where_either_id_is_hidden() {
        for [then, now] in [[HIDDEN, HIDDEN], [HIDDEN, BOOT], [BOOT, HIDDEN]] {
            let relation =
                |held: Sight, started, seconds| held.relation(&sight(now, started, seconds, 0), Medium::File);
            let held = sight(then, START, 100_000, 0);
            assert_eq!(relation(held, START, 100_000), Relation::Same);
            assert_eq!(relation(held, START, 900_000), Relation::Same);
            // It has run for less long than was seen.
            assert_eq!(relation(held, START, 99_999), Relation::OtherBoot);
            // The wall clock is corrected, or set forward by less than a restart would take.
            for step in [-1_000, 1_000, 99_999] {
                assert_eq!(
                    relation(held, START.wrapping_add_signed(step), 100_001),
                    Relation::Same,
                    "{step}"
                );
            }
            // A restart; or a file from a machine that started later.
            for step in [-1_001, 100_001, 9_000_000] {
                let started = START.wrapping_add_signed(step);
                assert_eq!(relation(held, started, 100_001), Relation::OtherBoot, "{step}");
            }
            // Opened once, soon after a start; and again as soon after the next, 100 days later.
            let held = sight(then, START, 20, 0);
            assert_eq!(relation(held, START + 8_640_000, 25), Relation::OtherBoot);
            assert_eq!(relation(held, START + 900, 25), Relation::Same);
        }
    }

    #[test]
    fn the_wall_clock_is_not_asked_of_memory() {
        let held = sight(HIDDEN, START, 100_000, 0);
        for step in [-9_000_000, -1_001, 100_001, 9_000_000] {
            let here = sight(HIDDEN, START.wrapping_add_signed(step), 100_001, 0);
            assert_eq!(held.relation(&here, Medium::Memory), Relation::Same, "{step}");
        }
        assert_eq!(held.relation(&sight(HIDDEN, START, 99_999, 0), Medium::Memory), Relation::OtherBoot);
        assert_eq!(held.relation(&sight(NEXT, START, 99_999, 0), Medium::Memory), Relation::OtherBoot);
        let named = sight(BOOT, START, 100_000, 0);
        assert_eq!(named.relation(&sight(NEXT, START, 100_001, 0), Medium::Memory), Relation::OtherBoot);
    }

    #[test]
    fn a_suspended_machine_has_not_started_anew() {
        let held = sight(HIDDEN, START, 2_000, 0);
        let woken = sight(HIDDEN, START, 90_000, 80_000);
        assert_eq!(held.relation(&woken, Medium::File), Relation::Same);
        // A region without that word goes by the monotonic clock, for which the wall clock has moved on.
        assert_eq!(Sight { started: 0, ..held }.relation(&woken, Medium::File), Relation::OtherBoot);
        assert_eq!(
            Sight { started: 0, ..held }.relation(&sight(HIDDEN, START, 2_001, 0), Medium::File),
            Relation::Same
        );
    }

    #[test]
    fn a_region_that_remembers_nothing_goes_by_the_wall_clock() {
        let held = Sight { monotonic: 0, started: 0, ..sight(HIDDEN, START, 100_000, 0) };
        assert_eq!(held.relation(&sight(HIDDEN, START, 5, 0), Medium::File), Relation::Same);
        assert_eq!(held.relation(&sight(HIDDEN, START + 1_001, 5, 0), Medium::File), Relation::OtherBoot);
    }

    #[test]
    fn another_time_namespace_is_another_clock_of_one_boot() {
        let there = Boot { namespace: 8, ..BOOT };
        let held = sight(BOOT, START, 100_000, 0);
        assert_eq!(held.relation(&sight(there, START, 100_000, 0), Medium::File), Relation::Same);
        assert_eq!(
            held.relation(&sight(there, START - 2, 100_002, 0), Medium::File),
            Relation::OtherNamespace
        );
        // Unknown, it is judged by the clocks as a boot is.
        let unknown = Boot { namespace: 0, ..BOOT };
        assert_eq!(held.relation(&sight(unknown, START - 2, 100_002, 0), Medium::File), Relation::Same);
        assert_eq!(
            held.relation(&sight(unknown, START - 90_000, 190_000, 0), Medium::File),
            Relation::OtherNamespace
        );
        // Without an id, one that tells another time is as another boot.
        let nameless = Boot { id: [0, 0], ..there };
        assert_eq!(
            held.relation(&sight(nameless, START - 2, 100_002, 0), Medium::File),
            Relation::OtherNamespace
        );
        assert_eq!(
            held.relation(&sight(nameless, START - 90_000, 190_000, 0), Medium::File),
            Relation::OtherBoot
        );
    }

    #[test]
    fn any_words_in_a_region_are_compared() {
        let here = sight(HIDDEN, START, 86_400, 0);
        for monotonic in [0, 1, u64::MAX / 2, u64::MAX] {
            for started in [0, 1, u64::MAX / 2, u64::MAX] {
                let held = Sight { boot: HIDDEN, monotonic, monotonic_zero: started, started };
                assert_eq!(held.relation(&here, Medium::File), Relation::OtherBoot, "{held:?}");
            }
        }
    }
}
