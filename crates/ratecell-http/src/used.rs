//! What a request has used, as its handler says it.

use std::sync::{Arc, OnceLock};

/// What a request has used of the units that were reserved for it. A handler puts it into the extensions of its response, and
/// the middleware settles by it.
///
/// What is known when the response is made is settled then; what is known later, such as the tokens of a response that is
/// streamed, is said by a clone, and settled when the body has ended:
///
/// ```
/// use ratecell_http::Used;
///
/// let at_once = Used::units(1_210);
/// let later = Used::later();
/// let stream = later.clone();                 // goes with the stream, `later` into the extensions
/// assert!(stream.set_units(640));
/// # drop(at_once);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Used(Arc<OnceLock<Actual>>);

/// The actual cost.
#[derive(Debug)]
pub(crate) enum Actual {
    Units(u32),
    /// Names and values, of rules.
    Attributes(Vec<(String, String)>),
}

impl Used {
    /// So many units, of each limit that settles.
    #[must_use]
    pub fn units(units: u32) -> Self {
        let used = Self::default();
        used.set_units(units);
        used
    }

    /// What rules settle by: attributes that are known afterwards, such as `("tokens", "1210")`.
    #[must_use]
    pub fn attributes<N: Into<String>, V: Into<String>>(
        attributes: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        let used = Self::default();
        used.set_attributes(attributes);
        used
    }

    /// What is said later, by a clone, before the body is dropped, or as it is. If nobody says it, the request counts as one that nobody settles.
    #[must_use]
    pub fn later() -> Self {
        Self::default()
    }

    /// Says it, in units. Returns whether it was said for the first time; otherwise what was said stays.
    pub fn set_units(&self, units: u32) -> bool {
        self.0.set(Actual::Units(units)).is_ok()
    }

    /// Says it, in attributes. Returns whether it was said for the first time; otherwise what was said stays.
    pub fn set_attributes<N: Into<String>, V: Into<String>>(
        &self,
        attributes: impl IntoIterator<Item = (N, V)>,
    ) -> bool {
        let attributes = attributes.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        self.0.set(Actual::Attributes(attributes)).is_ok()
    }

    pub(crate) fn get(&self) -> Option<&Actual> {
        self.0.get()
    }
}
