//! The fields of a response, from the decision until the response is there.

use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use ratecell_http::{is_list, later};
use smallvec::SmallVec;

/// The fields of one response.
#[derive(Debug, Default)]
pub(crate) struct Fields(SmallVec<[(HeaderName, HeaderValue); 2]>);

impl Fields {
    /// Takes a field with a name in small letters.
    pub(crate) fn push(&mut self, name: &'static str, value: &[u8]) {
        // Values are printable ASCII.
        if let Ok(value) = HeaderValue::from_bytes(value) {
            self.0.push((HeaderName::from_static(name), value));
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
            let there = headers.get(&name).filter(|_| name == RETRY_AFTER);
            if there.is_none_or(|there| later(value.as_bytes(), there.as_bytes())) {
                headers.insert(name, value);
            }
        }
    }
}
