//! A processor without the exchange: no table is made on it.

use super::Words;
use super::halves::Pair;

pub(super) fn is_supported() -> bool {
    false
}

pub(super) fn replace(_: &Pair, _: Words, _: Words) -> bool {
    false
}
