//! Replies.

/// The version of the protocol that a client has asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Protocol {
    #[default]
    Resp2,
    Resp3,
}

impl Protocol {
    pub(crate) fn number(self) -> i64 {
        match self {
            Self::Resp2 => 2,
            Self::Resp3 => 3,
        }
    }
}

/// Replies, one behind the other.
#[derive(Debug, Default)]
pub(crate) struct Replies {
    bytes: Vec<u8>,
    /// That of the connection which is being answered.
    pub(crate) protocol: Protocol,
}

impl Replies {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
    }

    fn line(&mut self, kind: u8, text: &[u8]) {
        self.bytes.push(kind);
        self.bytes.extend_from_slice(text);
        self.bytes.extend_from_slice(b"\r\n");
    }

    pub(crate) fn simple(&mut self, text: &str) {
        self.line(b'+', text.as_bytes());
    }

    /// An error, which begins with its code. What would end its line is shown as a space.
    pub(crate) fn error(&mut self, text: &str) {
        self.bytes.push(b'-');
        self.bytes.extend(text.bytes().map(|byte| if byte.is_ascii_control() { b' ' } else { byte }));
        self.bytes.extend_from_slice(b"\r\n");
    }

    #[inline]
    pub(crate) fn integer(&mut self, value: i64) {
        // The commonest by far.
        if let Ok(digit @ 0..=9) = u8::try_from(value) {
            self.bytes.extend_from_slice(&[b':', b'0' + digit, b'\r', b'\n']);
            return;
        }
        self.line(b':', itoa::Buffer::new().format(value).as_bytes());
    }

    pub(crate) fn bulk(&mut self, bytes: &[u8]) {
        self.length(b'$', bytes.len());
        self.bytes.extend_from_slice(bytes);
        self.bytes.extend_from_slice(b"\r\n");
    }

    pub(crate) fn null(&mut self) {
        match self.protocol {
            Protocol::Resp2 => self.bytes.extend_from_slice(b"$-1\r\n"),
            Protocol::Resp3 => self.bytes.extend_from_slice(b"_\r\n"),
        }
    }

    pub(crate) fn array(&mut self, count: usize) {
        self.length(b'*', count);
    }

    /// A map of so many pairs, each a key and its value. In RESP2 it is an array of both in turn.
    pub(crate) fn map(&mut self, pairs: usize) {
        match self.protocol {
            Protocol::Resp2 => self.length(b'*', 2 * pairs),
            Protocol::Resp3 => self.length(b'%', pairs),
        }
    }

    fn length(&mut self, kind: u8, count: usize) {
        self.line(kind, itoa::Buffer::new().format(count).as_bytes());
    }
}
