//! The memory of a buffer that is used again.

/// What it takes, used or not.
pub(crate) fn bytes_of<T>(part: &Vec<T>) -> usize {
    part.capacity().saturating_mul(size_of::<T>())
}

/// Empties a part that has more memory than `bytes`.
pub(crate) fn give_back<T>(part: &mut Vec<T>, bytes: usize) {
    if bytes_of(part) > bytes {
        *part = Vec::new();
    }
}
