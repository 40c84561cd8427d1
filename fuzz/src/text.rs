//! The functions that write text, and the contract that all of them share.

use core::ffi::{CStr, c_char};
use core::ptr;

use ratecell::ffi::ratecell_status::{RATECELL_EINVAL, RATECELL_ENOSPC, RATECELL_ESIZE};

use crate::memory::Memory;

/// What a function wrote, or its error: called with buffers of every kind.
pub(crate) fn written(what: &str, call: impl Fn(*mut c_char, usize) -> i32) -> Result<String, i32> {
    let len = call(ptr::null_mut(), 0);
    let Ok(length) = usize::try_from(len) else {
        let buffer = Memory::new(64, 0);
        assert_eq!(call(buffer.pointer(), 64), len, "{what}: expected the same error with a buffer");
        buffer.assert_untouched(what);
        return Err(len);
    };
    let buffer = Memory::new(8, 0);
    assert_eq!(call(buffer.pointer(), 0), len, "{what} with no room: expected the length alone");
    assert_eq!(call(ptr::null_mut(), 1), RATECELL_EINVAL as i32, "{what} to NULL");
    assert_eq!(call(buffer.pointer(), usize::MAX), RATECELL_ESIZE as i32, "{what} to more than memory holds");
    buffer.assert_untouched(what);
    for room in [1, length / 2, length].into_iter().filter(|room| (1..=length).contains(room)) {
        let buffer = Memory::new(room, 1);
        let status = call(buffer.pointer(), room);
        assert_eq!(status, RATECELL_ENOSPC as i32, "{what}: {length} bytes and a NUL into {room}");
        buffer.assert_untouched(what);
    }
    let [text, _] = [length + 1, length + 9].map(|room| {
        let buffer = Memory::new(room, 1);
        let status = call(buffer.pointer(), room);
        assert_eq!(status, len, "{what}: {length} bytes and a NUL into {room}");
        let text = CStr::from_bytes_until_nul(buffer.bytes()).expect("a NUL").to_str().expect("UTF-8");
        assert_eq!(text.len(), length, "{what}: {text:?}: expected the length that was returned");
        text.to_owned()
    });
    Ok(text)
}
