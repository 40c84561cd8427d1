//! The fields of a response, from the decision until the response is there.

use std::sync::LazyLock;

use http::header::{Entry, RETRY_AFTER};
use http::{HeaderMap, HeaderName, HeaderValue};
use ratecell_http::{FIELD_NAMES, is_list, later};
use smallvec::SmallVec;

/// [`FIELD_NAMES`], as a header takes them.
static NAMES: LazyLock<[HeaderName; FIELD_NAMES.len()]> =
    LazyLock::new(|| FIELD_NAMES.map(HeaderName::from_static));

/// The fields of one response.
#[derive(Debug, Default)]
pub(crate) struct Fields(SmallVec<[(HeaderName, HeaderValue); 2]>);

impl Fields {
    /// Takes a field with a name in small letters.
    pub(crate) fn push(&mut self, name: &'static str, value: &[u8]) {
        let place = FIELD_NAMES.into_iter().position(|known| known == name);
        // Values are printable ASCII.
        if let (Some(name), Ok(value)) =
            (place.and_then(|place| NAMES.get(place)), HeaderValue::from_bytes(value))
        {
            self.0.push((name.clone(), value));
        }
    }

    /// Adds them to a header. A list is added to what is there of it, of two Retry-After the later stays, and other fields are
    /// replaced.
    pub(crate) fn add_to(self, headers: &mut HeaderMap) {
        for (name, value) in self.0 {
            if is_list(name.as_str()) {
                headers.append(name, value);
                continue;
            }
            let is_retry_after = name == RETRY_AFTER;
            match headers.entry(name) {
                Entry::Occupied(there)
                    if is_retry_after && !later(value.as_bytes(), there.get().as_bytes()) => {}
                Entry::Occupied(mut there) => drop(there.insert(value)),
                Entry::Vacant(place) => drop(place.insert(value)),
            }
        }
    }
}
