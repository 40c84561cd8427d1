//! Reservations by rules: what was charged for one request, of each rule that limits it, and what is done with it.

use core::cmp::Reverse;
use core::hash::Hasher;

use ratecell_core::Layer;
use ratecell_core::algorithm::{Kernel, Plan};
use ratecell_rules::{Attributes, RulePolicy, Rules};
use siphasher::sip::SipHasher13;

use super::file::File;
use super::{RulesDecision, RulesLimiter};
use crate::limiter::{Limiter, Reservation, ReservationError};

/// What a [`reserve`](RulesLimiter::reserve) has charged for one request, of each rule that limits it: to settle or release
/// it later, by whatever file is then in force, in this process or in one that was [forked off](super::RulesLimiterBuilder::forked).
///
/// It is plain data. Nothing is kept in the limiter for it, and nothing has to be done with it: what is not given back
/// drains as any charge does, and a permit comes back by itself.
///
/// ```
/// use ratecell::rules::{Rules, RulesLimiter, RulesReservation};
///
/// let rules = Rules::parse("
///     ratecell_rules = 1
///     [[rule]]
///     name = 'at-once'
///     key = ['client']
///     limit = 'in_flight 2 hold=60s'
/// ")?;
/// let limiter = RulesLimiter::builder(rules).max_keys(1_000).reserving().build()?;
/// let (_, permit) = limiter.reserve_at(&[("client", "203.0.113.7")], 0);
/// let bytes = permit.expect("it was allowed").to_bytes();    // to another process
/// assert_eq!(limiter.release_at(RulesReservation::from_bytes(&bytes)?, 0), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use = "a reservation that is dropped gives nothing back before it has drained"]
pub struct RulesReservation {
    pub(crate) claims: Vec<Held>,
}

/// What was charged for one claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) names: Names,
    pub(crate) reservation: Reservation,
}

/// Where a decision puts what it has charged.
pub(crate) struct HeldList {
    pub(crate) claims: Vec<Held>,
    /// How many claims there may be.
    room: usize,
    /// Whether there were more: then nothing was decided or charged.
    pub(crate) is_too_short: bool,
}

impl HeldList {
    pub(crate) fn new(room: usize) -> Self {
        Self { claims: Vec::new(), room, is_too_short: false }
    }

    /// Whether so many claims have room.
    pub(super) fn takes(&mut self, claims: usize) -> bool {
        self.is_too_short = claims > self.room;
        !self.is_too_short
    }
}

/// What a policy of a file is known by in every file, as digests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Names {
    /// Of the name of its rule, and of the tier unless all of them share their cells.
    pub(crate) cells: u64,
    /// Of how its rule makes the cost.
    pub(crate) cost: u64,
}

/// What the policies of a file are known by.
pub(super) struct Directory {
    /// Of each policy, by its number.
    names: Box<[Names]>,
    /// By the digest of the cells: the number of the policy that counts furthest in them.
    by_cells: Box<[(u64, usize)]>,
}

impl Directory {
    pub(super) fn new(rules: &Rules) -> Self {
        let of = |one: &RulePolicy| Names {
            cells: digest_of_cells(rules, one),
            cost: digest([rules.cost_text(one.rule()).as_bytes()]),
        };
        let names: Box<[Names]> = rules.policies().iter().map(of).collect();
        // Capacities are 32-bit parameters, of a few layers.
        let reach = |one: &RulePolicy| one.policy().layers().iter().map(Layer::capacity).sum::<u64>();
        let mut by_cells: Vec<_> = (0..).zip(rules.policies()).zip(&names).collect();
        by_cells.sort_by_key(|((_, one), names)| (names.cells, Reverse(reach(one))));
        let by_cells = by_cells.into_iter().map(|((number, _), names)| (names.cells, number)).collect();
        Self { names, by_cells }
    }

    /// What the policy of that number is known by.
    pub(super) fn names(&self, policy: usize) -> Option<Names> {
        self.names.get(policy).copied()
    }

    /// The policy that counts furthest in these cells, so that all units that were used have room; `None` if the file has none.
    fn policy(&self, cells: u64) -> Option<usize> {
        let first = self.by_cells.partition_point(|(named, _)| *named < cells);
        self.by_cells.get(first).filter(|(named, _)| *named == cells).map(|(_, policy)| *policy)
    }
}

/// The digest of what names the cells of a policy, whatever their key.
fn digest_of_cells(rules: &Rules, policy: &RulePolicy) -> u64 {
    let rule = rules.rule(policy.rule());
    let tier: [&[u8]; 2] = match policy.value() {
        _ if rule.is_shared() => [b";shared", b""],
        Some(value) => [b";limit=", value.as_bytes()],
        None => [b"", b""],
    };
    digest([rule.name().as_bytes(), tier[0], tier[1]])
}

/// The same in every process.
fn digest<const N: usize>(parts: [&[u8]; N]) -> u64 {
    let mut hasher = SipHasher13::new();
    parts.iter().for_each(|part| hasher.write(part));
    hasher.finish()
}

impl File {
    /// What decides by the cells of a claim that was charged, with the number of a policy that counts in them; `None` where
    /// they are not the cells of any rule any more.
    fn held_by(&self, held: &Held) -> Option<(usize, &Limiter)> {
        let policy = self.directory().policy(held.names.cells)?;
        let limiter = self.limiter(policy)?;
        limiter.is_ours(&held.reservation).then_some((policy, limiter))
    }

    /// What a claim costs by attributes that are known afterwards, if its rule makes the cost of them as it did when it was
    /// charged.
    fn settled_cost<A: Attributes + ?Sized>(&self, policy: usize, held: &Held, actual: &A) -> Option<u32> {
        let is_same = self.directory().names(policy)?.cost == held.names.cost;
        let rule = self.rules().policies().get(policy)?.rule();
        self.rules().settled_cost(rule, actual).filter(|_| is_same)
    }
}

impl RulesLimiter {
    /// Decides and charges a request as [`decide`](Self::decide) does. If it is allowed, a [`RulesReservation`] says what was
    /// charged of each rule: give it to [`settle`](Self::settle) when costs are known that were not known before, and to
    /// [`release`](Self::release) when the request has ended, if rules have layers `in_flight`. Shadow rules are charged, and
    /// nothing of them is reserved.
    ///
    /// ```
    /// use ratecell::rules::{Rules, RulesLimiter};
    ///
    /// let rules = Rules::parse("
    ///     ratecell_rules = 1
    ///     [[rule]]
    ///     name = 'at-once'
    ///     key = ['client']
    ///     limit = 'in_flight 1 hold=60s'
    /// ")?;
    /// let limiter = RulesLimiter::builder(rules).max_keys(1_000).reserving().build()?;
    /// let request = [("client", "203.0.113.7")];
    /// let (_, permit) = limiter.reserve_at(&request, 0);
    /// let (second, none) = limiter.reserve_at(&request, 0);
    /// assert_eq!((second.rule_name(), none), (Some("at-once"), None));
    /// assert_eq!(limiter.release_at(permit.expect("it was allowed"), 0), 1);
    /// assert!(limiter.reserve_at(&request, 0).0.is_allowed());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reserve<A: Attributes + ?Sized>(
        &self,
        attributes: &A,
    ) -> (RulesDecision, Option<RulesReservation>) {
        self.reserve_by(attributes, None)
    }

    /// [`reserve`](Self::reserve) at `now_ns`, as [`decide_at`](Self::decide_at).
    pub fn reserve_at<A: Attributes + ?Sized>(
        &self,
        attributes: &A,
        now_ns: u64,
    ) -> (RulesDecision, Option<RulesReservation>) {
        self.reserve_by(attributes, Some(now_ns))
    }

    fn reserve_by<A: Attributes + ?Sized>(
        &self,
        attributes: &A,
        now_ns: Option<u64>,
    ) -> (RulesDecision, Option<RulesReservation>) {
        let mut held = HeldList::new(usize::MAX);
        let decision = RulesDecision::new(self, attributes, now_ns, Some(&mut held));
        let reservation = decision.is_allowed().then_some(RulesReservation { claims: held.claims });
        (decision, reservation)
    }

    /// Settles a reservation by attributes that are known afterwards: each claim whose `cost` its rule takes from one of
    /// them, with `from` or `by`, is settled at the cost that they make, as [`Limiter::settle`](crate::Limiter::settle) does.
    /// So units that were reserved beyond it are given back, and what is above them is charged. All other claims stay as
    /// they are: those of a fixed cost, those whose attribute is not in `actual`, and those whose cost is taken from the path.
    /// Layers `in_flight` stay as they are, too: [`release`](Self::release) gives them back.
    ///
    /// A claim stays as it is where its rule is not in the file in force any more, makes its cost in another way than when
    /// it was charged, or has begun anew. After a [`change`](Self::change) of the numbers of its limit, units of windows come
    /// back, and those of a rate or a bucket stay charged; these also after four changes of other limits.
    ///
    /// Settle each reservation once: a second time gives back units of other requests.
    ///
    /// ```
    /// use ratecell::rules::{Rules, RulesLimiter};
    ///
    /// let rules = Rules::parse("
    ///     ratecell_rules = 1
    ///     attributes = ['tokens']
    ///     [[rule]]
    ///     name = 'requests'
    ///     key = ['client']
    ///     limit = '500/m'
    ///     [[rule]]
    ///     name = 'tokens'
    ///     key = ['client']
    ///     limit = '90000/m'
    ///     cost = { from = 'tokens', default = 4000 }
    /// ")?;
    /// let limiter = RulesLimiter::builder(rules).max_keys(1_000).reserving().build()?;
    /// let request = [("client", "203.0.113.7"), ("tokens", "0")];
    /// let (_, reservation) = limiter.reserve_at(&request[..1], 0);          // 4,000 tokens, and one request
    /// limiter.settle_at(reservation.expect("it was allowed"), &[("tokens", "1210")], 0);
    /// let (peeked, _) = limiter.reserve_at(&request, 0);
    /// assert_eq!(peeked.fields(ratecell::fields::Style::Draft11, 0).to_string().lines().last(), Some(
    ///     "RateLimit: \"requests\";r=498;t=1, \"tokens\";r=88790;t=1"
    /// ));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn settle<A: Attributes + ?Sized>(&self, reservation: RulesReservation, actual: &A) {
        self.settle_claims(&reservation.claims, actual, None);
    }

    /// [`settle`](Self::settle) at `now_ns`.
    pub fn settle_at<A: Attributes + ?Sized>(&self, reservation: RulesReservation, actual: &A, now_ns: u64) {
        self.settle_claims(&reservation.claims, actual, Some(now_ns));
    }

    /// Settles each claim of a reservation at a cost of 0: the request has used nothing, of no rule. Layers `in_flight` stay
    /// as they are.
    pub fn cancel(&self, reservation: RulesReservation) {
        self.cancel_claims(&reservation.claims, None);
    }

    /// [`cancel`](Self::cancel) at `now_ns`.
    pub fn cancel_at(&self, reservation: RulesReservation, now_ns: u64) {
        self.cancel_claims(&reservation.claims, Some(now_ns));
    }

    /// Gives back the permits of all layers `in_flight`; all others stay as they are. Returns how many units came back: of
    /// several rules with such layers the least, and 0 where there is none.
    ///
    /// Nothing comes back of a permit that has passed by itself, whose key was evicted, or whose rule is not in the file in
    /// force any more or has begun anew. A [`change`](Self::change) of anything else of the rule does not matter.
    ///
    /// Release each reservation once: a second time may give back the permits of other requests.
    pub fn release(&self, reservation: RulesReservation) -> u32 {
        self.release_claims(&reservation.claims, None)
    }

    /// [`release`](Self::release) at `now_ns`.
    pub fn release_at(&self, reservation: RulesReservation, now_ns: u64) -> u32 {
        self.release_claims(&reservation.claims, Some(now_ns))
    }

    pub(crate) fn settle_claims<A: Attributes + ?Sized>(
        &self,
        claims: &[Held],
        actual: &A,
        now_ns: Option<u64>,
    ) {
        self.settle_each(claims, now_ns, |file, policy, held| file.settled_cost(policy, held, actual));
    }

    pub(crate) fn cancel_claims(&self, claims: &[Held], now_ns: Option<u64>) {
        self.settle_each(claims, now_ns, |_, _, _| Some(0));
    }

    /// Settles each claim that the file in force has cells of, at its cost; where there is none, it stays as it is.
    fn settle_each(
        &self,
        claims: &[Held],
        now_ns: Option<u64>,
        cost: impl Fn(&File, usize, &Held) -> Option<u32>,
    ) {
        let file = self.file();
        for held in claims {
            let Some((policy, limiter)) = file.held_by(held) else { continue };
            let Some(cost) = cost(&file, policy, held) else { continue };
            let reservation = held.reservation.clone();
            let _ = match now_ns {
                None => limiter.settle(reservation, cost),
                Some(now_ns) => limiter.settle_at(reservation, cost, now_ns),
            };
        }
    }

    pub(crate) fn release_claims(&self, claims: &[Held], now_ns: Option<u64>) -> u32 {
        let file = self.file();
        let in_flight = claims.iter().filter_map(|held| {
            let (policy, limiter) = file.held_by(held)?;
            let is_in_flight = |layer: &Layer| matches!(layer.plan(), Plan::Word(Kernel::InFlight(_)));
            let layers = file.rules().policies().get(policy)?.policy().layers();
            layers.iter().any(is_in_flight).then_some((held, limiter))
        });
        let released = in_flight.map(|(held, limiter)| {
            let reservation = held.reservation.clone();
            let peeked = match now_ns {
                None => limiter.release(reservation),
                Some(now_ns) => limiter.release_at(reservation, now_ns),
            };
            peeked.given_back()
        });
        released.min().unwrap_or(0)
    }
}

impl RulesReservation {
    /// The reservation as bytes, in the byte order of the machine: for each rule 40, and 40 for each layer of its limit. They
    /// are of use to processes that share the tables.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for Held { names: Names { cells, cost }, reservation } in &self.claims {
            bytes.extend([*cells, *cost].into_iter().flat_map(u64::to_ne_bytes));
            bytes.extend(reservation.to_bytes());
        }
        bytes
    }

    /// The reservation that these bytes are.
    ///
    /// # Errors
    /// [`ReservationError`]: the bytes are not those of a reservation. Whether the limiter has its cells is found out when it
    /// is settled: one of other tables gives nothing back.
    pub fn from_bytes(mut bytes: &[u8]) -> Result<Self, ReservationError> {
        let mut claims = Vec::new();
        while !bytes.is_empty() {
            let length = ReservationError::Length { len: bytes.len() };
            let (cells, rest) = bytes.split_first_chunk().ok_or(length)?;
            let (cost, rest) = rest.split_first_chunk().ok_or(length)?;
            let names = Names { cells: u64::from_ne_bytes(*cells), cost: u64::from_ne_bytes(*cost) };
            let (reservation, rest) = Reservation::length(rest)
                .and_then(|length| rest.split_at_checked(length))
                .ok_or(ReservationError::Length { len: rest.len() })?;
            claims.push(Held { names, reservation: Reservation::from_bytes(reservation)? });
            bytes = rest;
        }
        Ok(Self { claims })
    }
}
