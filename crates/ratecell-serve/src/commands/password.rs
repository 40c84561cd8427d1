//! The password.

use core::fmt;

use subtle::ConstantTimeEq;

use crate::error::ServeError;

/// In Redis' words, by which clients know it.
pub(super) const NEEDED: &str = "NOAUTH Authentication required.";
pub(super) const WRONG: &str = "WRONGPASS invalid username-password pair or user is disabled.";
pub(super) const NONE_SET: &str = "ERR AUTH <password> called without any password configured for the default user. Are \
                                   you sure your configuration is correct?";
/// The only user there is.
const USER: &[u8] = b"default";

pub(crate) struct Password(Box<[u8]>);

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password")
    }
}

impl Password {
    /// # Errors
    /// It is empty, or has several lines.
    pub(crate) fn new(text: &[u8]) -> Result<Self, ServeError> {
        let is_one_line = !text.is_empty() && !text.iter().any(|byte| matches!(byte, b'\r' | b'\n'));
        if is_one_line { Ok(Self(text.into())) } else { Err(ServeError::Password) }
    }

    /// Whether user and password are these. How long it takes depends on the length alone.
    pub(super) fn is(&self, user: &[u8], password: &[u8]) -> bool {
        bool::from(self.0.ct_eq(password)) && user == USER
    }
}

/// The user and the password among the arguments of `AUTH`, where the user may be left out.
pub(super) fn given<'a>(arguments: &[&'a [u8]]) -> (&'a [u8], &'a [u8]) {
    match arguments {
        [password] => (USER, password),
        [user, password, ..] => (user, password),
        [] => (USER, b""),
    }
}
