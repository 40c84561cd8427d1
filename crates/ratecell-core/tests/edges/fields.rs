//! The HTTP fields.

use std::num::NonZeroU64;

use proptest::prelude::*;
use ratecell_core::fields::{Answer, Fields, Label, LayerNumbers, Style, Styles};
use ratecell_core::{Decision, Outcome, Policy};
use sfv::{BareItem, FieldType as _, ListEntry, Parser};

#[test]
fn several_styles_in_one_response() {
    let policy: Policy = "10/m".parse().expect("a policy");
    let denied = Decision::new(Outcome::Denied, 10, 0, 6_000_000_000, 60_000_000_000, 0, 0);
    let answers = [Answer::new(&policy, Label::new(), denied)];
    let styles = Styles::from(Style::Draft11).and(Style::X).expect("no field in common");
    let names: Vec<_> = Fields::new(styles, &answers, 0).iter().map(|(name, _)| name).collect();
    let numbers = ["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"];
    assert_eq!(names, [&["RateLimit-Policy", "RateLimit"], &numbers[..], &["Retry-After"]].concat());

    // The styles that can go together are those whose fields have other names.
    let names = |styles: Styles| -> Vec<_> {
        Fields::new(styles, &answers, 0)
            .iter()
            .map(|(name, _)| name)
            .filter(|name| *name != "Retry-After")
            .collect()
    };
    for first in Style::ALL {
        for second in Style::ALL {
            let has_common = names(first.into()).iter().any(|name| names(second.into()).contains(name));
            match Styles::from(first).and(second) {
                Ok(both) => {
                    assert!(!has_common, "{first:?} and {second:?}");
                    assert_eq!(names(both), [names(first.into()), names(second.into())].concat());
                }
                Err(_) => assert!(has_common, "{first:?} and {second:?}"),
            }
        }
    }
    let error = Styles::from(Style::X).and(Style::GitHub).expect_err("the same fields");
    assert_eq!(
        error.to_string(),
        "the styles x and github write fields of the same name: expected one of them"
    );
}

#[test]
fn an_error_names_what_was_wrong() {
    let long = "n".repeat(257);
    for (error, message) in [
        (
            Label::new().named("").err(),
            "bad_name: the name is ``: expected 1 to 256 characters of printable ASCII",
        ),
        (
            Label::new().named("two\nlines").err(),
            "bad_name: the name is `two\\nlines`: expected 1 to 256 characters of printable ASCII",
        ),
        (
            "bytes".parse::<ratecell_core::fields::Unit>().err(),
            "bad_unit: the unit is `bytes`: expected requests, content-bytes or concurrent-requests",
        ),
        (
            Label::new().partition(long.as_bytes()).err(),
            "bad_partition: the partition has 257 bytes: expected at most 256",
        ),
    ] {
        assert_eq!(error.expect(message).to_string(), message);
    }
}

/// Nothing is written of a decision that names a layer that the policy does not have, or without answers.
#[test]
fn what_is_not_known_is_not_written() {
    let policy: Policy = "10/m".parse().expect("a policy");
    let other = Decision::new(Outcome::Allowed, 10, 5, 0, 30_000_000_000, 0, 7);
    for style in Style::ALL {
        assert_eq!(Fields::new(style, &[], 0).to_string(), "");
        let answers = [Answer::new(&policy, Label::new(), other)];
        let fields = Fields::new(style, &answers, 0).to_string();
        assert!(fields.is_empty() || fields.starts_with("RateLimit-Policy: ") && fields.lines().count() == 1);
    }
}

/// A name and what was read behind it.
type Item = (String, Vec<(String, BareItem)>);

fn items(text: &str) -> Vec<Item> {
    let list: sfv::List = Parser::new(text).parse().unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(list.serialize().as_deref(), Some(text), "written again");
    let item = |entry| match entry {
        ListEntry::Item(item) => item,
        ListEntry::InnerList(_) => panic!("{text}: an inner list"),
    };
    list.into_iter()
        .map(item)
        .map(|item| match item.bare_item {
            BareItem::String(name) => {
                let parameters = item.params.into_iter().map(|(key, value)| (key.to_string(), value));
                (name.into(), parameters.collect())
            }
            other => panic!("{text}: {other:?} is no string"),
        })
        .collect()
}

proptest! {
    /// A parser of structured fields reads what was meant, and writes it again as the same bytes.
    #[test]
    fn a_parser_reads_what_was_meant(
        name in prop::option::of("[ -~]{1,12}"),
        partition in prop::option::of(prop::collection::vec(any::<u8>(), 0..20)),
        numbers in prop::collection::vec((any::<u64>(), any::<u64>(), any::<u64>(), "[ -~]{0,12}"), 1..4),
        outcome in prop::sample::select(vec![Outcome::Allowed, Outcome::Denied, Outcome::Never]),
        remaining: u64, retry_ns: u64, reset_ns: u64, next_ns: Option<u64>, layer in 0u32..4,
    ) {
        let layers: Vec<_> = numbers.iter().map(|(limit, period, capacity, text)| {
            LayerNumbers { text, limit: *limit, period_ns: NonZeroU64::new(*period), capacity: *capacity }
        }).collect();
        let mut label = Label::new();
        if let Some(name) = &name {
            label = label.named(name).expect("printable");
        }
        if let Some(partition) = &partition {
            label = label.partition(partition).expect("short");
        }
        let layer = layer % u32::try_from(layers.len()).expect("few");
        let decision = Decision::new(outcome, 1, remaining, retry_ns, reset_ns, 0, layer);
        let answers = [Answer::new(&*layers, label, decision.with_next(next_ns.unwrap_or(0)))];
        let called = |number: usize| match &name {
            Some(name) if layers.len() == 1 => name.clone(),
            Some(name) => format!("{name}-{}", number + 1),
            None => layers[number].text.to_owned(),
        };
        for (field, value) in Fields::new(Style::Draft11, &answers, 0).iter() {
            let value = value.to_string();
            match field {
                "RateLimit-Policy" => {
                    let names: Vec<_> = items(&value).into_iter().map(|(name, _)| name).collect();
                    prop_assert_eq!(names, (0..layers.len()).map(called).collect::<Vec<_>>());
                }
                "RateLimit" => {
                    let read = items(&value);
                    prop_assert_eq!(&read[0].0, &called(layer as usize));
                    let least = i64::try_from(remaining.min(999_999_999_999_999)).expect("15 digits");
                    prop_assert_eq!(&read[0].1[0], &("r".to_owned(), BareItem::Integer(least.try_into().expect("15 digits"))));
                    let pk = read[0].1.iter().find(|(key, _)| key == "pk").map(|(_, value)| value.clone());
                    prop_assert_eq!(pk, partition.clone().map(BareItem::ByteSequence));
                }
                "Retry-After" => prop_assert!(value.parse::<u64>().is_ok_and(|seconds| seconds > 0)),
                other => prop_assert!(false, "{}", other),
            }
        }
    }

    /// The window is never after Retry-After.
    #[test]
    fn the_window_is_not_after_retry_after(
        remaining in 0u64..10, retry_ns: u64, reset_ns: u64, next_ns: Option<u64>,
    ) {
        let policy: Policy = "10/m".parse().expect("a policy");
        let decision = Decision::new(Outcome::Denied, 10, remaining, retry_ns, reset_ns, 0, 0);
        let answers = [Answer::new(&policy, Label::new(), decision.with_next(next_ns.unwrap_or(0)))];
        let fields: Vec<_> = Fields::new(Style::Draft11, &answers, 0).iter().collect();
        let text: Vec<_> = fields.iter().map(|(_, value)| value.to_string()).collect();
        let window = text[1].split_once(";t=").map(|(_, seconds)| seconds.parse::<u64>().expect("seconds"));
        let retry_after = text.get(2).map(|seconds| seconds.parse::<u64>().expect("seconds"));
        prop_assert_eq!(window.is_some(), retry_after.is_some());
        prop_assert!(window <= retry_after);
    }
}
