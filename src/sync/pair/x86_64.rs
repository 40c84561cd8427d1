//! The exchange of x86-64: `lock cmpxchg16b`, which all but its first processors have.

use super::Words;
use super::halves::Pair;

pub(super) fn is_supported() -> bool {
    std::arch::is_x86_feature_detected!("cmpxchg16b")
}

#[inline(always)]
#[expect(unsafe_code, reason = "no stable function of the language exchanges 16 bytes")]
pub(super) fn replace(pair: &Pair, from: Words, to: Words) -> bool {
    let replaced: u64;
    // SAFETY: The pair is 16 readable and writable bytes at a multiple of 16, and the processor has the instruction: no
    // table is made where it has not. What the instruction does to the two atomics, two compare-exchanges may do.
    //
    // The instruction takes `to.0` in rbx, which an operand cannot name. So it is swapped in, and rbx given back; the
    // address is in rdi by name, for any other register could be rbx. The flags are not preserved.
    unsafe {
        core::arch::asm!(
            "xchg {low}, rbx",
            "lock cmpxchg16b [rdi]",
            "mov rbx, {low}",
            "sete al",
            low = inout(reg) to.0 => _,
            in("rdi") pair.as_ptr(),
            in("rcx") to.1,
            inout("rax") from.0 => replaced,
            inout("rdx") from.1 => _,
            options(nostack),
        );
    }
    replaced & 0xFF != 0
}
