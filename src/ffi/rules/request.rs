//! What is asked of rules, and what they answer, as C sees it: frozen.

use core::ffi::{c_char, c_void};
use core::mem::MaybeUninit;
use std::borrow::Cow;

use super::super::flags::{RATECELL_RESERVE, instant};
use super::super::ratecell_status::RATECELL_EINVAL;
use super::super::{pointer, ratecell_decision, ratecell_reservation, ratecell_status};
use crate::rules::{Attribute, Attributes, File, Held, Made, Names};

/// The bytes that have room for the name of every rule, with its NUL.
pub const RATECELL_RULE_NAME_SIZE: usize = 72;

/// An attribute of a request: bytes. Frozen, 32 bytes on 64-bit machines.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ratecell_attribute {
    /// Its name in the file: method, path, host, client, header:NAME with NAME in small letters, or one that the file lists
    /// under attributes. One that the file does not use is passed over.
    pub name: *const c_void,
    /// Its length.
    pub name_len: usize,
    /// Its value. That of a path is the request target's as it was sent, still encoded; that of a client is the key of
    /// ratecell_client_key for the widths 32 and 128.
    pub value: *const c_void,
    /// Its length; an empty value is one, too.
    pub value_len: usize,
}

/// The decision on one rule that limits a request, for ratecell_rules_fields. Frozen, 80 bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ratecell_rules_claim {
    /// The decision of the rule's limit alone; where another one refused, that of a peek.
    pub decision: ratecell_decision,
    /// Which of the limiter's files it was decided by.
    pub file: u64,
    /// Which of that file's policies decided.
    pub policy: u64,
}

/// What a shadow rule would have answered. Frozen, 80 bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ratecell_rules_shadow {
    /// RATECELL_ALLOWED, RATECELL_DENIED, RATECELL_NEVER or RATECELL_CLOCK_RANGE.
    pub outcome: i32,
    /// 0.
    pub reserved: u32,
    /// The rule's name, and a NUL.
    pub rule: [c_char; RATECELL_RULE_NAME_SIZE],
}

/// What a request with RATECELL_RESERVE has charged of one rule that limits it. Frozen, 360 bytes of plain data. All zeros
/// are none.
///
/// It may be kept and copied, also to a process that shares the tables by RATECELL_FORKED. It is in the byte order of the
/// machine. Settle it once, and release it once: a second time may give back units of other requests.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ratecell_rules_held {
    /// The library's own: which rule's cells.
    pub cells: u64,
    /// The library's own: how the rule makes the cost.
    pub cost: u64,
    /// What was charged to the cell.
    pub reservation: ratecell_reservation,
}

/// A request that is decided by rules, or settled, or released. Frozen, 80 bytes on 64-bit machines.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ratecell_rules_request {
    /// Its attributes, in any order. A name that is there several times is a header's, one for each of its lines, which are
    /// joined by ", "; of any other name the first counts.
    pub attributes: *const ratecell_attribute,
    /// How many there are.
    pub n_attributes: usize,
    /// With RATECELL_AT: when it is decided, in nanoseconds since any instant, as long as all users of the limiter mean the
    /// same; with a calendar_window since the config's epoch_s.
    pub now_ns: u64,
    /// RATECELL_AT; RATECELL_RESERVE, only for ratecell_rules_decide; RATECELL_CANCEL, only for ratecell_rules_settle. Any
    /// other bit is RATECELL_EINVAL.
    pub flags: u32,
    /// Must be 0.
    pub reserved: u32,
    /// Where the decisions on the rules that limit it are written, for ratecell_rules_fields; NULL, with a max_claims of 0,
    /// for none. There are never more than 64.
    pub claims: *mut ratecell_rules_claim,
    /// How many have room there; others are not written.
    pub max_claims: usize,
    /// Where the outcomes of shadow rules are written, in the order of the file; NULL, with a max_shadows of 0, for none.
    pub shadows: *mut ratecell_rules_shadow,
    /// How many have room there; others are not written.
    pub max_shadows: usize,
    /// With RATECELL_RESERVE: where what was charged is written, of each rule that limits the request, in the order of the
    /// claims; as many as the answer's n_claims. For ratecell_rules_settle and ratecell_rules_release: where it stands.
    /// Otherwise NULL, with a max_held of 0.
    pub held: *mut ratecell_rules_held,
    /// With RATECELL_RESERVE: how many have room there; with 64 all have. If there are not enough, the request is
    /// RATECELL_ENOSPC, and nothing is charged. To settle and release: how many there are; those that are all zeros are passed
    /// over.
    pub max_held: usize,
}

/// The answer to a request by rules. Frozen, 128 bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ratecell_rules_answer {
    /// Until the same request would be allowed, with no other traffic on its keys. 0 if it was allowed, UINT64_MAX if it
    /// never can be.
    pub retry_after_ns: u64,
    /// How long to hold the allowed request before it goes on: 0 unless a leaky_queue limits it.
    pub delay_ns: u64,
    /// The most units that can pass the rule's limit at one instant; 0 where there is no rule.
    pub limit: u64,
    /// Units that the rule would allow at this same instant, after this decision.
    pub remaining: u64,
    /// Until the rule's key is as good as never used.
    pub reset_after_ns: u64,
    /// What the call returned.
    pub outcome: i32,
    /// How many decisions on rules that limit the request there are. If max_claims is less, the first were written.
    pub n_claims: u32,
    /// How many shadow rules apply. If max_shadows is less, the first were written.
    pub n_shadows: u32,
    /// 0.
    pub reserved: u32,
    /// The name of the rule that refused; of an allowed request, that of the rule which runs out first; empty where no rule
    /// limits it, and where the path is unclear. With a NUL.
    pub rule: [c_char; RATECELL_RULE_NAME_SIZE],
}

/// The name of a rule with NULs behind it, or none.
pub(super) fn name(file: &File, rule: Option<usize>) -> [c_char; RATECELL_RULE_NAME_SIZE] {
    let mut text = [0; RATECELL_RULE_NAME_SIZE];
    let name = rule.map_or("", |rule| file.rules().rule(rule).name());
    // Names are shorter than the text.
    for (place, byte) in text.iter_mut().zip(name.bytes().take(RATECELL_RULE_NAME_SIZE - 1)) {
        *place = c_char::from_ne_bytes([byte]);
    }
    text
}

/// The attributes of C, each of which was read before.
pub(super) struct Given<'a>(&'a [ratecell_attribute]);

impl Given<'_> {
    /// # Safety
    /// As the header's preamble has it.
    pub(super) unsafe fn read(
        attributes: *const ratecell_attribute,
        count: usize,
    ) -> Result<Self, ratecell_status> {
        // SAFETY: the caller's word.
        let attributes = unsafe { pointer::inputs(attributes, count) }?;
        attributes.iter().try_for_each(|attribute| attribute.read().map(|_| ()))?;
        Ok(Self(attributes))
    }
}

impl ratecell_rules_request {
    /// What a call gives back, and when. Besides RATECELL_AT, and the RATECELL_RESERVE of the decision, flags may be `known`.
    ///
    /// # Safety
    /// As the header's preamble has it.
    pub(super) unsafe fn held(&self, known: u32) -> Result<(Option<u64>, Vec<Held>), ratecell_status> {
        let now_ns = instant(self.flags & !(known | RATECELL_RESERVE), self.now_ns)?;
        if self.reserved != 0 {
            return Err(RATECELL_EINVAL);
        }
        // SAFETY: the caller's word.
        let held = unsafe { pointer::inputs(self.held, self.max_held) }?;
        let held = held.iter().filter(|held| !held.is_none());
        Ok((now_ns, held.map(ratecell_rules_held::read).collect::<Result<_, _>>()?))
    }
}

impl Attributes for Given<'_> {
    fn value(&self, attribute: Attribute<'_>) -> Option<Cow<'_, [u8]>> {
        let is_it = |name: &[u8]| match attribute {
            Attribute::Method => name == b"method",
            Attribute::Path => name == b"path",
            Attribute::Host => name == b"host",
            Attribute::Client => name == b"client",
            Attribute::Header(header) => name.strip_prefix(b"header:") == Some(header.as_bytes()),
            Attribute::Own(own) => name == own.as_bytes(),
        };
        let pairs = self.0.iter().filter_map(|attribute| attribute.read().ok());
        let mut values = pairs.filter(|(name, _)| is_it(name)).map(|(_, value)| value);
        let first = values.next()?;
        let mut lines = match attribute {
            Attribute::Header(_) => values.peekable(),
            _ => return Some(Cow::Borrowed(first)),
        };
        if lines.peek().is_none() {
            return Some(Cow::Borrowed(first));
        }
        let mut joined = first.to_vec();
        for line in lines {
            joined.extend_from_slice(b", ");
            joined.extend_from_slice(line);
        }
        Some(Cow::Owned(joined))
    }
}

impl ratecell_attribute {
    pub(super) fn read(&self) -> Result<(&[u8], &[u8]), ratecell_status> {
        // SAFETY: as the header's preamble has it, of each attribute.
        unsafe { Ok((pointer::key(self.name, self.name_len)?, pointer::key(self.value, self.value_len)?)) }
    }
}

impl ratecell_rules_held {
    /// All zeros of none.
    pub(super) fn write(place: &mut MaybeUninit<Self>, held: Option<&Held>) {
        let mut reservation = MaybeUninit::uninit();
        ratecell_reservation::write(&mut reservation, held.map(|held| &held.reservation));
        // SAFETY: it was written on the line above.
        let reservation = unsafe { reservation.assume_init() };
        let Names { cells, cost } = held.map_or(Names { cells: 0, cost: 0 }, |held| held.names);
        place.write(Self { cells, cost, reservation });
    }

    fn is_none(&self) -> bool {
        (self.cells, self.cost, self.reservation.data) == (0, 0, [0; 43])
    }

    fn read(&self) -> Result<Held, ratecell_status> {
        let names = Names { cells: self.cells, cost: self.cost };
        Ok(Held { names, reservation: self.reservation.read()? })
    }
}

impl ratecell_rules_claim {
    pub(super) fn write(place: &mut MaybeUninit<Self>, made: &Made, file: u64) {
        let mut decision = MaybeUninit::uninit();
        ratecell_decision::write(&mut decision, made.decision);
        // SAFETY: it was written on the line above.
        let decision = unsafe { decision.assume_init() };
        place.write(Self { decision, file, policy: made.policy as u64 });
    }

    /// The decision again, of a caller who may have changed it.
    pub(super) fn read(&self, file: &File) -> Option<Made> {
        let made = Made { policy: usize::try_from(self.policy).ok()?, decision: self.decision.read()? };
        let layers = file.limiter(made.policy)?.policy().layers().len();
        (made.decision.layer() < layers).then_some(made)
    }
}
