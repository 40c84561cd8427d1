//! Policies as text.

use proptest::collection::vec;
use proptest::prelude::*;
use ratecell::{Policy, PolicyError, PolicyErrorKind};

use crate::cases;
use crate::policies::{Heal, policies};

/// What policies are made of, and what they are not.
const PIECES: [&str; 60] = [
    "gcra",
    "token_bucket",
    "leaky_meter",
    "leaky_queue",
    "sliding_window",
    "sliding_log",
    "fixed_window",
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
];

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
