//! The word in which a charge stands, found again by the number of its seat.

use super::Table;
use super::buckets::{Address, Index};
use super::hold::Superseded;
use super::insert::{is_still_absent, settle};
use super::judge::Judge;
use super::layout::{Ground, Slot};
use super::tag::{GenerationNumber, SeatNumber, Tag};

/// A word, and what it is exchanged together with.
pub(super) enum Found<'t, const SLOTS: usize> {
    Slot(&'t Slot, Tag, u64),
    /// The cell that the newcomers of its home share.
    Shared(Ground),
}

/// A word, and its bucket.
pub(super) type Seated<'t, const SLOTS: usize> = (Index<'t, SLOTS>, Found<'t, SLOTS>);

impl<const SLOTS: usize, J: Judge> Table<SLOTS, J> {
    /// The word at that seat and its bucket, as one of this era; `None` if the charge's life is over.
    pub(super) fn held_word<'t>(
        &self,
        address: &Address<'t, SLOTS>,
        seat: SeatNumber,
    ) -> Result<Option<Seated<'t, SLOTS>>, Superseded> {
        while let Some(seated) = self.seated(address, seat) {
            if self.is_of_this_era(&seated)? {
                return Ok(Some(seated));
            }
            // Where it fails another caller was in the way.
            match seated.1 {
                Found::Slot(slot, tag, _) => {
                    self.carry(slot, tag);
                }
                Found::Shared(ground) => self.carry_shared(address.home, ground),
            }
        }
        Ok(None)
    }

    /// Whether the word is of this era, and not of another generation.
    #[inline(always)]
    pub(super) fn is_of_this_era(&self, (_, found): &Seated<'_, SLOTS>) -> Result<bool, Superseded> {
        // The number after the word: the bits mean this era, and not one four changes later.
        if !self.era.is_in_force() {
            return Err(Superseded);
        }
        Ok(found.generation() == self.era.in_tag())
    }

    /// The word at that seat and its bucket; `None` if the charge's life is over.
    fn seated<'t>(&self, address: &Address<'t, SLOTS>, seat: SeatNumber) -> Option<Seated<'t, SLOTS>> {
        if seat.is_shared() {
            let ground = address.home.bucket().header.ground();
            return self.shares().then_some((address.home, Found::Shared(ground)));
        }
        self.slot_of(address, seat)
    }

    /// The slot of that seat, whatever number the caller's memory held; `None` if it is none, if it is another key's, or if the
    /// key was forgotten.
    #[inline(always)]
    pub(super) fn slot_of<'t>(
        &self,
        address: &Address<'t, SLOTS>,
        seat: SeatNumber,
    ) -> Option<Seated<'t, SLOTS>> {
        let (distance, place) = seat.slot()?;
        let (bucket, identity) = address.at_distance(distance)?;
        let slot = bucket.bucket().slots.get(place - 1)?;
        let tag = slot.tag();
        tag.is_of_seat(identity, seat).then(|| (bucket, Found::Slot(slot, tag, slot.word())))
    }
}

impl<const SLOTS: usize> Found<'_, SLOTS> {
    fn generation(&self) -> GenerationNumber {
        match self {
            Self::Slot(_, tag, _) => tag.generation(),
            Self::Shared(ground) => ground.version.generation(),
        }
    }

    pub(super) fn word(&self) -> u64 {
        match self {
            Self::Slot(_, _, word) => *word,
            Self::Shared(ground) => ground.word,
        }
    }

    /// Whether the word may still be the key's.
    pub(super) fn is_still_held(&self, address: &Address<'_, SLOTS>) -> bool {
        match *self {
            Self::Slot(slot, tag, _) => slot.tag().is_tenure_of(tag),
            Self::Shared(ground) => is_still_absent(address, ground.version),
        }
    }

    /// [`replace`](Self::replace), by a word that holds no less: in the shared cell only while the key has none of its own.
    pub(super) fn move_on(&self, address: &Address<'_, SLOTS>, word: u64) -> bool {
        let may_be = match self {
            Self::Slot(..) => true,
            Self::Shared(ground) => settle(address, ground.version),
        };
        may_be && self.replace(address, word)
    }

    /// Changes the word to `lower`, if neither it nor what stands beside it has changed.
    #[inline(always)]
    pub(super) fn replace(&self, address: &Address<'_, SLOTS>, lower: u64) -> bool {
        match *self {
            Self::Slot(slot, tag, word) => slot.replace((tag, word), (tag.next_void(), lower)),
            // The next seq, as after a charge: a caller that has seen another word begins anew.
            Self::Shared(ground) => {
                let lowered = Ground { version: ground.version.next(), word: lower };
                address.home.bucket().header.replace(ground, lowered)
            }
        }
    }
}
