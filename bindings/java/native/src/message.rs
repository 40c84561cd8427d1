//! Messages: numbers in little endian, and bytes behind their length as a u32. What may be absent stands behind a byte of
//! 0 or 1.

use crate::fault::Fault;

/// Reads a message of Java's.
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Fault> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or_else(short)?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        self.take(N)?.try_into().map_err(|_| short())
    }

    pub(crate) fn flag(&mut self) -> Result<bool, Fault> {
        Ok(self.byte()? != 0)
    }

    pub(crate) fn byte(&mut self) -> Result<u8, Fault> {
        Ok(self.array::<1>()?[0])
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Fault> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Fault> {
        self.array().map(u64::from_le_bytes)
    }

    pub(crate) fn i64(&mut self) -> Result<i64, Fault> {
        self.array().map(i64::from_le_bytes)
    }

    /// How many items follow: never more than the message has bytes.
    pub(crate) fn count(&mut self) -> Result<usize, Fault> {
        let count = self.u32()? as usize;
        if count > self.rest.len() { Err(short()) } else { Ok(count) }
    }

    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], Fault> {
        let length = self.count()?;
        self.take(length)
    }

    /// What Java encodes from a string is UTF-8.
    pub(crate) fn text(&mut self) -> Result<&'a str, Fault> {
        core::str::from_utf8(self.bytes()?).map_err(|_| Fault::internal("a text of a message is not UTF-8"))
    }

    /// What `read` reads, if it is there.
    pub(crate) fn maybe<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, Fault>,
    ) -> Result<Option<T>, Fault> {
        if self.flag()? { read(self).map(Some) } else { Ok(None) }
    }

    /// As many items as the message says.
    pub(crate) fn several<T>(
        &mut self,
        mut read: impl FnMut(&mut Self) -> Result<T, Fault>,
    ) -> Result<Vec<T>, Fault> {
        let count = self.count()?;
        (0..count).map(|_| read(self)).collect()
    }
}

#[cold]
fn short() -> Fault {
    Fault::internal("a message ends too early")
}

/// Writes a reply.
#[derive(Default)]
pub(crate) struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    pub(crate) fn byte(&mut self, value: u8) {
        self.bytes.push(value);
    }

    pub(crate) fn flag(&mut self, value: bool) {
        self.byte(value.into());
    }

    pub(crate) fn u32(&mut self, value: u32) {
        self.raw(&value.to_le_bytes());
    }

    pub(crate) fn u64(&mut self, value: u64) {
        self.raw(&value.to_le_bytes());
    }

    pub(crate) fn i64(&mut self, value: i64) {
        self.raw(&value.to_le_bytes());
    }

    /// A reply is far below 2^32 bytes; what Java could not hold fails there.
    pub(crate) fn count(&mut self, count: usize) {
        self.u32(u32::try_from(count).unwrap_or(u32::MAX));
    }

    pub(crate) fn bytes(&mut self, value: &[u8]) {
        self.count(value.len());
        self.raw(value);
    }

    pub(crate) fn text(&mut self, value: &str) {
        self.bytes(value.as_bytes());
    }

    pub(crate) fn maybe<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        self.flag(value.is_some());
        if let Some(value) = value {
            write(self, value);
        }
    }
}
