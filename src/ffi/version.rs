//! Which library this is: from Cargo.toml alone.

const fn part(text: &str) -> u32 {
    match u32::from_str_radix(text, 10) {
        Ok(part) if part < 1000 => part,
        _ => panic!("a part of the version has at most three digits"),
    }
}

const NUMBER: u32 = part(env!("CARGO_PKG_VERSION_MAJOR")) * 1_000_000
    + part(env!("CARGO_PKG_VERSION_MINOR")) * 1_000
    + part(env!("CARGO_PKG_VERSION_PATCH"));

/// Return the version of the library that runs; RATECELL_VERSION_NUMBER is that of the header.
///
/// Returns major * 1000000 + minor * 1000 + patch.
/// Errors: none.
/// NULL: nothing to be.
/// Threads: any.
/// Since: 0.1
#[unsafe(no_mangle)]
pub extern "C" fn ratecell_version_number() -> u32 {
    NUMBER
}
