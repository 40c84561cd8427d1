//! A request's options, as Java's `Request` numbers them, and a request in a message.

use ratecell::{Request, Zone};

use crate::fault::Fault;
use crate::handle;
use crate::message::Reader;

const AT: u32 = 1;
const WITHIN: u32 = 2;
const CHARGE: u32 = 4;
const NEXT: u32 = 8;
const WITHOUT_WAITING: u32 = 16;

/// All of a request but its key.
#[derive(Clone, Copy)]
pub(crate) struct Terms {
    pub(crate) cost: u32,
    pub(crate) flags: u32,
    pub(crate) at_ns: u64,
    pub(crate) within_ns: u64,
    /// The address of a zone; 0 for none.
    pub(crate) zone: u64,
}

impl Terms {
    #[inline]
    pub(crate) fn of(self, key: &[u8]) -> Request<'_> {
        let mut request = Request::new(key).cost(self.cost);
        if self.flags == 0 && self.zone == 0 {
            return request;
        }
        if self.flags & AT != 0 {
            request = request.at(self.at_ns);
        }
        if self.flags & WITHIN != 0 {
            request = request.within_ns(self.within_ns);
        }
        if self.flags & CHARGE != 0 {
            request = request.charge();
        }
        if self.flags & NEXT != 0 {
            request = request.with_next();
        }
        if self.flags & WITHOUT_WAITING != 0 {
            request = request.without_waiting();
        }
        match self.zone {
            0 => request,
            zone => request.zone(handle::at::<Zone>(zone)),
        }
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, Fault> {
        Ok(Self {
            cost: reader.u32()?,
            flags: reader.u32()?,
            at_ns: reader.u64()?,
            within_ns: reader.u64()?,
            zone: reader.u64()?,
        })
    }

    /// An error where `limiter` decides no request that names the zone of this one.
    pub(crate) fn check_zone(self, limiter: &ratecell::Limiter) -> Result<(), Fault> {
        if self.zone == 0 {
            return Ok(());
        }
        let (zone, policy) = (handle::at::<Zone>(self.zone), limiter.policy());
        if policy.takes_zone(zone) {
            return Ok(());
        }
        Err(Fault::argument(if policy.asks_for_zone() {
            format!(
                "zone is {zone} of another calendar than that of `{policy}`: expected one that this limiter made"
            )
        } else {
            format!("zone is {zone}, and `{policy}` takes none: expected a policy with tz=caller")
        }))
    }
}

/// A request: its key, and its terms.
pub(crate) fn read<'a>(reader: &mut Reader<'a>, limiter: &ratecell::Limiter) -> Result<Request<'a>, Fault> {
    let key = reader.bytes()?;
    let terms = Terms::read(reader)?;
    terms.check_zone(limiter)?;
    Ok(terms.of(key))
}
