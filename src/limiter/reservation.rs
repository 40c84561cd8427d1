//! Reservations: plain data that says what was charged, and where it stands.

use core::fmt;

use arrayvec::ArrayVec;

use crate::table::{Holding, SeatNumber};
use ratecell_core::algorithm::Held;

/// The most layers of a policy that can be reserved: as many as a region has.
pub(crate) const MAX_RESERVED: usize = 8;

/// The form of the bytes, which they name.
const FORM: u8 = 1;
const HEAD_BYTES: usize = 24;
const LAYER_BYTES: usize = 40;
const WORD_BYTES: usize = 8;

/// What a [`reserve`](crate::Limiter::reserve) has charged: to settle, release or renew it later, in this process or in
/// another one that uses the same table.
///
/// It is plain data. Nothing is kept in the limiter for it, and nothing has to be done with it: what is not given back
/// drains as any charge does, and a permit comes back by itself.
///
/// ```
/// use ratecell::{Limiter, Policy, Request, Reservation};
///
/// let limiter = Limiter::builder("90000/m".parse::<Policy>()?).max_keys(1_000).build()?;
/// let (_, reservation) = limiter.reserve(Request::new("org:7").cost(4_000).at(0))?;
/// let reservation = reservation.expect("it was allowed");
/// let bytes = reservation.to_bytes();                        // to another process
/// assert_eq!(Reservation::from_bytes(&bytes)?, reservation);
/// let left = limiter.settle_at(reservation, 1_000, 0);       // 3,000 come back
/// assert_eq!(left.remaining(), 89_000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a reservation that is dropped gives nothing back before it has drained"]
pub struct Reservation {
    /// Of the key, by the table's secret.
    pub(super) hash: u64,
    /// The units.
    pub(super) cost: u32,
    /// Of the policy: how often it had been changed, modulo 2^16.
    pub(super) generation: u16,
    /// Of what the words mean, and whose they are.
    pub(super) digest: u64,
    pub(super) layers: HeldLayers,
}

/// What is held of each layer, at its number. Seats stand apart: a move of a reservation copies room for all layers, and so
/// no padding.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct HeldLayers {
    /// [`NOWHERE`](SeatNumber::NOWHERE) of a layer where nothing is held.
    seats: ArrayVec<SeatNumber, MAX_RESERVED>,
    /// As many.
    held: ArrayVec<Held, MAX_RESERVED>,
}

impl HeldLayers {
    pub(super) fn len(&self) -> usize {
        self.held.len()
    }

    #[inline(always)]
    pub(super) fn get(&self, number: usize) -> Option<Holding> {
        let (seat, held) = (*self.seats.get(number)?, *self.held.get(number)?);
        (seat != SeatNumber::NOWHERE).then_some(Holding { seat, held })
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Option<Holding>> {
        (0..self.len()).map(|number| self.get(number))
    }

    /// What is held of a layer from now on.
    pub(super) fn replace(&mut self, number: usize, Holding { seat, held }: Holding) {
        if let (Some(its_seat), Some(its_held)) = (self.seats.get_mut(number), self.held.get_mut(number)) {
            (*its_seat, *its_held) = (seat, held);
        }
    }
}

impl FromIterator<Option<Holding>> for HeldLayers {
    /// Of as many as there is room for.
    #[inline(always)]
    fn from_iter<I: IntoIterator<Item = Option<Holding>>>(layers: I) -> Self {
        let mut held = Self::default();
        for layer in layers {
            let Holding { seat, held: its } = layer.unwrap_or(NOTHING);
            // Both have room, or neither.
            let _ = (held.seats.try_push(seat), held.held.try_push(its));
        }
        held
    }
}

/// Why a limiter cannot reserve. It is found before anything is charged.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReserveError {
    /// The policy has more layers than a reservation.
    #[non_exhaustive]
    Layers {
        /// How many the policy has.
        layers: usize,
    },
    /// The limiter is in a region that was made without room for what is given back, which its policy needs.
    NotCounted,
    /// The limiter shares its units with other machines: units that are given back to a lease would be given back twice.
    Shared,
    /// The request is a [charge](crate::Request::charge): of units that have been spent there is nothing to reserve.
    Charge,
}

impl fmt::Display for ReserveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Layers { layers } => {
                write!(f, "a reservation of {layers} layers: expected a policy of at most {MAX_RESERVED}")
            }
            Self::NotCounted => f.write_str(
                "the region was made without room for what is given back: expected one made with reservations",
            ),
            Self::Shared => f.write_str(
                "a limiter that shares its units with other machines reserves none: expected a limiter of one machine",
            ),
            Self::Charge => f.write_str("a charge reserves nothing: expected a request that may be refused"),
        }
    }
}

impl core::error::Error for ReserveError {}

/// Why bytes are no [`Reservation`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReservationError {
    /// Another number of bytes than a reservation of its layers has.
    #[non_exhaustive]
    Length {
        /// How many there are.
        len: usize,
    },
    /// Another form than this version of the library writes.
    #[non_exhaustive]
    Form {
        /// The form that the bytes name.
        form: u8,
    },
}

impl fmt::Display for ReservationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length { len } => write!(
                f,
                "{len} bytes are no reservation: expected {HEAD_BYTES} and {LAYER_BYTES} more for each of 1 to \
                 {MAX_RESERVED} layers, as many as they name"
            ),
            Self::Form { form } => write!(f, "a reservation of form {form}: expected form {FORM}"),
        }
    }
}

impl core::error::Error for ReservationError {}

/// What stands in the place of a layer where nothing is held.
const NOTHING: Holding =
    Holding { seat: SeatNumber::NOWHERE, held: Held { made: 0, start: 0, end: 0, given: 0 } };

impl Reservation {
    /// The most bytes of a reservation.
    pub const MAX_BYTES: usize = HEAD_BYTES + MAX_RESERVED * LAYER_BYTES;

    /// The units that are reserved.
    #[must_use]
    pub fn cost(&self) -> u32 {
        self.cost
    }

    /// The reservation as bytes: 24, and 40 for each layer, in the byte order of the machine. They are of use to processes
    /// that share the table.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEAD_BYTES + self.layers.len() * LAYER_BYTES);
        self.write(|word| bytes.extend_from_slice(&word.to_ne_bytes()));
        bytes
    }

    /// How long the reservation is with which these bytes begin, if it is one.
    #[cfg(feature = "rules")]
    pub(crate) fn length(bytes: &[u8]) -> Option<usize> {
        let head = words(bytes.get(..HEAD_BYTES)?)?;
        Some(HEAD_BYTES + count_of(&head) * LAYER_BYTES)
    }

    /// Hands out the words that the bytes are.
    #[inline]
    pub(crate) fn write(&self, mut out: impl FnMut(u64)) {
        let ([a, b, c, d], [g, h]) = (self.cost.to_ne_bytes(), self.generation.to_ne_bytes());
        // At most 8.
        let count = self.layers.len() as u8;
        for word in [self.hash, u64::from_ne_bytes([a, b, c, d, count, FORM, g, h]), self.digest] {
            out(word);
        }
        for layer in self.layers.iter() {
            let Holding { seat, held } = layer.unwrap_or(NOTHING);
            let Held { made, start, end, given } = held;
            let [a, b, c, d] = seat.bits().to_ne_bytes();
            for word in [u64::from_ne_bytes([a, b, c, d, 0, 0, 0, 0]), made, start, end, given] {
                out(word);
            }
        }
    }

    /// The reservation that these bytes are.
    ///
    /// # Errors
    /// [`ReservationError`]: the bytes are not those of a reservation. Whether the reservation is of a limiter's table is
    /// found out when it is settled: one of another table gives nothing back.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ReservationError> {
        let length = ReservationError::Length { len: bytes.len() };
        let (head, layers) = bytes.split_at_checked(HEAD_BYTES).ok_or(length)?;
        let head = words(head).ok_or(length)?;
        if let Some(error) = wrong_form(&head) {
            return Err(error);
        }
        let layers = layers.chunks(LAYER_BYTES).map(words);
        Self::of_parts(&head, layers).ok_or(length)
    }

    /// The reservation with which these words begin; what follows is not read.
    #[cfg_attr(not(feature = "capi"), expect(dead_code, reason = "in C it stands in memory for all layers"))]
    pub(crate) fn from_words(words: &[u64; Self::MAX_BYTES / WORD_BYTES]) -> Result<Self, ReservationError> {
        let (head, layers) = words.split_first_chunk().ok_or(ReservationError::Length { len: 0 })?;
        if let Some(error) = wrong_form(head) {
            return Err(error);
        }
        let count = count_of(head);
        let length = ReservationError::Length { len: HEAD_BYTES + count * LAYER_BYTES };
        let layers = layers.as_chunks().0.iter().take(count).map(|layer| Some(*layer));
        Self::of_parts(head, layers).ok_or(length)
    }

    /// `None` where there are not as many layers as the head names, or none, or one is not whole.
    fn of_parts(
        head: &[u64; HEAD_BYTES / WORD_BYTES],
        parts: impl ExactSizeIterator<Item = Option<[u64; LAYER_BYTES / WORD_BYTES]>>,
    ) -> Option<Self> {
        let [hash, named, digest] = *head;
        let [a, b, c, d, _, _, g, h] = named.to_ne_bytes();
        let (cost, generation) = (u32::from_ne_bytes([a, b, c, d]), u16::from_ne_bytes([g, h]));
        let count = parts.len();
        let is_whole = (1..=MAX_RESERVED).contains(&count) && count == count_of(head);
        let layers = parts.map(|part| part.map(|part| holding(&part))).collect::<Option<_>>()?;
        is_whole.then_some(Self { hash, cost, generation, digest, layers })
    }
}

fn wrong_form(&[_, named, _]: &[u64; HEAD_BYTES / WORD_BYTES]) -> Option<ReservationError> {
    let [.., form, _, _] = named.to_ne_bytes();
    (form != FORM).then_some(ReservationError::Form { form })
}

/// The layers that a head names.
fn count_of(&[_, named, _]: &[u64; HEAD_BYTES / WORD_BYTES]) -> usize {
    let [.., count, _, _, _] = named.to_ne_bytes();
    count.into()
}

/// What is held of a layer.
fn holding(&[seat, made, start, end, given]: &[u64; LAYER_BYTES / WORD_BYTES]) -> Option<Holding> {
    let [a, b, c, d, ..] = seat.to_ne_bytes();
    let seat = SeatNumber::of_bits(u32::from_ne_bytes([a, b, c, d]));
    let held = Held { made, start, end, given };
    (seat != SeatNumber::NOWHERE).then_some(Holding { seat, held })
}

/// The words that these bytes are, if they are exactly so many.
fn words<const N: usize>(bytes: &[u8]) -> Option<[u64; N]> {
    let mut words = [0; N];
    let (chunks, rest) = bytes.as_chunks();
    for (word, bytes) in words.iter_mut().zip(chunks) {
        *word = u64::from_ne_bytes(*bytes);
    }
    (chunks.len() == N && rest.is_empty()).then_some(words)
}
