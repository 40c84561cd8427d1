//! What errors advise to write, put in place of what they name.

use proptest::prelude::*;
use ratecell_core::{Policy, PolicyError};

/// Whether an error advises the whole quota, or what stands where it points.
fn is_quota(advised: &str) -> bool {
    advised.contains('/')
}

/// `text` with what the error advises, if it advises anything.
fn followed(text: &str, error: &PolicyError) -> Option<String> {
    let message = error.to_string();
    let (named, advised) = message.rsplit_once("write ")?;
    if is_quota(advised) {
        let quota = text.split(" burst=").next().expect("a first part");
        return Some(text.replacen(quota, advised, 1));
    }
    let named = named.split('`').nth(1).expect("what is refused");
    let (before, behind) = text.split_at(error.column().expect("a place") - 1);
    // A duration of two words is named as one.
    let mut rest = behind;
    for expected in named.chars() {
        let at = rest.find(|c: char| c != ' ').expect("what is named");
        assert!(rest[at..].starts_with(expected), "{message} of {text}");
        rest = &rest[at + expected.len_utf8()..];
    }
    Some(format!("{before}{advised}{rest}"))
}

/// Checks that `text` is refused, that `meant` is what its advice makes of it, and that there is no advice if nothing
/// is known to be meant.
fn check(text: &str, meant: Option<&str>) -> Result<(), TestCaseError> {
    let Err(error) = text.parse::<Policy>() else { return Ok(()) };
    let Some(followed) = followed(text, &error) else { return Ok(()) };
    let Some(meant) = meant else {
        return Err(TestCaseError::fail(format!("{text}: {error}")));
    };
    let read = followed.parse::<Policy>();
    prop_assert!(read.is_ok(), "{}: {}, and then {}: {:?}", text, error, followed, read);
    prop_assert_eq!(read, meant.parse::<Policy>(), "{}: {}", text, error);
    Ok(())
}

/// Ways to spoil a number, and the power of ten that each stands for; `None` where nobody can say.
const SUFFIXES: [(&str, Option<u32>); 28] = [
    ("", Some(0)),
    ("r", Some(0)),
    ("R", Some(0)),
    ("req", Some(0)),
    ("Reqs", Some(0)),
    ("request", Some(0)),
    ("REQUESTS", Some(0)),
    ("k", Some(3)),
    ("K", Some(3)),
    ("M", Some(6)),
    ("G", Some(9)),
    ("e2", Some(2)),
    ("E+3", Some(3)),
    ("e-2", None),
    ("m", None),
    ("g", None),
    ("T", None),
    ("ki", None),
    ("Ki", None),
    ("kr", None),
    ("kreq", None),
    ("krps", None),
    ("MB", None),
    ("B", None),
    ("rr", None),
    ("reqreq", None),
    ("x", None),
    ("%", None),
];

/// `digits`, which may have a point, times a power of ten.
fn plain(digits: &str, power: u32) -> Option<String> {
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let power = usize::try_from(power).expect("small");
    let fraction = fraction.trim_end_matches('0');
    if power == 0 && !fraction.is_empty() {
        return Some(format!("{whole}.{fraction}"));
    }
    // Only what comes out whole is multiplied.
    (fraction.len() <= power).then(|| format!("{whole}{fraction:0<power$}"))
}

prop_compose! {
    /// A number of the grammar, and the same with a comma for its point or underscores where none may stand.
    fn numbers()(whole in 0_u32..2_000, fraction in prop::option::of("[0-9]{1,3}"), way in 0_usize..5) -> (String, String) {
        // Three digits behind a comma may be thousands.
        let fraction = fraction.filter(|fraction| way != 1 || whole == 0 || fraction.len() < 3);
        let plain = fraction.map_or_else(|| whole.to_string(), |fraction| format!("{whole}.{fraction}"));
        let spoiled = match way {
            0 => plain.clone(),
            1 => plain.replace('.', ","),
            2 => format!("{plain}_"),
            3 => format!("+{plain}"),
            _ => plain.strip_prefix('0').filter(|rest| rest.starts_with('.')).unwrap_or(&plain).to_owned(),
        };
        (plain, spoiled)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn the_limit_advised_is_the_one_meant((number, spoiled) in numbers(), (suffix, power) in prop::sample::select(&SUFFIXES[..])) {
        let meant = power.and_then(|power| plain(&number, power)).map(|number| format!("{number}/h burst=7"));
        check(&format!("{spoiled}{suffix}/h burst=7"), meant.as_deref())?;
    }

    #[test]
    fn the_burst_advised_is_the_one_meant((number, spoiled) in numbers(), (suffix, power) in prop::sample::select(&SUFFIXES[..])) {
        let meant = power.and_then(|power| plain(&number, power)).map(|number| format!("10/s burst={number}"));
        check(&format!("10/s burst={spoiled}{suffix}"), meant.as_deref())?;
    }

    #[test]
    fn the_rate_advised_is_the_one_meant(
        (number, spoiled) in numbers(), prefix in "[rqtk]?[rR]", unit in "[smhdSMHDx]",
        behind in prop::sample::select(&["", " burst=7", "/s", " per s", " / 5m"][..])
    ) {
        let lower = unit.to_ascii_lowercase();
        let known = prefix.len() == 1 && lower != "x" && !behind.contains('s') | behind.contains('=');
        let meant = known.then(|| format!("{number}/{lower}{behind}"));
        check(&format!("{spoiled}{prefix}p{unit}{behind}"), meant.as_deref())?;
    }

    #[test]
    fn the_duration_advised_is_the_one_meant(
        (number, spoiled) in numbers(), space in " ?", bare in any::<bool>(),
        (unit, lower) in prop::sample::select(&[
            ("s", "s"), ("S", "s"), ("H", "h"), ("Min", "m"), ("DAYS", "d"), ("Us", "us"), ("µs", "us"), ("ns", "ns"),
            ("h", "h"), ("months", "30d"), ("Y", "365d"), ("quarter", "90d"), ("x", ""), ("e3s", ""), ("hm", ""),
        ][..]),
        (before, behind) in prop::sample::select(&[("10/", ""), ("10 per ", " burst=7"), ("10/s heal=", "")][..])
    ) {
        let (spoiled, number) = if bare { (String::new(), "1".to_owned()) } else { (spoiled, number) };
        let text = format!("{before}{spoiled}{space}{unit}{behind}");
        let meant = duration(&number, lower).filter(|_| !(bare && before.contains('=') && lower.len() < 3)).map(|ns| format!("{before}{ns}ns{behind}"));
        check(&text, meant.as_deref())?;
    }

    /// No advice is refused, whatever it was given for.
    #[test]
    fn advice_is_accepted_where_it_stands(
        number in "[+.,_0-9]{0,5}[a-zA-Zµ]{0,3}", limit in any::<bool>(), option in prop::sample::select(&["burst", "heal", "horizon"][..])
    ) {
        let text = if limit { format!("{number}/h burst=1") } else { format!("10/s {option}={number}") };
        let refused = text.parse::<Policy>().err();
        if let Some((followed, error)) = refused.and_then(|error| Some((followed(&text, &error)?, error))) {
            let read = followed.parse::<Policy>();
            prop_assert!(read.is_ok(), "{}: {}, and then {}: {:?}", text, error, followed, read);
        }
    }
}

/// Nanoseconds of as many of a printed unit, if they are whole.
fn duration(number: &str, unit: &str) -> Option<u128> {
    let units =
        [("us", 1_000), ("ns", 1), ("s", 1_000_000_000), ("m", 60_000_000_000), ("h", 3_600_000_000_000)];
    let day = 86_400_000_000_000_u128;
    let ns = match unit {
        "" => return None,
        "d" => day,
        _ => match units.iter().find(|(name, _)| *name == unit) {
            Some((_, ns)) => *ns,
            None => unit.strip_suffix('d')?.parse::<u128>().ok()? * day,
        },
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits: u128 = format!("{whole}{fraction}").parse().ok()?;
    let product = digits * ns;
    let ten_to = 10_u128.pow(u32::try_from(fraction.len()).ok()?);
    product.is_multiple_of(ten_to).then_some(product / ten_to)
}
