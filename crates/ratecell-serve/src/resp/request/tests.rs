use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_assert_eq, prop_oneof, proptest};

use super::{Arguments, Bounds, MAX_LINE, ProtocolError, parse};

/// The bytes of a request and its words, if it is whole.
type Parsed<'b> = Option<(usize, Vec<&'b [u8]>)>;

/// The request with which these bytes begin.
fn parsed(input: &[u8]) -> Result<Parsed<'_>, ProtocolError> {
    let mut arguments = Arguments::new();
    let used = parse(input, &Bounds::KNOWN, &mut arguments)?;
    Ok(used.map(|used| (used, arguments.to_vec())))
}

fn written(arguments: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", arguments.len()).into_bytes();
    for argument in arguments {
        bytes.extend_from_slice(format!("${}\r\n", argument.len()).as_bytes());
        bytes.extend_from_slice(argument);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}

#[test]
fn requests_are_arrays_or_lines() {
    for (input, used, arguments) in [
        ("*1\r\n$4\r\nPING\r\n", 14, &["PING"][..]),
        ("*2\r\n$4\r\nECHO\r\n$0\r\n\r\n*1\r\n", 20, &["ECHO", ""]),
        ("*0\r\n", 4, &[]),
        ("*-1\r\n", 5, &[]),
        ("PING\r\n", 6, &["PING"]),
        ("  CL.THROTTLE  a 1 \t2 3\n", 24, &["CL.THROTTLE", "a", "1", "2", "3"]),
        ("\r\n", 2, &[]),
        ("$4\r\nPING\r\n", 4, &["$4"]),
    ] {
        let arguments: Vec<_> = arguments.iter().map(|word| word.as_bytes()).collect();
        assert_eq!(parsed(input.as_bytes()), Ok(Some((used, arguments))), "{input:?}");
    }
}

#[test]
fn junk_is_told_in_the_words_of_redis() {
    let long = format!("{}\r\n", "a".repeat(MAX_LINE));
    for (input, error) in [
        ("*x\r\n", "invalid multibulk length"),
        ("*\r\n", "invalid multibulk length"),
        ("*-\r\n", "invalid multibulk length"),
        ("*1\n", "invalid multibulk length"),
        ("*1\rx", "invalid multibulk length"),
        ("*1025\r\n", "invalid multibulk length"),
        ("*99999999999999999999\r\n", "invalid multibulk length"),
        ("*000000000000000000000000001", "invalid multibulk length"),
        ("*1\r\n+PING\r\n", "expected '$', got '+'"),
        ("*1\r\n*1\r\n", "expected '$', got '*'"),
        ("*1\r\n\x01", "expected '$', got '\\x01'"),
        ("*1\r\n$-1\r\n", "invalid bulk length"),
        ("*1\r\n$x\r\n", "invalid bulk length"),
        // Half a gigabyte is refused before a byte of it has come.
        ("*1\r\n$536870912\r\n", "invalid bulk length"),
        ("*1\r\n$16384\r\n", "invalid bulk length"),
        ("*1\r\n$4\r\nPINGPONG", "expected the end of a line behind a bulk string"),
        (&long, "too big inline request"),
        ("SET \"a\r\n", "quotes in an inline request, expected an array of bulk strings"),
    ] {
        let told = parsed(input.as_bytes()).expect_err(input).to_string();
        assert_eq!(told, format!("Protocol error: {error}"), "{input:?}");
    }
}

#[test]
fn strangers_have_less_room() {
    let mut arguments = Arguments::new();
    for (input, error) in [
        ("*11\r\n", ProtocolError::Count),
        ("*1\r\n$4096\r\n", ProtocolError::Length),
        ("1 2 3 4 5 6 7 8 9 10 11\n", ProtocolError::Count),
    ] {
        let refused = parse(input.as_bytes(), &Bounds::STRANGER, &mut arguments);
        assert_eq!(refused, Err(error), "{input:?}");
    }
}

#[test]
fn the_page_has_the_bounds() {
    let page = include_str!("../../../../../docs/SERVERS.md");
    let thousands = |number: usize| match number {
        0..1000 => number.to_string(),
        _ => format!("{},{:03}", number / 1000, number % 1000),
    };
    let [known, stranger] =
        [Bounds::KNOWN, Bounds::STRANGER].map(|bounds| (bounds.bytes / 1024, thousands(bounds.arguments)));
    for row in [
        format!(
            "| a request | {} kB and {} words, {} kB and {} before the password;",
            known.0, known.1, stranger.0, stranger.1
        ),
        format!("| a request in a line | {} bytes,", thousands(MAX_LINE)),
    ] {
        assert!(page.contains(&row), "{row}");
    }
}

/// Bytes as they come from clients that are nearly right.
fn nearly() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        Just(b"*".to_vec()),
        Just(b"$".to_vec()),
        Just(b"\r\n".to_vec()),
        Just(b"PING".to_vec()),
        (0..40_i64).prop_map(|number| number.to_string().into_bytes()),
        vec(any::<u8>(), 0..5),
    ];
    vec(part, 0..24).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        arguments in vec(vec(any::<u8>(), 0..40), 1..20),
        behind in vec(any::<u8>(), 0..9),
    ) {
        let mut bytes = written(&arguments);
        let used = bytes.len();
        bytes.extend_from_slice(&behind);
        let expected: Vec<_> = arguments.iter().map(Vec::as_slice).collect();
        prop_assert_eq!(parsed(&bytes), Ok(Some((used, expected))));
        for len in 0..used {
            prop_assert_eq!(parsed(&bytes[..len]), Ok(None));
        }
    }

    /// What is answered does not depend on how the bytes were cut: what is wrong or whole stays so, whatever follows.
    #[test]
    fn cuts_change_nothing(bytes in nearly(), behind in nearly()) {
        let whole = [&bytes[..], &behind].concat();
        let first = parsed(&bytes);
        if first != Ok(None) {
            prop_assert_eq!(parsed(&whole), first);
        }
    }
}
