//! How figures are written in a terminal.

use std::time::Duration;

/// A count in groups of three digits.
pub(crate) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// So many of something each second: below 10 with one decimal.
pub(crate) fn rate(per_second: f64) -> String {
    if per_second > 0.0 && per_second < 9.95 {
        format!("{per_second:.1}")
    } else {
        grouped(per_second.round() as u64)
    }
}

/// A duration in its greatest unit.
pub(crate) fn short(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    let in_unit = |count: f64, unit: &str| {
        if count < 9.95 { format!("{count:.1} {unit}") } else { format!("{count:.0} {unit}") }
    };
    match duration.as_secs() {
        _ if duration.is_zero() => "0".to_owned(),
        0 if duration.as_millis() == 0 => in_unit(seconds * 1e6, "us"),
        0 => in_unit(seconds * 1e3, "ms"),
        1..60 => in_unit(seconds, "s"),
        60..3_600 => in_unit(seconds / 60.0, "min"),
        3_600..86_400 => in_unit(seconds / 3_600.0, "h"),
        _ => in_unit(seconds / 86_400.0, "d"),
    }
}

/// A number of a fraction of cells that is full.
pub(crate) fn filled(part: u64, whole: u64, cells: usize) -> usize {
    let full = u128::from(part.min(whole)) * cells as u128 / u128::from(whole.max(1));
    // What is used at all is seen.
    usize::try_from(full).unwrap_or(cells).max(usize::from(part > 0)).min(cells)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short_and_grouped() {
        for (count, text) in [(0, "0"), (999, "999"), (1_000, "1 000"), (1_234_567, "1 234 567")] {
            assert_eq!(grouped(count), text);
        }
        for (per_second, text) in [(0.0, "0"), (0.04, "0.0"), (9.94, "9.9"), (9.96, "10"), (1_234.5, "1 235")]
        {
            assert_eq!(rate(per_second), text);
        }
        for (ns, text) in [
            (0, "0"),
            (1_500, "1.5 us"),
            (12_300_000, "12 ms"),
            (3_400_000_000, "3.4 s"),
            (90_000_000_000, "1.5 min"),
            (7_200_000_000_000, "2.0 h"),
            (260_000_000_000_000, "3.0 d"),
        ] {
            assert_eq!(short(Duration::from_nanos(ns)), text);
        }
    }

    #[test]
    fn a_bar_is_full_at_the_limit_and_seen_at_one_unit() {
        let cells = |part, whole| filled(part, whole, 10);
        assert_eq!([cells(0, 100), cells(1, 100), cells(50, 100), cells(99, 100)], [0, 1, 5, 9]);
        assert_eq!([cells(100, 100), cells(200, 100), cells(u64::MAX, u64::MAX)], [10, 10, 10]);
        assert_eq!((filled(7, 0, 10), filled(1, 1, 0)), (1, 0));
    }
}
