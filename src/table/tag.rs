//! The bits of a slot's tag and of a header's version.

const VOID_BITS: u32 = 7;
const TENURE_BITS: u32 = 13;
const GENERATION_BITS: u32 = 2;

const VOID: u64 = (1 << VOID_BITS) - 1;
const TENURE_SHIFT: u32 = VOID_BITS;
const TENURE: u64 = ((1 << TENURE_BITS) - 1) << TENURE_SHIFT;
const TURN_BITS: u32 = VOID_BITS + TENURE_BITS;
const TURN: u64 = (1 << TURN_BITS) - 1;
const GENERATION_SHIFT: u32 = TURN_BITS;
const GENERATION: u64 = ((1 << GENERATION_BITS) - 1) << GENERATION_SHIFT;
const MEMBER: u64 = 1 << (TURN_BITS + GENERATION_BITS);
const ROLE_SHIFT: u32 = TURN_BITS + GENERATION_BITS + 1;
const ROLE: u64 = 1 << ROLE_SHIFT;
const FP_SHIFT: u32 = ROLE_SHIFT + 1;
/// Of the fp in a table of several policies: the number of the word's policy. No place follows from them.
pub(super) const NUMBER_BITS: u32 = 12;
/// How many numbers there are.
pub(super) const NUMBERS: usize = 1 << NUMBER_BITS;

/// Of a policy in force: how often it was changed before, modulo 4. Two bits of a word's tag say which one the word speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct GenerationNumber(
    /// Where it stands in a tag.
    u64,
);

impl GenerationNumber {
    pub(super) fn of(number: u64) -> Self {
        Self((number << GENERATION_SHIFT) & GENERATION)
    }

    /// How many changes there were from this one to `later`: 0 to 3.
    pub(super) fn changes_until(self, later: Self) -> usize {
        ((later.0.wrapping_sub(self.0) & GENERATION) >> GENERATION_SHIFT) as usize
    }
}

/// Which key a slot belongs to, and whose turn it is there.
///
/// | field | bits | meaning |
/// | --- | --- | --- |
/// | fp | 40 | of the key's hash; in a table of several policies the low 12 bits are the [number](super::numbers) of the word's |
/// | role | 1 | 0 in the key's home bucket, 1 in its alternate |
/// | member | 1 | 0: nobody's, empty |
/// | generation | 2 | of the policy that the word speaks |
/// | tenure | 13 | counts the keys that the slot has had, and how often one was forgotten |
/// | void | 7 | counts, within a tenure, the reservations that were voided and whatever lowered the word |
///
/// Tenure and void are the *turn*. It changes by a seizure and by a forget (the next tenure, void 0), and by a void and
/// a giving back (the next void); by nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tag(u64);

impl Tag {
    /// Of a slot that nobody ever had. No other tag is 0.
    pub(crate) const EMPTY: Self = Self(0);

    #[inline(always)]
    pub(super) fn of_bits(bits: u64) -> Self {
        Self(bits)
    }

    #[inline(always)]
    pub(super) fn bits(self) -> u64 {
        self.0
    }

    /// The key part alone, of a key with hash `h`, in its home: the fp are the low bits.
    #[inline]
    pub(super) fn of_hash(h: u64) -> Self {
        Self(h << FP_SHIFT)
    }

    /// The hash `h` with that number in place of its low bits, from which the fp are taken.
    #[inline(always)]
    pub(super) fn numbered(h: u64, number: usize) -> u64 {
        (h & !(NUMBERS as u64 - 1)) | number as u64
    }

    /// The number of the word's policy, in a table of several.
    #[inline]
    pub(super) fn number(self) -> usize {
        self.fp() as usize % NUMBERS
    }

    /// The same key in its alternate.
    #[inline]
    pub(super) fn in_alternate(self) -> Self {
        self.in_role(true)
    }

    /// The key of a home tag in its alternate, or still at home.
    #[inline]
    pub(super) fn in_role(self, alternate: bool) -> Self {
        Self(self.0 | (u64::from(alternate) << ROLE_SHIFT))
    }

    /// The upper half: 32 bits of the fp, enough to tell which slots to look at.
    #[inline]
    pub(super) fn coarse(self) -> u32 {
        (self.0 >> 32) as u32
    }

    #[inline]
    pub(super) fn is_empty(self) -> bool {
        self.0 & MEMBER == 0
    }

    #[inline]
    pub(super) fn fp(self) -> u64 {
        self.0 >> FP_SHIFT
    }

    #[inline]
    pub(super) fn is_alternate(self) -> bool {
        self.0 & ROLE != 0
    }

    /// The same with a word of that generation.
    #[inline(always)]
    pub(super) fn of_generation(self, GenerationNumber(bits): GenerationNumber) -> Self {
        Self((self.0 & !GENERATION) | bits)
    }

    #[inline(always)]
    pub(super) fn generation(self) -> GenerationNumber {
        GenerationNumber(self.0 & GENERATION)
    }

    /// Tenure and void.
    #[inline]
    pub(super) fn turn(self) -> u64 {
        self.0 & TURN
    }

    /// Whether the slot is the key's of `identity`, with a word of the same generation: one comparison, for the lookup.
    #[inline]
    pub(super) fn is_of(self, identity: Self) -> bool {
        (self.0 ^ (identity.0 | MEMBER)) <= TURN
    }

    /// Whether the slot is the key's of `identity`, with a word of any generation.
    #[inline]
    pub(super) fn is_of_key(self, identity: Self) -> bool {
        (self.0 ^ (identity.0 | MEMBER)) & !GENERATION <= TURN
    }

    /// Whether the slot is the key's of `identity`, in the tenure of that seat, with a word of any generation.
    #[inline]
    pub(super) fn is_of_seat(self, identity: Self, seat: SeatNumber) -> bool {
        (self.0 ^ (identity.0 | MEMBER | seat.tenure())) & !(GENERATION | VOID) == 0
    }

    /// Whether the slot has neither changed hands nor been forgotten, nor its word been carried to another generation,
    /// between the two.
    #[inline]
    pub(super) fn is_tenure_of(self, other: Self) -> bool {
        (self.0 ^ other.0) & !VOID == 0
    }

    /// The same tenure, in which one more reservation has been voided, or something given back. A tag that is not 0 does
    /// not become 0.
    pub(super) fn next_void(self) -> Self {
        let void = self.0.wrapping_add(1) & VOID;
        let next = (self.0 & !VOID) | void;
        Self(if next == 0 { 1 } else { next })
    }

    /// The next tenure, of the key of `identity`.
    pub(super) fn seized_by(self, identity: Self) -> Self {
        Self(identity.0 | MEMBER | self.next_tenure())
    }

    /// The next tenure, of the same key.
    pub(super) fn forgotten(self) -> Self {
        Self((self.0 & !TURN) | self.next_tenure())
    }

    fn next_tenure(self) -> u64 {
        self.0.wrapping_add(1 << TENURE_SHIFT) & TENURE
    }
}

const PLACE_BITS: u32 = 3;
const DISTANCE_BITS: u32 = 9;
const SLOT_SHIFT: u32 = TURN_BITS;
const SLOT_BITS: u32 = PLACE_BITS + DISTANCE_BITS;
const OF_SHARED_SHIFT: u32 = SLOT_SHIFT + SLOT_BITS;
const OF_SHARED: u64 = ((1 << GENERATION_BITS) - 1) << OF_SHARED_SHIFT;
const SEQ_SHIFT: u32 = OF_SHARED_SHIFT + GENERATION_BITS;

/// The order of all insertions of one home, and the name of the slot that the last one reserved.
///
/// | field | bits | meaning |
/// | --- | --- | --- |
/// | seq | 30 | counts reservations, and charges of the shared cell |
/// | generation | 2 | of the policy that the shared cell's word speaks; 0 under any answer of a full table but `Share`, where the header has a floor in place of that word |
/// | distance | 9 | of the slot's bucket from home |
/// | place | 3 | of the slot in its bucket, counted from 1; 0: no slot is named |
/// | turn | 20 | of the slot when it was reserved |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Version(u64);

impl Version {
    /// Before any insertion.
    pub(super) const FIRST: Self = Self(0);

    #[inline(always)]
    pub(super) fn of_bits(bits: u64) -> Self {
        Self(bits)
    }

    #[inline(always)]
    pub(super) fn bits(self) -> u64 {
        self.0
    }

    /// The version after this one, which names a slot by its bucket's distance from home and its place there.
    pub(super) fn naming(self, distance: usize, place: usize, tag: Tag) -> Self {
        let slot = ((distance as u64) << PLACE_BITS) | place as u64;
        Self(self.next_seq() | (self.0 & OF_SHARED) | (slot << SLOT_SHIFT) | tag.turn())
    }

    /// The version after this one, which names the same slot.
    pub(super) fn next(self) -> Self {
        Self(self.next_seq() | (self.0 & ((1 << SEQ_SHIFT) - 1)))
    }

    /// The version after this one, which names no slot.
    pub(super) fn naming_none(self) -> Self {
        Self(self.next_seq() | (self.0 & OF_SHARED))
    }

    fn next_seq(self) -> u64 {
        ((self.0 >> SEQ_SHIFT).wrapping_add(1)) << SEQ_SHIFT
    }

    /// The same with a shared cell's word of that generation.
    pub(super) fn of_generation(self, GenerationNumber(bits): GenerationNumber) -> Self {
        Self((self.0 & !OF_SHARED) | (bits << (OF_SHARED_SHIFT - GENERATION_SHIFT)))
    }

    #[inline]
    pub(super) fn generation(self) -> GenerationNumber {
        GenerationNumber((self.0 & OF_SHARED) >> (OF_SHARED_SHIFT - GENERATION_SHIFT))
    }

    /// How far the named slot's bucket is from home, and its place there; `None` if no slot is named.
    #[inline]
    pub(super) fn slot(self) -> Option<(usize, usize)> {
        let slot = self.0 >> SLOT_SHIFT;
        let place = slot & ((1 << PLACE_BITS) - 1);
        let distance = (slot >> PLACE_BITS) & ((1 << DISTANCE_BITS) - 1);
        (place != 0).then_some((distance as usize, place as usize))
    }

    /// The turn of the named slot for which it is reserved.
    #[inline]
    pub(super) fn turn(self) -> u64 {
        self.0 & TURN
    }
}

/// Where a charge stands that is held: its slot, and the tenure in which it was charged. Plain data, which callers keep.
///
/// | field | bits | meaning |
/// | --- | --- | --- |
/// | distance | 9 | of the slot's bucket from home |
/// | place | 3 | of the slot in its bucket, counted from 1; 0: no slot |
/// | tenure | 13 | of the slot, where its tag has it |
/// | spare | 6 | zeros |
/// | shared | 1 | it is the cell that the newcomers of the home share |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SeatNumber(u32);

impl SeatNumber {
    /// No seat.
    pub(crate) const NOWHERE: Self = Self(0);

    /// The cell that newcomers share.
    pub(crate) const SHARED: Self = Self(1);

    pub(super) fn new(distance: usize, place: usize, tag: Tag) -> Self {
        let slot = ((distance as u32) << PLACE_BITS) | place as u32;
        Self((slot << (u32::BITS - SLOT_BITS)) | (tag.0 & TENURE) as u32)
    }

    /// That of a log, by the place in its shard, and how many logs that had before.
    pub(super) fn of_log(place: usize, life: u16) -> Self {
        Self::new(place, 1, Tag(u64::from(life) << TENURE_SHIFT))
    }

    pub(crate) fn of_bits(bits: u32) -> Self {
        Self(bits)
    }

    pub(crate) fn bits(self) -> u32 {
        self.0
    }

    pub(crate) fn is_shared(self) -> bool {
        self.0 & 1 != 0
    }

    /// How far the slot's bucket is from home, and its place there; `None` if it is no slot.
    pub(super) fn slot(self) -> Option<(usize, usize)> {
        let slot = self.0 >> (u32::BITS - SLOT_BITS);
        let place = slot & ((1 << PLACE_BITS) - 1);
        (place != 0).then_some(((slot >> PLACE_BITS) as usize, place as usize))
    }

    /// Where it stands in a tag.
    fn tenure(self) -> u64 {
        u64::from(self.0) & TENURE
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_tag_keeps_its_fields_apart(fp in prop_oneof![Just(0), 0u64..1 << 40], alternate: bool, garbage: u64) {
            let identity = Tag::of_hash(fp).in_role(alternate);
            let before = Tag(garbage);
            let seized = before.seized_by(identity);
            prop_assert_eq!((seized.fp(), seized.is_alternate()), (fp, alternate));
            prop_assert!(seized.is_of(identity) && !seized.is_empty());
            prop_assert!(!seized.is_of(Tag::of_hash(fp ^ 1)) && !seized.is_of(Tag::of_hash(fp).in_role(!alternate)));
            let tenure = |tag: Tag| tag.turn() >> VOID_BITS;
            prop_assert_eq!(tenure(seized), (tenure(before) + 1) % (1 << TENURE_BITS));
            prop_assert_eq!(seized.turn() & VOID, 0);
            prop_assert!(!Tag::EMPTY.is_of(identity) && Tag::EMPTY.is_empty());

            let forgotten = seized.forgotten();
            prop_assert!(forgotten.is_of(identity) && !forgotten.is_tenure_of(seized));
            prop_assert_eq!(tenure(forgotten), (tenure(seized) + 1) % (1 << TENURE_BITS));
            prop_assert_eq!(forgotten.turn() & VOID, 0);

            for number in 0..4 {
                let of = GenerationNumber::of(number);
                let carried = seized.of_generation(of);
                prop_assert_eq!((carried.generation(), carried.turn()), (of, seized.turn()));
                prop_assert!(carried.is_of_key(identity) && carried.is_of(identity.of_generation(of)));
                prop_assert_eq!(carried.is_of(identity), number == 0);
                prop_assert!(carried.forgotten().generation() == of && carried.next_void().generation() == of);
                prop_assert_eq!(carried.is_tenure_of(seized), number == 0);
            }

            let voided = before.next_void();
            prop_assert!(voided.is_tenure_of(before) && voided.turn() != before.turn() && voided != Tag::EMPTY);
            prop_assert_eq!(voided.is_empty(), before.is_empty());
            prop_assert!(voided.is_of(identity) == before.is_of(identity));
        }

        #[test]
        fn a_version_keeps_its_fields_apart(garbage: u64, distance in 0usize..=256, place in 1usize..8, turn: u64) {
            let tag = Tag(turn);
            let version = Version(garbage).naming(distance, place, tag);
            prop_assert_eq!((version.slot(), version.turn()), (Some((distance, place)), tag.turn()));
            prop_assert!(version != Version(garbage) && Version(0).slot().is_none());
            let next = version.next();
            prop_assert_eq!((next.slot(), next.turn()), (version.slot(), version.turn()));
            prop_assert!(next != version && next != Version(garbage));
            let none = version.naming_none();
            prop_assert!(none.slot().is_none() && none != version);
            for number in 0..4 {
                let of = GenerationNumber::of(number);
                let carried = version.of_generation(of);
                prop_assert_eq!((carried.slot(), carried.turn()), (version.slot(), version.turn()));
                for later in [carried, carried.next(), carried.naming_none(), carried.naming(1, 1, tag)] {
                    prop_assert_eq!(later.generation(), of);
                }
            }
        }
    }

    #[test]
    fn a_seat_number_keeps_its_fields_apart() {
        for (distance, place, tenure) in [(0, 1, 0), (256, 7, (1 << TENURE_BITS) - 1), (511, 3, 4_097)] {
            let identity = Tag::of_hash(7);
            let tag = Tag(identity.0 | MEMBER | tenure << TENURE_SHIFT | VOID);
            let number = SeatNumber::new(distance, place, tag);
            assert_eq!((number.slot(), number.is_shared()), (Some((distance, place)), false));
            assert!(
                tag.is_of_seat(identity, number)
                    && tag.of_generation(GenerationNumber::of(3)).is_of_seat(identity, number)
            );
            assert!(!tag.forgotten().is_of_seat(identity, number));
            assert!(
                !tag.is_of_seat(identity.in_alternate(), number) && !tag.is_of_seat(Tag::of_hash(8), number)
            );
            assert!(!Tag(tag.0 & !MEMBER).is_of_seat(identity, number));
            assert_eq!(SeatNumber::of_bits(number.bits()), number);
        }
        assert!(SeatNumber::SHARED.is_shared() && SeatNumber::SHARED.slot().is_none());
    }

    #[test]
    fn the_voids_of_an_empty_slot_never_make_it_one_that_nobody_had() {
        let mut tag = Tag::EMPTY;
        for _ in 0..1 << (VOID_BITS + 1) {
            let next = tag.next_void();
            assert!(next.is_empty() && next != Tag::EMPTY && next != tag);
            tag = next;
        }
    }
}
