//! The scripts that run at the store: an addition with a bound, and a compare-and-swap.
//!
//! A number of Lua is a double, exact below 2^53. So a word is two halves of 32 bits there, and only differences below
//! 2^52 are one number: a quotient of two such integers, rounded to a double, is never rounded up to the next integer.
//! Strings are compared by `==` and `~=` alone: `<` goes by the server's locale.

use std::sync::LazyLock;

use ratecell_core::algorithm::{Span, Want};
use redis::Script;

/// What one number of Lua holds, with room to divide.
pub(crate) const EXACT: u64 = 1 << 52;

/// The scripts, for servers that set an expiry with the value or only after it.
pub(crate) struct Scripts {
    pub(crate) take: Text,
    pub(crate) swap: Text,
}

pub(crate) struct Text {
    pub(crate) code: String,
    pub(crate) hash: String,
}

impl Text {
    fn new(code: &str, set: &str) -> Self {
        let code = format!("local function SET(k, v, at) {set} end\n{code}");
        Self { hash: Script::new(&code).get_hash().to_owned(), code }
    }
}

impl Scripts {
    pub(crate) fn of(sets_expiry: bool) -> &'static Self {
        static AT_ONCE: LazyLock<Scripts> =
            LazyLock::new(|| Scripts::new("redis.call('SET', k, v, 'PXAT', at)"));
        static AFTER: LazyLock<Scripts> =
            LazyLock::new(|| Scripts::new("redis.call('SET', k, v) redis.call('PEXPIREAT', k, at)"));
        if sets_expiry { &AT_ONCE } else { &AFTER }
    }

    fn new(set: &str) -> Self {
        Self {
            take: Text::new(include_str!("take.lua"), set),
            swap: Text::new(include_str!("swap.lua"), set),
        }
    }
}

/// The argument of the script for [`Span::take`]: the generation, what is wanted, and the spans.
pub(crate) fn packed(generation: u8, spans: &[Span], want: Want) -> Vec<u8> {
    // There is never room for more units than the bound, so this much asks, refuses and divides as more would.
    let bounded = |number: u64| number.clamp(1, EXACT);
    let mut bytes = vec![generation];
    for number in [want.most, want.least, want.share] {
        bytes.extend(bounded(number).to_be_bytes());
    }
    for span in spans {
        for number in [span.floor, span.ceiling, span.unit] {
            bytes.extend(number.to_be_bytes());
        }
        bytes.push(u8::from(span.raises));
    }
    bytes
}
