//! `Page`: the memory of the page, which JavaScript reads and writes between the calls.

use napi::bindgen_prelude::Uint8Array;
use napi::{Error, Result, Status};
use napi_derive::napi;

use crate::page::{self, PAGE, RECORD};

/// The page of one environment, which is one thread: `lib/native.js` makes it, and transfers its memory to nobody.
#[napi]
pub struct Page {
    memory: *mut [u8; PAGE],
    /// It keeps the memory.
    _owner: Uint8Array,
}

#[napi]
impl Page {
    #[napi(constructor)]
    pub fn new(owner: Uint8Array) -> Result<Self> {
        let short = || Error::new(Status::InvalidArg, "the page is too short");
        let memory = owner.first_chunk::<PAGE>().ok_or_else(short)?;
        Ok(Self { memory: core::ptr::from_ref(memory).cast_mut(), _owner: owner })
    }
}

impl Page {
    /// Where it is, for as long as the page is.
    pub(crate) fn pointer(&self) -> *mut [u8; PAGE] {
        self.memory
    }

    pub(crate) fn bytes(&self) -> &[u8; PAGE] {
        // SAFETY: the owner keeps these bytes. Only this thread has them, and no JavaScript runs in this call.
        unsafe { &*self.memory }
    }

    /// Writes a decision.
    pub(crate) fn write(&mut self, decision: &ratecell::Decision) {
        // SAFETY: as above; and nobody else has them now, for `self` is borrowed alone.
        page::write_to(unsafe { &mut *self.memory }, decision);
    }
}

/// The records that have room in memory that JavaScript made for them.
pub(crate) fn records(memory: &mut Uint8Array) -> &mut [[u8; RECORD]] {
    // SAFETY: `lib/limiter.js` gives these bytes to nobody else, and no JavaScript runs in this call.
    unsafe { memory.as_mut() }.as_chunks_mut().0
}
