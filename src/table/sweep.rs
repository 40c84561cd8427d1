//! The sweep: every word is carried to the generation in force, before the two bits of an older one come to mean another.
//!
//! The headers come first, all of them. A caller that loaded the number in force long ago cannot reserve a slot after
//! that, and so cannot seize one of a bucket that is done.

use super::Table;
use super::insert::void_unused;
use super::judge::Judge;
use super::layout::Ground;
use crate::cell::back_off;

impl<const SLOTS: usize, J: Judge> Table<SLOTS, J> {
    /// Carries all words to this era; says no if it is not in force any more. One caller at a time does so, and it alone can
    /// change the policy.
    ///
    /// With `skips_unused`, headers are left as they are from which no key was ever inserted: memory that nobody has used
    /// stays so. A caller that looked at such a header, and stops for at least four changes, may then write a word of
    /// another generation.
    pub(crate) fn sweep(&self, skips_unused: bool) -> bool {
        for home in self.buckets.from(0) {
            let header = &home.bucket().header;
            let mut failed = 0;
            loop {
                let ground = header.ground();
                if skips_unused && ground == Ground::UNUSED {
                    break;
                }
                if let Some((distance, number)) = ground.version.slot()
                    && let Some(slot) = home.at_distance(distance).bucket().slots.get(number - 1)
                    && slot.tag().turn() == ground.version.turn()
                {
                    // Seized meanwhile, it is no reservation any more.
                    let _ = void_unused(slot, ground.version);
                }
                let mut next = Ground { version: ground.version.naming_none(), ..ground };
                if self.shares() {
                    next.version = next.version.of_generation(self.era.in_tag());
                    next.word = self.carried_shared(ground);
                }
                if header.replace(ground, next) {
                    break;
                }
                failed += 1;
                back_off(failed);
            }
        }
        for bucket in self.buckets.from(0) {
            for slot in &bucket.bucket().slots {
                let mut failed = 0;
                loop {
                    let tag = slot.tag();
                    if tag.is_empty() || self.era.is_of(tag) || self.carry(slot, tag) {
                        break;
                    }
                    if !self.era.is_in_force() {
                        return false;
                    }
                    failed += 1;
                    back_off(failed);
                }
            }
        }
        true
    }
}
