//! TOML 1.0 alone: the parser reads 1.1, of which other readers of the same file may know nothing.

use toml_parser::decoder::Encoding;
use toml_parser::parser::{Event, EventKind, RecursionGuard, parse_document};
use toml_parser::{ParseError, Source};

/// As the parser that has accepted the text: it is not deeper.
const MOST_NESTED: u32 = 80;

/// Refuses what TOML 1.1 adds, in a text that is TOML 1.1: the place, and what was wrong and expected.
pub(super) fn check(text: &str) -> Result<(), (usize, &'static str)> {
    let tokens: Vec<_> = Source::new(text).lex().collect();
    let mut nested = Vec::new();
    let mut found = None;
    let mut last = EventKind::Newline;
    let mut receiver = |event: Event| {
        let kind = event.kind();
        let at = event.span().start();
        let is_inline = nested.last() == Some(&EventKind::InlineTableOpen);
        let wrong = match kind {
            EventKind::InlineTableOpen | EventKind::ArrayOpen => {
                nested.push(kind);
                None
            }
            EventKind::ArrayClose => {
                nested.pop();
                None
            }
            EventKind::InlineTableClose => {
                nested.pop();
                (last == EventKind::ValueSep)
                    .then_some("a comma before `}` is TOML 1.1: expected TOML 1.0, without it")
            }
            EventKind::Newline | EventKind::Comment if is_inline => {
                Some("a table in braces on several lines is TOML 1.1: expected TOML 1.0, all on one line")
            }
            EventKind::Scalar | EventKind::SimpleKey
                if matches!(event.encoding(), Some(Encoding::BasicString | Encoding::MlBasicString))
                    && has_new_escape(&text[event.span().start()..event.span().end()]) =>
            {
                Some("the escapes \\e and \\x are TOML 1.1: expected TOML 1.0, \\u and four digits")
            }
            _ => None,
        };
        if kind != EventKind::Whitespace {
            last = kind;
        }
        if let (None, Some(wrong)) = (found, wrong) {
            found = Some((at, wrong));
        }
    };
    let mut errors = |_: ParseError| {};
    parse_document(&tokens, &mut RecursionGuard::new(&mut receiver, MOST_NESTED), &mut errors);
    found.map_or(Ok(()), Err)
}

fn has_new_escape(text: &str) -> bool {
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'\\' && matches!(bytes.next(), Some(b'e' | b'x')) {
            return true;
        }
    }
    false
}
