//! Several layers as one, of one limiter or of several: charged all or none.

use ratecell_core::{Decision, Outcome};

/// One layer's states, of a key or of all.
pub(crate) trait Layer {
    /// What takes a charge back.
    type Receipt<'l>
    where
        Self: 'l;

    fn peek(&self, h: u64, now: u64, cost: u32) -> Decision;

    fn charge(&self, h: u64, now: u64, cost: u32) -> (Decision, Self::Receipt<'_>);

    /// Takes an allowed charge back, unless another came after it that hides it: then it stays.
    fn refund(&self, receipt: Self::Receipt<'_>, h: u64, cost: u32);
}

/// What is asked of one limiter's layers.
#[derive(Debug)]
pub(crate) struct Request<'l, L> {
    pub(crate) layers: &'l [L],
    pub(crate) h: u64,
    pub(crate) now: u64,
    pub(crate) cost: u32,
    /// A delay that is longer refuses.
    pub(crate) max_delay_ns: u64,
}

impl<L: Layer> Request<'_, L> {
    /// What every layer says, and writes nothing. `None` of no layer.
    pub(super) fn peek(&self, cost: u32) -> Option<Decision> {
        let peeked = |layer: &L| layer.peek(self.h, self.now, cost).within(self.max_delay_ns);
        Decision::combined(self.layers.iter().map(peeked))
    }

    /// What is answered where `peeked` is said, and nothing is to be charged.
    pub(super) fn uncharged(&self, peeked: Decision) -> Decision {
        match peeked.outcome() {
            Outcome::Allowed | Outcome::Denied if self.cost == 0 => peeked,
            Outcome::Allowed => self.peek(0).unwrap_or(peeked),
            Outcome::Denied | Outcome::Never => self.refusal(peeked),
            Outcome::ClockRange => Decision::clock_range(peeked.limit()).of_layer(peeked.layer() as u32),
        }
    }

    /// What is answered where `refused` came of charging, though all peeks had allowed.
    pub(super) fn overtaken(&self, refused: Decision) -> Decision {
        // With what it says itself, for a layer without room for the key is not seen by a peek.
        self.refusal(refused).combine(refused)
    }

    /// The decision of a request that `refused` refuses: nothing was charged, so what remains and when it
    /// is reset are those of a peek.
    fn refusal(&self, refused: Decision) -> Decision {
        self.peek(0).map_or(refused, |peeked| peeked.refused_by(&refused))
    }
}

/// Decides `cost` on every layer, and charges all of them or none.
///
/// All are peeked at first, so a refusal that is there to be seen writes nothing. If one refuses while
/// they are charged, another caller came between: the earlier charges are taken back, except where
/// their words have changed since. That may refuse what a serial order would allow. The reverse takes a window that
/// has begun with such a charge (docs/DESIGN.md, *Where it is not absolute*).
pub(crate) fn check<L: Layer>(layers: &[L], h: u64, now: u64, cost: u32) -> Decision {
    check_within(layers, h, now, cost, u64::MAX)
}

/// [`check`], where a delay that is longer refuses.
pub(crate) fn check_within<L: Layer>(
    layers: &[L],
    h: u64,
    now: u64,
    cost: u32,
    max_delay_ns: u64,
) -> Decision {
    let request = Request { layers, h, now, cost, max_delay_ns };
    let Some(peeked) = request.peek(cost) else { return Decision::default() };
    if !peeked.is_allowed() || cost == 0 {
        return request.uncharged(peeked);
    }
    match charge_layers(&request, 0, None, &mut || Ok(())) {
        Ok(decision) => decision.unwrap_or(peeked),
        Err(refused) => request.overtaken(refused),
    }
}

/// Charges the layers of a request from `number` on, then does what comes `after` them, and takes all of it back
/// where one refuses. The decision is that of all layers, of which those before have `told` theirs.
pub(super) fn charge_layers<L: Layer, E: Refusal>(
    request: &Request<'_, L>,
    number: u32,
    told: Option<Decision>,
    after: &mut impl FnMut() -> Result<(), E>,
) -> Result<Option<Decision>, E> {
    let Request { layers, h, now, cost, max_delay_ns } = *request;
    let Some(layer) = layers.get(number as usize) else { return after().map(|()| told) };
    let (charged, receipt) = layer.charge(h, now, cost);
    let decision = charged.within(max_delay_ns).of_layer(number);
    if !decision.is_allowed() {
        if charged.is_allowed() {
            layer.refund(receipt, h, cost);
        }
        return Err(E::of(decision));
    }
    let told = told.map_or(decision, |told| told.combine(decision));
    charge_layers(request, number + 1, Some(told), after).inspect_err(|_| layer.refund(receipt, h, cost))
}

/// What tells that a layer refused.
pub(super) trait Refusal {
    fn of(decision: Decision) -> Self;
}

impl Refusal for Decision {
    fn of(decision: Decision) -> Self {
        decision
    }
}
