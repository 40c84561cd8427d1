//! The digest of a file while it is read, so that a report names the very bytes that it is of.

use std::cell::RefCell;
use std::io::{self, Read};
use std::rc::Rc;

use sha2::{Digest as _, Sha256};

/// SHA-256 of what was read so far, as `sha256sum` has it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Digest(Rc<RefCell<Sha256>>);

impl Digest {
    /// `source`, whose bytes are digested when they are read.
    pub(super) fn reader<R: Read>(&self, source: R) -> impl Read + use<R> {
        Digested { source, digest: self.clone() }
    }

    /// In hexadecimal.
    pub(super) fn text(&self) -> String {
        self.0.borrow().clone().finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

struct Digested<R> {
    source: R,
    digest: Digest,
}

impl<R: Read> Read for Digested<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.source.read(buffer)?;
        self.digest.0.borrow_mut().update(&buffer[..len]);
        Ok(len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Source: FIPS 180-2, appendix B.
    #[test]
    fn a_digest_is_that_of_all_that_was_read() {
        let digest = Digest::default();
        let mut read = String::new();
        digest.reader(&b"abc"[..]).read_to_string(&mut read).unwrap();
        assert_eq!(read, "abc");
        assert_eq!(digest.text(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
