//! The flags of requests, of calls and of configs: each a bit of its own.

use super::ratecell_status;
use super::ratecell_status::RATECELL_EINVAL;

/// In a ratecell_request, for stats and for a change: at now_ns, instead of now by the limiter's clock.
pub const RATECELL_AT: u32 = 1;
/// For ratecell_limiter_stats: count every key.
pub const RATECELL_EXACT: u32 = 2;
/// In a ratecell_request: the key is given by its hash, which the caller computed.
pub const RATECELL_HASHED: u32 = 4;
/// In a ratecell_request: allow it only with a delay_ns of at most max_delay_ns.
pub const RATECELL_WITHIN: u32 = 8;
/// In a ratecell_request: the units have been spent already. Charge as many as there is room for.
pub const RATECELL_CHARGE: u32 = 16;
/// In a ratecell_request: compute the decision's next_ns.
pub const RATECELL_NEXT: u32 = 32;
/// In a ratecell_config, for ratecell_region_init: the memory is all zeros, so only its header is written.
pub const RATECELL_ZEROED: u32 = 64;
/// In a ratecell_request: do not wait for the store that many machines share. If only that can answer, it is asked, and the
/// call returns RATECELL_ASKED. With RATECELL_CHARGE, only what this machine holds is charged.
pub const RATECELL_TRY: u32 = 128;
/// In a ratecell_request of ratecell_limiter_decide: if it is allowed, write to its reservation what was charged, to be
/// settled, released or renewed. In a ratecell_rules_request of ratecell_rules_decide: write it to its held.
pub const RATECELL_RESERVE: u32 = 256;
/// In a ratecell_config, for ratecell_region_init and ratecell_region_size: make room for what is given back, 8 bytes for each
/// 5 keys and layer, so that RATECELL_RESERVE works with every policy. For ratecell_rules_new: every request has
/// RATECELL_RESERVE, so that rules may count requests in_flight.
pub const RATECELL_RESERVATIONS: u32 = 512;
/// In a ratecell_config, for ratecell_rules_new: the tables are shared with the processes that are forked off later, which
/// admit together exactly what the rules allow. Without it each goes on with a copy of its own.
pub const RATECELL_FORKED: u32 = 1024;
/// In a ratecell_rules_request of ratecell_rules_settle: the request has used nothing.
pub const RATECELL_CANCEL: u32 = 2048;
/// In a ratecell_config, for ratecell_region_init, ratecell_region_size and ratecell_limiter_open: keep the names of denied keys, and count
/// denials, for `ratecell top` and those who read a file as it does. It takes 262,144 bytes. Whoever can read the region can read those keys,
/// which may be personal data.
pub const RATECELL_NAMES: u32 = 4096;
/// In a ratecell_config, for ratecell_region_attach and ratecell_limiter_open: where the region has another policy, that one
/// holds. With a file, for ratecell_rules_new: where a rule in the file has another policy, that one holds.
pub const RATECELL_FOLLOW: u32 = 8192;
/// In a ratecell_config, for ratecell_region_attach and ratecell_limiter_open: where the region has another policy, it is
/// changed for all limiters of the region, as by ratecell_limiter_change. With a file, for ratecell_rules_new: where a rule in
/// the file has another policy, it is changed for all processes, as by ratecell_rules_change.
pub const RATECELL_CHANGE: u32 = 16384;

/// The instant of a call whose only flag is [`RATECELL_AT`]; `None` by the limiter's clock.
pub(super) fn instant(flags: u32, now_ns: u64) -> Result<Option<u64>, ratecell_status> {
    if flags & !RATECELL_AT == 0 {
        Ok((flags & RATECELL_AT != 0).then_some(now_ns))
    } else {
        Err(RATECELL_EINVAL)
    }
}
