//! The search by SSE2, which every x86-64 processor has.

use core::mem::offset_of;
use core::sync::atomic::{Ordering, fence};

use super::super::layout::{Bucket, Slot};
use super::super::tag::Tag;

/// The bits of the two headers, in whose place the search reads the version.
const HEADERS: u32 = 0x0101;

/// A bit for each place whose tag has the same coarse part as `identity`, those of `home` first.
#[inline(always)]
pub(super) fn alike<const SLOTS: usize>(
    home: &Bucket<SLOTS>,
    alternate: &Bucket<SLOTS>,
    identity: Tag,
) -> u32 {
    const {
        assert!(SLOTS == 7 && size_of::<Bucket<SLOTS>>() == 128 && size_of::<Slot>() == 16);
        assert!(offset_of!(Bucket<SLOTS>, slots) == 16 && size_of_val(&Tag::EMPTY) == 8);
    }
    let alike: u32;
    // SAFETY: each bucket is 8 pairs of 16 bytes, of which the first 8 are a version or a tag. These alone are read,
    // each by one aligned load, as a relaxed load reads it. No memory is written, and neither flags nor stack are
    // touched.
    //
    // Tag by tag: a load of a slot as one would wait for a charge of its word that is still on its way. shufps 0xDD
    // takes the upper halves of four tags; the packs make a byte of each comparison.
    unsafe {
        core::arch::asm!(
            "movd {wanted}, {coarse:e}",
            "pshufd {wanted}, {wanted}, 0",
            "movq {a}, [{home}]",
            "movhps {a}, [{home} + 16]",
            "movq {half}, [{home} + 32]",
            "movhps {half}, [{home} + 48]",
            "shufps {a}, {half}, 0xDD",
            "pcmpeqd {a}, {wanted}",
            "movq {b}, [{home} + 64]",
            "movhps {b}, [{home} + 80]",
            "movq {half}, [{home} + 96]",
            "movhps {half}, [{home} + 112]",
            "shufps {b}, {half}, 0xDD",
            "pcmpeqd {b}, {wanted}",
            "movq {c}, [{alternate}]",
            "movhps {c}, [{alternate} + 16]",
            "movq {half}, [{alternate} + 32]",
            "movhps {half}, [{alternate} + 48]",
            "shufps {c}, {half}, 0xDD",
            "pcmpeqd {c}, {wanted}",
            "movq {d}, [{alternate} + 64]",
            "movhps {d}, [{alternate} + 80]",
            "movq {half}, [{alternate} + 96]",
            "movhps {half}, [{alternate} + 112]",
            "shufps {d}, {half}, 0xDD",
            "pcmpeqd {d}, {wanted}",
            "packssdw {a}, {b}",
            "packssdw {c}, {d}",
            "packsswb {a}, {c}",
            "pmovmskb {alike:e}, {a}",
            home = in(reg) core::ptr::from_ref(home),
            alternate = in(reg) core::ptr::from_ref(alternate),
            coarse = in(reg) identity.coarse(),
            wanted = out(xmm_reg) _,
            half = out(xmm_reg) _,
            a = out(xmm_reg) _,
            b = out(xmm_reg) _,
            c = out(xmm_reg) _,
            d = out(xmm_reg) _,
            alike = lateout(reg) alike,
            options(readonly, nostack, preserves_flags),
        );
    }
    // Acquire: what is loaded next is loaded after the tags. The processor loads in order, so the fence is for the
    // compiler.
    fence(Ordering::Acquire);
    alike & !HEADERS
}
