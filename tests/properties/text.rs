//! Policies as text.

use core::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use ratecell::{Policy, PolicyError, PolicyErrorKind};

use crate::cases;
use crate::policies::{Heal, policies};

/// What policies are made of, and what they are not.
const PIECES: [&str; 88] = [
    "gcra",
    "token_bucket",
    "leaky_meter",
    "leaky_queue",
    "sliding_window",
    "sliding_log",
    "fixed_window",
    "calendar_window",
    "in_flight",
    "tz=UTC",
    "hold=",
    "burst=",
    "capacity=",
    "queue=",
    "mode=",
    "strict=",
    "start=",
    "offset=",
    "heal=",
    "horizon=",
    "continuous",
    "interval",
    "interval_first",
    "true",
    "false",
    "aligned",
    "first",
    "0",
    "1",
    "5",
    "64",
    "1000",
    "4294967295",
    "4294967296",
    "18446744073709551616",
    "/",
    "/",
    "/",
    "ns",
    "us",
    "ms",
    "s",
    "m",
    "h",
    "d",
    "w",
    "1s",
    "1m",
    "10/s",
    "5/1m",
    " ",
    " ",
    " ",
    "  ",
    "\t",
    "\n",
    "&",
    " & ",
    "=",
    "-1",
    "é",
    "\u{2003}",
    "burst=7",
    "\0",
    "per",
    " per ",
    " per minute",
    "10r/s",
    "r",
    "r/",
    "sec",
    "seconds",
    "hour",
    "days",
    "month",
    "M",
    "S",
    ".",
    "0.5",
    "2.5",
    ".000000001",
    "_",
    "1_000",
    ",",
    "1k",
    "1e3",
    "rps",
    "+",
];

/// The units, smallest first, with each of their names.
const UNITS: [(u64, &[&str]); 8] = [
    (1, &["ns", "nanosecond", "nanoseconds"]),
    (1_000, &["us", "microsecond", "microseconds"]),
    (1_000_000, &["ms", "millisecond", "milliseconds"]),
    (1_000_000_000, &["s", "sec", "secs", "second", "seconds"]),
    (60_000_000_000, &["m", "min", "mins", "minute", "minutes"]),
    (3_600_000_000_000, &["h", "hr", "hrs", "hour", "hours"]),
    (86_400_000_000_000, &["d", "day", "days"]),
    (604_800_000_000_000, &["w", "week", "weeks"]),
];

/// One of several ways to write what is printed in one: a word of choices decides each time.
struct Writer(u64);

impl Writer {
    fn choose<T: Copy>(&mut self, from: &[T]) -> T {
        let count = from.len() as u64;
        let chosen = from[usize::try_from(self.0 % count).expect("an index")];
        // What is left of the choices, and something else when they are used up.
        self.0 = (self.0 / count) ^ (self.0.rotate_right(17));
        chosen
    }

    /// Underscores between some of the digits.
    fn number(&mut self, digits: &str) -> String {
        let mut written = String::new();
        for (at, digit) in digits.chars().enumerate() {
            if at > 0 && self.choose(&[false, false, true]) {
                written.push('_');
            }
            written.push(digit);
        }
        written
    }

    /// A count, if it is there, and a unit.
    fn duration(&mut self, printed: &str, space: &str) -> String {
        let digits = printed.find(|c: char| !c.is_ascii_digit()).expect("a unit");
        let (count, unit) = printed.split_at(digits);
        // A period of the calendar has one name and no count.
        let Some((_, names)) = UNITS.iter().find(|(_, names)| names[0] == unit) else {
            return printed.to_owned();
        };
        let count = if count.is_empty() { self.choose(&["", "1", "01"]) } else { count };
        let space = if count.is_empty() { "" } else { space };
        format!("{}{space}{}", self.number(count), self.choose(names))
    }

    fn quota(&mut self, printed: &str) -> String {
        let (limit, period) = printed.split_once('/').expect("a quota");
        let separator = self.choose(&["/", " / ", "\t/", "r/", " r / ", "r /", " per ", "\nper  ", "r per "]);
        let space = self.choose(&["", "", " "]);
        format!("{}{separator}{}", self.number(limit), self.duration(period, space))
    }

    fn policy(&mut self, printed: &str) -> String {
        let layers = printed.split(" & ").map(|layer| {
            let words = layer.split(' ').map(|word| match word.split_once('=') {
                None if word.contains('/') => self.quota(word),
                None => word.to_owned(),
                Some((name, value)) if value.bytes().all(|byte| byte.is_ascii_digit()) => {
                    format!("{name}={}", self.number(value))
                }
                Some((name @ ("offset" | "heal" | "hold" | "horizon"), value)) => {
                    format!("{name}={}", self.duration(value, ""))
                }
                Some(_) => word.to_owned(),
            });
            words.collect::<Vec<_>>().join(" ")
        });
        let layers: Vec<_> = layers.collect();
        layers.join(self.choose(&["&", " & ", " &\n"]))
    }
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

proptest! {
    #![proptest_config(cases(50_000))]

    #[test]
    fn a_printed_policy_reads_back_as_itself(accepted in policies(Heal::Sometimes)) {
        let printed = accepted.policy.to_string();
        let read = printed.parse::<Policy>();
        prop_assert_eq!(read.as_ref(), Ok(&accepted.policy), "{}", printed);
        prop_assert_eq!(read.map(|policy| policy.to_string()), Ok(printed));
    }

    #[test]
    fn every_way_to_write_a_policy_reads_as_itself(accepted in policies(Heal::Sometimes), choices in any::<u64>()) {
        let written = Writer(choices).policy(&accepted.policy.to_string());
        let read = written.parse::<Policy>();
        prop_assert_eq!(read.as_ref(), Ok(&accepted.policy), "{}", written);
    }

    #[test]
    fn a_decimal_is_the_ratio_in_lowest_terms(
        whole in 0_u64..100_000, fraction in "[0-9]{1,9}", count in 1_u64..1_000, unit in prop::sample::select(&UNITS[..])
    ) {
        let (unit_ns, names) = unit;
        let text = format!("{whole}.{fraction}/{count}{}", names[0]);
        let ten_to = 10_u64.pow(u32::try_from(fraction.len()).expect("at most 9"));
        let digits = whole * ten_to + fraction.parse::<u64>().expect("digits");
        let divisor = greatest_common_divisor(digits, ten_to);
        let limit = u32::try_from(digits / divisor);
        let period = Duration::from_nanos(count * unit_ns).checked_mul(u32::try_from(ten_to / divisor).expect("at most 10^9"));
        match (text.parse::<Policy>(), limit, period) {
            (read, Ok(limit), Some(period)) => {
                let built = Policy::gcra(limit, period).build();
                prop_assert_eq!(read.as_ref().ok(), built.as_ref().ok(), "{}", text);
                prop_assert_eq!(read.map_err(|error| error.kind()).err(), built.map_err(|error| error.kind()).err(), "{}", text);
            }
            (read, ..) => prop_assert_eq!(read.map_err(|error| error.kind()), Err(PolicyErrorKind::Range), "{}", text),
        }
    }

    #[test]
    fn text_and_constructors_make_the_same_policies(accepted in policies(Heal::Sometimes)) {
        let built: Result<Vec<_>, _> = accepted.layers.iter().map(|layer| layer.build()).collect();
        let built = built.and_then(Policy::all);
        prop_assert_eq!(built.as_ref(), Ok(&accepted.policy));
        let text = accepted.policy.to_string();
        prop_assert!(built.is_ok_and(|policy| policy.resolved().eq(accepted.policy.resolved())), "{}", text);
    }

    #[test]
    fn any_string_is_a_policy_or_a_placed_error(text in "(?s).*") {
        if let Err(error) = text.parse::<Policy>() {
            check_error(&text, &error)?;
        }
    }

    #[test]
    fn any_grammar_soup_is_a_policy_or_a_placed_error(pieces in vec(prop::sample::select(&PIECES[..]), 0..14)) {
        let text = pieces.concat();
        match text.parse::<Policy>() {
            Ok(policy) => prop_assert_eq!(policy.to_string().parse(), Ok(policy)),
            Err(error) => check_error(&text, &error)?,
        }
    }
}

/// One line, that names a column within the text or at its end; only the number of layers has no place.
fn check_error(text: &str, error: &PolicyError) -> Result<(), TestCaseError> {
    match error.column() {
        Some(column) => {
            prop_assert!(column >= 1 && text.is_char_boundary(column - 1), "column {} of {:?}", column, text);
        }
        None => prop_assert_eq!(error.kind(), PolicyErrorKind::BadLayers),
    }
    prop_assert!(!error.to_string().contains('\n'), "{:?}", error.to_string());
    Ok(())
}
