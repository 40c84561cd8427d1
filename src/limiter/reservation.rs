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
/// Where the number of layers stands.
const COUNT_AT: usize = 12;

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
    /// `None` of a layer where nothing is held.
    pub(super) layers: ArrayVec<Option<Holding>, MAX_RESERVED>,
}

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

/// The bytes of a layer of which nothing is held.
const NOTHING: u32 = 0;

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
        self.write(&mut |part: &[u8]| bytes.extend_from_slice(part));
        bytes
    }

    /// Hands out the bytes, part by part.
    pub(crate) fn write(&self, out: &mut impl FnMut(&[u8])) {
        out(&self.hash.to_ne_bytes());
        out(&self.cost.to_ne_bytes());
        // At most 8.
        out(&[self.layers.len() as u8, FORM]);
        out(&self.generation.to_ne_bytes());
        out(&self.digest.to_ne_bytes());
        for layer in &self.layers {
            let seat = layer.map_or(NOTHING, |holding| holding.seat.bits());
            let Held { made, start, end, given } = layer.map_or(Held::default(), |holding| holding.held);
            out(&seat.to_ne_bytes());
            out(&0_u32.to_ne_bytes());
            for number in [made, start, end, given] {
                out(&number.to_ne_bytes());
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
        let (words, form) = (numbers::<3>(head).ok_or(length)?, head.get(13).copied().ok_or(length)?);
        if form != FORM {
            return Err(ReservationError::Form { form });
        }
        let count = usize::from(head.get(COUNT_AT).copied().ok_or(length)?);
        if !(1..=MAX_RESERVED).contains(&count) || layers.len() != count * LAYER_BYTES {
            return Err(length);
        }
        let [hash, _, digest] = words;
        let cost = head.get(8..12).and_then(|bytes| bytes.try_into().ok()).map(u32::from_ne_bytes);
        let generation = head.get(14..16).and_then(|bytes| bytes.try_into().ok()).map(u16::from_ne_bytes);
        let holding = |layer: &[u8]| {
            let seat = layer.get(..4)?.try_into().ok().map(u32::from_ne_bytes)?;
            let [made, start, end, given] = numbers(layer.get(8..)?)?;
            let held = Held { made, start, end, given };
            Some((seat != NOTHING).then(|| Holding { seat: SeatNumber::of_bits(seat), held }))
        };
        let mut held = ArrayVec::new();
        for layer in layers.chunks(LAYER_BYTES) {
            held.try_push(holding(layer).ok_or(length)?).map_err(|_| length)?;
        }
        let (cost, generation) = (cost.ok_or(length)?, generation.ok_or(length)?);
        Ok(Self { hash, cost, generation, digest, layers: held })
    }

    /// The reservation with which these bytes begin; what follows is not read.
    #[cfg_attr(not(feature = "capi"), expect(dead_code, reason = "in C it stands in memory for all layers"))]
    pub(crate) fn from_start(bytes: &[u8]) -> Result<Self, ReservationError> {
        let length = ReservationError::Length { len: bytes.len() };
        let count = usize::from(bytes.get(COUNT_AT).copied().ok_or(length)?);
        Self::from_bytes(bytes.get(..HEAD_BYTES + count * LAYER_BYTES).ok_or(length)?)
    }
}

/// As many numbers as `bytes` begin with.
fn numbers<const N: usize>(bytes: &[u8]) -> Option<[u64; N]> {
    let mut numbers = [0; N];
    let words = bytes.as_chunks().0;
    for (number, word) in numbers.iter_mut().zip(words) {
        *number = u64::from_ne_bytes(*word);
    }
    (words.len() >= N).then_some(numbers)
}
