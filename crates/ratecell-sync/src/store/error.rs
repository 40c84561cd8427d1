//! What can be wrong with a store, and what to do about it.

use std::fmt;

use redis::{ErrorKind, RedisError, ServerError};

/// Why a store did not do what was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreError {
    kind: StoreErrorKind,
    text: String,
}

/// The kinds of [`StoreError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreErrorKind {
    /// The address cannot be understood.
    Url,
    /// The name is not one.
    Name,
    /// No connection could be made.
    Unreachable,
    /// The password is missing, or wrong.
    Password,
    /// The user may not run a command, or not on these keys.
    Denied,
    /// The server is a replica, which takes no writes.
    Replica,
    /// The server lacks what is needed.
    TooOld,
    /// The store is of another policy, or the value at a key is no value of ours.
    Mismatch,
    /// Nobody has made the record yet.
    NoRecord,
    /// The record that was there at first is gone: the store has forgotten. What the batch did is not known.
    Forgotten,
    /// No answer in time. What was asked may have been done, or will be.
    Timeout,
    /// The connection broke. What was asked may have been done.
    Disconnected,
    /// The server's memory is full, and its policy refuses writes.
    Full,
    /// Any other answer of the server: its text says which.
    Other,
}

impl StoreError {
    pub(crate) fn new(kind: StoreErrorKind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into() }
    }

    /// What the machine itself cannot do.
    pub fn of_machine(text: String) -> Self {
        Self::new(StoreErrorKind::Other, text)
    }

    /// Which kind of error it is.
    pub fn kind(&self) -> StoreErrorKind {
        self.kind
    }

    /// An error of the connection to the server at `shown`.
    pub(crate) fn of_connection(error: &RedisError, shown: &str) -> Self {
        let kind = match error.kind() {
            ErrorKind::AuthenticationFailed => {
                let text = format!("{shown} refuses the user or the password of the address");
                return Self::new(StoreErrorKind::Password, text);
            }
            _ if error.is_timeout() => {
                return Self::new(StoreErrorKind::Timeout, format!("{shown} has not answered in time"));
            }
            _ => StoreErrorKind::Disconnected,
        };
        Self::new(kind, format!("{shown}: {error}"))
    }

    /// An error in making the connection to the server at `shown`.
    pub(crate) fn of_connecting(error: &RedisError, shown: &str) -> Self {
        let connection = Self::of_connection(error, shown);
        match connection.kind {
            StoreErrorKind::Disconnected => {
                let text = format!("cannot connect to {shown}: {error}");
                Self::new(StoreErrorKind::Unreachable, text)
            }
            _ => connection,
        }
    }

    /// What a server at `shown` answered to a command, of a store of this `name`.
    pub(crate) fn of_server(error: &ServerError, shown: &str, name: &str) -> Self {
        use StoreErrorKind as Kind;
        let (code, details) = (error.code(), error.details().unwrap_or_default());
        // Servers before 7.0 give the code of what a script did in the text.
        let says = |word: &str| code == word || details.contains(&format!("-{word} "));
        if says("NOAUTH") || says("WRONGPASS") {
            let text = format!(
                "{shown} asks for a password, or refuses that of the address: redis://user:password@host"
            );
            return Self::new(Kind::Password, text);
        }
        if says("NOPERM")
            || details.contains("ACL failure in script")
            || details.contains("user executing the script")
        {
            let text = format!("{shown}: {details}: allow {}", super::acl_rules(name));
            return Self::new(Kind::Denied, text);
        }
        let kind = match () {
            () if says("OOM") => Kind::Full,
            () if says("READONLY") || says("MASTERDOWN") => Kind::Replica,
            () => Kind::Other,
        };
        Self::new(kind, format!("{shown}: {code} {details}"))
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for StoreError {}
