use super::*;

const SPAN: Span = Span { floor: 1, ceiling: EXACT, unit: 1, raises: true };
const WANT: Want = Want { most: 1, least: 1, share: 1 };
const NEW: Abilities = Abilities { ifeq: true, nx_get: true, pxat: true };
const OLD: Abilities = Abilities { ifeq: false, nx_get: false, pxat: false };

fn one_word(word: u64) -> Value {
    Value { generation: 3, words: std::iter::once(word).collect() }
}

fn swap(old: Option<u64>) -> Operation {
    Operation::Swap { h: 5, old: old.map(one_word), new: one_word(9), expires_ms: 77 }
}

fn take(span: Span) -> Operation {
    let spans = std::iter::once(span).collect();
    Operation::Take { h: 5, generation: 3, spans, want: WANT, expires_ms: 77 }
}

fn words(operation: &Operation, can: Abilities) -> Vec<String> {
    let command = command(operation, "n", can, Form::Short).expect("a command");
    let word = |arg: redis::Arg<&[u8]>| match arg {
        redis::Arg::Simple(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        _ => panic!("no cursor is used"),
    };
    command.args_iter().map(word).collect()
}

#[test]
fn a_swap_is_the_server_s_own_where_it_has_one() {
    let present = words(&swap(Some(4)), NEW);
    assert_eq!(
        (present[0].as_str(), present[3].as_str(), &present[5..]),
        ("SET", "IFEQ", &["GET", "PXAT", "77"].map(str::to_owned)[..])
    );
    let absent = words(&swap(None), NEW);
    assert_eq!(
        (absent[0].as_str(), &absent[3..]),
        ("SET", &["NX", "GET", "PXAT", "77"].map(str::to_owned)[..])
    );
    assert_eq!(words(&swap(Some(4)), Abilities { ifeq: false, ..NEW })[0], "EVALSHA");
    assert_eq!(words(&swap(None), Abilities { nx_get: false, ..NEW })[0], "EVALSHA");
    assert_eq!(words(&swap(None), Abilities { pxat: false, ..NEW })[0], "EVALSHA");
}

#[test]
fn the_abilities_are_those_of_the_versions() {
    let of = Abilities::of;
    assert_eq!(of(false, (6, 0)), OLD);
    assert_eq!(of(false, (6, 2)), Abilities { pxat: true, ..OLD });
    assert_eq!(of(false, (7, 0)), Abilities { ifeq: false, ..NEW });
    assert_eq!(of(false, (8, 2)), Abilities { ifeq: false, ..NEW });
    assert_eq!(of(false, (8, 4)), NEW);
    assert_eq!(of(true, (8, 0)), Abilities { ifeq: false, ..NEW });
    assert_eq!(of(true, (8, 1)), NEW);
}

#[test]
fn spans_beyond_52_bits_are_not_sent() {
    assert!(takes(&SPAN));
    assert!(takes(&Span { floor: u64::MAX - 5, ceiling: u64::MAX, ..SPAN }));
    assert!(takes(&Span { floor: 9, ceiling: 3, ..SPAN }), "it refuses");
    assert!(!takes(&Span { floor: 0, ..SPAN }));
    assert!(!takes(&Span { unit: EXACT, ..SPAN }));
    assert!(!takes(&Span { unit: 0, ..SPAN }));
    let error = command(&take(Span { floor: 0, ..SPAN }), "n", NEW, Form::Short).expect_err("too wide");
    assert!(error.to_string().contains("below 2^52"), "{error}");
    let Operation::Take { h, generation, want, expires_ms, .. } = take(SPAN) else { panic!("a take") };
    let none = Operation::Take { h, generation, spans: ArrayVec::new(), want, expires_ms };
    assert!(command(&none, "n", NEW, Form::Short).is_err());
}

#[test]
fn answers_are_read() {
    let bulk = |value: &Value| Raw::BulkString(value.bytes().to_vec());
    let read = |operation: &Operation, raw: Raw, can| answer(operation, raw, "api", can);
    let taken = Raw::Array(vec![Raw::Int(2), bulk(&one_word(8))]);
    let words = one_word(8).words;
    assert_eq!(read(&take(SPAN), taken, NEW), Ok(Answer::Taken { units: 2, words }));
    assert_eq!(read(&take(SPAN), bulk(&one_word(8)), NEW), Ok(Answer::Refused(Some(one_word(8)))));
    assert_eq!(read(&take(SPAN), Raw::Nil, NEW), Ok(Answer::Refused(None)));
    assert!(read(&take(SPAN), Raw::Array(vec![Raw::Int(0), bulk(&one_word(8))]), NEW).is_err());

    for can in [NEW, OLD] {
        let done = |old: Option<u64>| match (can.ifeq, old) {
            (false, _) => Raw::Array(vec![Raw::Int(1)]),
            (true, Some(word)) => bulk(&one_word(word)),
            (true, None) => Raw::Nil,
        };
        for old in [None, Some(4)] {
            assert_eq!(read(&swap(old), done(old), can), Ok(Answer::Swapped));
            assert_eq!(read(&swap(old), bulk(&one_word(5)), can), Ok(Answer::Lost(Some(one_word(5)))));
        }
        assert_eq!(read(&swap(Some(4)), Raw::Nil, can), Ok(Answer::Lost(None)));
    }

    assert_eq!(read(&Operation::Read { h: 1 }, Raw::Nil, NEW), Ok(Answer::Value(None)));
    assert_eq!(read(&Operation::Forget { h: 1 }, Raw::Int(1), NEW), Ok(Answer::Forgotten(true)));
    let error =
        read(&Operation::Read { h: 1 }, Raw::BulkString(b"hand".to_vec()), NEW).expect_err("no value");
    assert_eq!(error.kind(), StoreErrorKind::Mismatch);
    assert!(read(&Operation::Forget { h: 1 }, Raw::Okay, NEW).is_err());
}
