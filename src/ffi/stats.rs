//! The contents of a limiter, and the counts of its events.

use core::mem::MaybeUninit;

use super::flags::{RATECELL_AT, RATECELL_EXACT};
use super::{pointer, ratecell_limiter, ratecell_status, status};
use crate::limiter::{Limiter, Shared};
use crate::table::Stats;

/// The contents of a limiter, and the counts of its events. With several layers, events and bytes are summed, and
/// slots and live keys are those of the layer with the most.
///
/// Later versions may append fields.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ratecell_stats {
    /// Places for keys. The table is advertised for five sevenths of them.
    pub slots: u64,
    /// Live keys: keys that, at the given time, are not as good as never used.
    pub live: u64,
    /// Bytes of memory, fixed when the limiter was made. The entries of a sliding_log are not counted.
    pub bytes: u64,
    /// Live keys that were erased for newcomers.
    pub evicted: u64,
    /// Units that erased keys still held, rounded up for each key: the most that may have passed beyond the policy.
    pub forgiven: u64,
    /// Requests decided on a state shared by newcomers without room.
    pub shared: u64,
    /// Newcomers denied for want of room.
    pub denied_full: u64,
    /// Newcomers allowed uncharged for want of room.
    pub allowed_full: u64,
    /// Requests that met so many others at the same time that they were answered as by a full table.
    pub exhausted: u64,
    /// The bound on the error of live, up or down. 0 if every key was counted, which is exact while nothing else runs.
    /// For a sample it is four standard errors, which bounds the error of all but 1 of 10,000 limiters.
    pub live_error: u64,
    /// Of a limiter whose units are those of many machines, and of all on its file, since that was made; otherwise 0: this
    /// and all below. Units that the store granted to this machine.
    pub leased: u64,
    /// Units of them that were used. A lease is counted when it is replaced.
    pub used: u64,
    /// Units of them that passed unused.
    pub passed: u64,
    /// Units that were given back to the store.
    pub given_back: u64,
    /// Requests that nothing of this machine's could answer.
    pub misses: u64,
    /// Misses that waited for the store.
    pub waits: u64,
    /// Misses that waited in vain.
    pub timeouts: u64,
    /// Operations that were sent to the store.
    pub operations: u64,
    /// Operations that came after another machine's, and were repeated.
    pub swaps_lost: u64,
    /// How far the machine's idea of the store's clock is behind at most, in nanoseconds.
    pub lag_ns: u64,
    /// Words at the store below what this machine had charged: above 0, the store has forgotten what it was told.
    pub healed: u64,
    /// Misses that had no room on the machine's board.
    pub board_full: u64,
    /// Units that were allowed uncharged, because the store was away.
    pub opened: u64,
    /// Units that the agent granted by its part of the policy, because the store was away.
    pub local: u64,
    /// 1 if an agent is there and the store answers it; otherwise 0.
    pub connected: u64,
}

impl From<Stats> for ratecell_stats {
    fn from(stats: Stats) -> Self {
        let Stats { slots, live, live_error, bytes, evicted, forgiven, shared, .. } = stats;
        let Stats { denied_full, allowed_full, exhausted, .. } = stats;
        // A usize has at most 64 bits.
        let [slots, live, live_error, bytes] = [slots, live, live_error, bytes].map(|number| number as u64);
        Self {
            slots,
            live,
            bytes,
            evicted,
            forgiven,
            shared,
            denied_full,
            allowed_full,
            exhausted,
            live_error,
            ..Self::default()
        }
    }
}

impl ratecell_stats {
    /// These, and those of the machine.
    fn with(self, shared: Option<Shared>) -> Self {
        let Some(shared) = shared else { return self };
        Self {
            leased: shared.leased,
            used: shared.used,
            passed: shared.passed,
            given_back: shared.given_back,
            misses: shared.misses,
            waits: shared.waits,
            timeouts: shared.timeouts,
            operations: shared.operations,
            swaps_lost: shared.swaps_lost,
            lag_ns: shared.lag_ns,
            healed: shared.healed,
            board_full: shared.board_full,
            opened: shared.opened,
            local: shared.local,
            connected: u64::from(shared.is_connected),
            ..self
        }
    }
}

/// The bytes of a caller's stats, which may be those of an older or newer version.
///
/// # Safety
/// As the header's preamble has it.
pub(super) unsafe fn place<'a>(
    stats: *mut ratecell_stats,
    size: usize,
) -> Result<&'a mut [MaybeUninit<u8>], ratecell_status> {
    // SAFETY: the caller's word; as many bytes as it says.
    unsafe {
        pointer::output(stats)?;
        pointer::outputs(stats.cast::<u8>(), size)
    }
}

impl ratecell_stats {
    /// Writes them into the bytes of a caller's.
    pub(super) fn write(&self, place: &mut [MaybeUninit<u8>]) {
        // SAFETY: integers without padding between them: all bytes are initialised.
        let own = unsafe { core::slice::from_raw_parts((&raw const *self).cast::<u8>(), size_of_val(self)) };
        // What this version does not know is 0.
        let bytes = own.iter().copied().chain(core::iter::repeat(0));
        place.iter_mut().zip(bytes).for_each(|(place, byte)| {
            place.write(byte);
        });
    }
}

/// # Safety
/// As the header's preamble has it.
unsafe fn write(
    limiter: *const ratecell_limiter,
    stats: *mut ratecell_stats,
    size: usize,
    tell: impl FnOnce(&Limiter) -> Stats,
) -> Result<(), ratecell_status> {
    // SAFETY: the caller's word.
    let (limiter, place) = unsafe { (pointer::input(limiter)?, place(stats, size)?) };
    ratecell_stats::from(tell(&limiter.limiter)).with(limiter.limiter.shared_counts()).write(place);
    Ok(())
}

/// Report the contents of a limiter and the counts of its events: now, or with RATECELL_AT at now_ns, which is not
/// read otherwise.
///
/// Above 163,840 keys, live is estimated from 4 MiB of each layer, and live_error bounds its error; no other memory is read.
/// A sliding_log is always counted. With RATECELL_EXACT every key is counted: this takes tens of milliseconds for ten
/// million keys, and all memory of a region becomes resident.
///
/// size is sizeof(ratecell_stats): this many bytes are written. Bytes that this library does not know are 0.
///
/// Returns 0 and writes *stats.
/// Errors: RATECELL_EINVAL (limiter, flags, stats), RATECELL_EALIGN (limiter, stats), RATECELL_ESIZE (size).
/// NULL: neither.
/// Threads: any.
/// Since: 0.1
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ratecell_limiter_stats(
    limiter: *const ratecell_limiter,
    flags: u32,
    now_ns: u64,
    stats: *mut ratecell_stats,
    size: usize,
) -> i32 {
    if flags & !(RATECELL_AT | RATECELL_EXACT) != 0 {
        return ratecell_status::RATECELL_EINVAL as i32;
    }
    let tell = |limiter: &Limiter| {
        let now_ns = if flags & RATECELL_AT != 0 { now_ns } else { limiter.now_ns() };
        if flags & RATECELL_EXACT != 0 { limiter.stats_exact_at(now_ns) } else { limiter.stats_at(now_ns) }
    };
    // SAFETY: as the header's preamble has it.
    status::code(unsafe { write(limiter, stats, size, tell) })
}
