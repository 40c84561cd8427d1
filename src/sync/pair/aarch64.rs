//! The exchange of aarch64: `caspal` where the target has it (LSE, Armv8.1), else `ldaxp` and `stlxp`, which all have.

use super::Words;
use super::halves::Pair;

pub(super) fn is_supported() -> bool {
    true
}

#[inline(always)]
#[cfg(target_feature = "lse")]
#[expect(unsafe_code, reason = "no stable function of the language exchanges 16 bytes")]
pub(super) fn replace(pair: &Pair, from: Words, to: Words) -> bool {
    let (first, second): Words;
    // SAFETY: The pair is 16 readable and writable bytes at a multiple of 16. What the instruction does to the two
    // atomics, two compare-exchanges may do.
    //
    // It takes its values in pairs of registers, of which the first has an even number.
    unsafe {
        core::arch::asm!(
            "caspal x4, x5, x6, x7, [{pair}]",
            pair = in(reg) pair.as_ptr(),
            inout("x4") from.0 => first,
            inout("x5") from.1 => second,
            in("x6") to.0,
            in("x7") to.1,
            options(nostack, preserves_flags),
        );
    }
    (first, second) == from
}

#[inline(always)]
#[cfg(not(target_feature = "lse"))]
#[expect(unsafe_code, reason = "no stable function of the language exchanges 16 bytes")]
pub(super) fn replace(pair: &Pair, from: Words, to: Words) -> bool {
    let differs: u64;
    // SAFETY: The pair is 16 readable and writable bytes at a multiple of 16. What the instructions do to the two
    // atomics, two compare-exchanges may do.
    //
    // `ldaxp` reads each word at once, but both at once only if the store succeeds. So a word that differs was different,
    // and nothing is stored; two that are equal are asked again until the store succeeds.
    unsafe {
        core::arch::asm!(
            "2:",
            "ldaxp {first}, {second}, [{pair}]",
            "cmp {first}, {from_first}",
            "ccmp {second}, {from_second}, #0, eq",
            "b.ne 3f",
            "stlxp {failed:w}, {to_first}, {to_second}, [{pair}]",
            "cbnz {failed:w}, 2b",
            "3:",
            "cset {differs}, ne",
            pair = in(reg) pair.as_ptr(),
            from_first = in(reg) from.0,
            from_second = in(reg) from.1,
            to_first = in(reg) to.0,
            to_second = in(reg) to.1,
            first = out(reg) _,
            second = out(reg) _,
            failed = out(reg) _,
            differs = lateout(reg) differs,
            options(nostack),
        );
    }
    differs == 0
}
