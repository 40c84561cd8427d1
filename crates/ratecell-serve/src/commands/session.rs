//! What is known of one connection.

use crate::resp::Protocol;

/// The longest name that a client may give its connection.
const MAX_NAME: usize = 256;

#[derive(Debug)]
pub(crate) struct Session {
    /// Of the connection: no other has it.
    pub(crate) id: u64,
    /// Whether it has given the password, or there is none.
    pub(crate) is_known: bool,
    pub(crate) is_ended: bool,
    pub(crate) protocol: Protocol,
    pub(super) name: ClientName,
}

impl Session {
    pub(crate) fn new(id: u64, is_known: bool) -> Self {
        let (protocol, name) = (Protocol::default(), ClientName::default());
        Self { id, is_known, is_ended: false, protocol, name }
    }
}

/// The name that a client has given its connection, if it has.
#[derive(Debug, Default)]
pub(super) struct ClientName(Option<Box<[u8]>>);

impl ClientName {
    /// # Errors
    /// No connection can have that name.
    pub(super) fn new(name: &[u8]) -> Result<Self, String> {
        if name.len() > MAX_NAME {
            return Err(format!("ERR Client names have at most {MAX_NAME} bytes"));
        }
        // In Redis' words.
        if !name.iter().all(u8::is_ascii_graphic) {
            return Err("ERR Client names cannot contain spaces, newlines or special characters.".to_owned());
        }
        Ok(Self((!name.is_empty()).then(|| name.into())))
    }

    pub(super) fn bytes(&self) -> Option<&[u8]> {
        self.0.as_deref()
    }
}
