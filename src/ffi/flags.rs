//! The flags of requests, of stats and of configs: each a bit of its own.

/// At now_ns, instead of now by the limiter's clock. Of a ratecell_request and of ratecell_limiter_stats.
pub const RATECELL_AT: u32 = 1;
/// Of ratecell_limiter_stats: every key is counted.
pub const RATECELL_EXACT: u32 = 2;
/// Of a ratecell_request: of the key with this hash, which the caller computed.
pub const RATECELL_HASHED: u32 = 4;
/// Of a ratecell_request: allowed only with a delay_ns of at most max_delay_ns.
pub const RATECELL_WITHIN: u32 = 8;
/// Of a ratecell_request: its units have been spent already, and are charged as far as there is room for them.
pub const RATECELL_CHARGE: u32 = 16;
/// Of a ratecell_request: the decision's next_ns is asked for.
pub const RATECELL_NEXT: u32 = 32;
/// Of a ratecell_config, for ratecell_region_init: the memory is all zeros, and is not written but for its header.
pub const RATECELL_ZEROED: u32 = 64;
