//! The evaluation: from a request's attributes to the claims of one decision.

use crate::attribute::{Attributes, Id};
use crate::index::Sought;
use crate::path::{HEX, Reading};
use crate::pattern::Probe;
use crate::request::Request;
use crate::rule::{Choice, Cost, Leaf, Limit, Mode, Reference, Rule};
use crate::rules::Rules;
use crate::scratch::{Groups, Scratch, Stored};

/// One limit that applies to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Claim<'e> {
    /// The number of its rule.
    pub rule: usize,
    /// The number of its policy among [`Rules::policies`]; `None` for `"blocked"`, which has no cell.
    pub policy: Option<usize>,
    /// The key of its cell: ASCII, and that of no other rule's cell.
    pub key: &'e [u8],
    /// Units.
    pub cost: u32,
    /// Never [`Mode::Skip`].
    pub mode: Mode,
}

/// What the rules say of one request.
#[derive(Clone, Copy, Debug)]
pub struct Evaluation<'e> {
    rules: &'e Rules,
    skip: Option<usize>,
    is_unclear: bool,
    keys: &'e [u8],
    claims: &'e [Stored],
}

impl<'e> Evaluation<'e> {
    /// The rules that were evaluated.
    #[must_use]
    pub fn rules(&self) -> &'e Rules {
        self.rules
    }

    /// The number of the skip that ended the evaluation, if one did. Claims of rules above it stand.
    #[must_use]
    pub fn skip(&self) -> Option<usize> {
        self.skip
    }

    /// Whether the path can be read in several ways, in a file that refuses that: nothing is charged, and the program
    /// answers 400.
    #[must_use]
    pub fn is_unclear_path(&self) -> bool {
        self.is_unclear
    }

    /// The claims, enforcing and shadow, in the order of the rules.
    pub fn claims(&self) -> impl ExactSizeIterator<Item = Claim<'e>> + Clone + use<'e> {
        let (rules, keys) = (self.rules, self.keys);
        self.claims.iter().map(move |stored| Claim {
            rule: stored.rule as usize,
            policy: stored.policy,
            key: &keys[stored.key.clone()],
            cost: stored.cost,
            mode: rules.rules[stored.rule as usize].mode,
        })
    }
}

impl Rules {
    /// The claims on a request with these attributes: a pure function, which looks at no clock and no table.
    ///
    /// ```
    /// use ratecell_rules::{Rules, Scratch};
    ///
    /// let rules = Rules::parse("
    ///     ratecell_rules = 1
    ///     [[rule]]
    ///     name = 'api'
    ///     match.path = '/api/**'
    ///     key = ['client', 'path:2']
    ///     limit = '10/s burst=20'
    /// ")?;
    /// let mut scratch = Scratch::default();
    /// let evaluation = rules.evaluate(&[("path", "/api/v1/x"), ("client", "203.0.113.7")], &mut scratch);
    /// let claims: Vec<_> = evaluation.claims().collect();
    /// assert_eq!((claims.len(), claims[0].key, claims[0].cost), (1, &b"api;client=203.0.113.7;path:2=v1"[..], 1));
    /// # Ok::<(), ratecell_rules::RulesError>(())
    /// ```
    pub fn evaluate<'s, A: Attributes + ?Sized>(
        &'s self,
        attributes: &A,
        scratch: &'s mut Scratch,
    ) -> Evaluation<'s> {
        let Scratch { host, readings, anchored, found, walk, groups, keys, claims } = scratch;
        keys.clear();
        claims.clear();
        groups.make_room(self.groups as usize);
        let (request, path) = Request::new(self, attributes, host);
        let none = |is_unclear| Evaluation { rules: self, skip: None, is_unclear, keys: &[], claims: &[] };
        if let Some(path) = &path {
            readings.read(path, self.ignore_case);
            if self.refuse_unclear && readings.iter().len() > 1 {
                return none(true);
            }
        }
        self.find_anchored(&request, anchored);
        let mut pass = Pass { rules: self, request: &request, groups, keys, claims, is_clear: true };
        let mut skip = None;
        match &path {
            None => skip = pass.read(None, 0, anchored),
            Some(_) => {
                pass.is_clear = readings.iter().len() == 1;
                for (number, reading) in (0..).zip(readings.iter()) {
                    self.find(reading, anchored, walk, found);
                    skip = pass.read(Some(reading), number, found);
                }
            }
        }
        if !pass.is_clear {
            one_of_each_key(pass.keys, pass.claims);
        }
        Evaluation { rules: self, skip, is_unclear: false, keys, claims }
    }

    /// What a claim of the rule of that number costs by attributes that are known afterwards: `None` where its cost is
    /// fixed, or is taken from an attribute that is not among them, or from the path. Then it stays what it was.
    ///
    /// ```
    /// use ratecell_rules::Rules;
    ///
    /// let rules = Rules::parse("
    ///     ratecell_rules = 1
    ///     attributes = ['tokens']
    ///     [[rule]]
    ///     name = 'tokens'
    ///     key = ['client']
    ///     limit = '90000/m'
    ///     cost = { from = 'tokens', default = 1000 }
    /// ")?;
    /// assert_eq!(rules.settled_cost(0, &[("tokens", "1210")]), Some(1_210));
    /// assert_eq!(rules.settled_cost(0, &[("client", "203.0.113.7")]), None);
    /// # Ok::<(), ratecell_rules::RulesError>(())
    /// ```
    ///
    /// # Panics
    ///
    /// There is no rule of that number.
    #[must_use]
    pub fn settled_cost<A: Attributes + ?Sized>(&self, number: usize, attributes: &A) -> Option<u32> {
        let cost = &self.rules[number].cost;
        let by = cost.by()?;
        let mut host = Vec::new();
        let (request, _) = Request::new(self, attributes, &mut host);
        request.refer(by, None).map(|value| cost.of(Some(value)))
    }

    /// The rules whose anchor holds for an attribute other than the path: in order, each once.
    fn find_anchored(&self, request: &Request<'_>, found: &mut Vec<u32>) {
        found.clear();
        let mut last = None;
        for id in self.index.anchored().filter(|id| *id != Id::PATH) {
            // The client may have two roots, beside each other or not.
            if last == Some(id) {
                continue;
            }
            last = Some(id);
            if let Some(text) = request.text(id) {
                self.index.find(id, Sought::Text(Probe::value(text)), found);
            }
            if let (Id::CLIENT, Some(client)) = (id, request.client()) {
                self.index.find(id, Sought::Network(client), found);
            }
        }
        in_order(found);
    }

    /// These rules, and those whose anchor holds for the path.
    fn find(
        &self,
        reading: Reading<'_>,
        anchored: &[u32],
        walk: &mut Vec<(u32, usize)>,
        found: &mut Vec<u32>,
    ) {
        found.clear();
        found.extend_from_slice(anchored);
        let segment = |number| reading.segment(number).map(Probe::value);
        self.index.find_path(reading.len(), false, segment, walk, found);
        in_order(found);
    }
}

fn in_order(found: &mut Vec<u32>) {
    if !found.is_sorted_by(|one, other| one < other) {
        found.sort_unstable();
        found.dedup();
    }
}

/// The evaluation of the readings of one request.
struct Pass<'p, 'v> {
    rules: &'p Rules,
    request: &'p Request<'v>,
    groups: &'p mut Groups,
    keys: &'p mut Vec<u8>,
    claims: &'p mut Vec<Stored>,
    is_clear: bool,
}

impl Pass<'_, '_> {
    /// Appends the claims of one reading. `found` has the rules whose anchor holds. The number of the skip that ended it
    /// is returned.
    fn read(&mut self, reading: Option<Reading<'_>>, number: u32, mut found: &[u32]) -> Option<usize> {
        self.groups.reading += 1;
        let rules = self.rules;
        let mut loose = rules.index.loose();
        loop {
            let next = match (loose.first(), found.first()) {
                (Some(one), Some(other)) if one < other => take(&mut loose),
                (_, Some(_)) => take(&mut found),
                (_, None) => take(&mut loose),
            };
            let at = next?;
            let rule = &rules.rules[at as usize];
            if self.groups.is_over(rule) || !self.matches(at as usize, rule, reading) {
                continue;
            }
            if rule.mode == Mode::Skip {
                return Some(at as usize);
            }
            self.groups.matched(rule);
            self.claim(at, rule, reading, number);
        }
    }

    #[inline]
    fn matches(&self, at: usize, rule: &Rule, reading: Option<Reading<'_>>) -> bool {
        if rule.mode == Mode::Skip && !self.is_clear && rule.matches.iter().any(|(id, _)| *id == Id::PATH) {
            return false;
        }
        let anchor = self.rules.anchors[at];
        let mut conditions = rule.matches.iter().enumerate().filter(|(number, _)| Some(*number) != anchor);
        conditions.all(|(_, (id, condition))| condition.holds(self.request.value(*id, reading)))
    }

    fn claim(&mut self, at: u32, rule: &Rule, reading: Option<Reading<'_>>, number: u32) {
        let request = self.request;
        let find = |choice: &Choice<Leaf>| choice.find(request.refer(choice.by, reading));
        let (leaf, chosen) = match &rule.limit {
            Limit::One(leaf) => (*leaf, None),
            Limit::Chosen { choice, shared } => {
                let found = find(choice);
                (*choice.get(found), (!shared).then_some((choice, found)))
            }
        };
        let policy = match leaf {
            Leaf::Unlimited => return,
            Leaf::Blocked => None,
            Leaf::Policy(number) => Some(number),
        };
        let start = self.keys.len();
        self.keys.extend_from_slice(rule.name.as_bytes());
        for part in &rule.key {
            let mut present = part.references.iter().filter_map(|(reference, before)| {
                request.refer(*reference, reading).map(|value| (before, value))
            });
            match present.next() {
                Some((before, value)) => {
                    self.keys.extend_from_slice(before);
                    escape(value, self.keys);
                }
                None => self.keys.extend_from_slice(&part.absent),
            }
        }
        if let Some((choice, found)) = chosen {
            self.keys.extend_from_slice(b";limit");
            if let Some((value, _)) = found.and_then(|found| choice.of.get(found)) {
                self.keys.push(b'=');
                escape(value, self.keys);
            }
        }
        let cost = match rule.cost.by() {
            None => rule.cost.of(None),
            Some(by) => rule.cost.of(request.refer(by, reading)),
        };
        self.claims.push(Stored { rule: at, reading: number, policy, cost, key: start..self.keys.len() });
    }
}

/// Takes the first.
fn take(numbers: &mut &[u32]) -> Option<u32> {
    let (first, rest) = numbers.split_first()?;
    *numbers = rest;
    Some(*first)
}

/// Puts the claims in the order of the rules, then of the readings. Of those with one key the dearest stays, the first of
/// these, where the first stood.
fn one_of_each_key(keys: &[u8], claims: &mut Vec<Stored>) {
    claims.sort_unstable_by_key(|claim| (claim.rule, claim.reading));
    let mut kept = 0;
    for at in 0..claims.len() {
        let claim = claims[at].clone();
        // Keys of two rules differ; of one rule there are at most seven claims.
        let before = claims[..kept].iter_mut().rev().take_while(|before| before.rule == claim.rule);
        match before.into_iter().find(|before| keys[before.key.clone()] == keys[claim.key.clone()]) {
            Some(same) if claim.cost > same.cost => *same = claim,
            Some(_) => {}
            None => {
                claims[kept] = claim;
                kept += 1;
            }
        }
    }
    claims.truncate(kept);
}

/// Writes a value as a key has it.
fn escape(value: &[u8], key: &mut Vec<u8>) {
    let is_plain = |byte: &u8| matches!(byte, 0x21..=0x7e) && !matches!(byte, b'%' | b';');
    if value.iter().all(is_plain) {
        key.extend_from_slice(value);
        return;
    }
    for byte in value {
        if is_plain(byte) {
            key.push(*byte);
        } else {
            key.extend([b'%', HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
        }
    }
}

impl Cost {
    /// What it is taken from, if it is not fixed.
    fn by(&self) -> Option<Reference> {
        match self {
            Self::Fixed(_) => None,
            Self::Chosen(choice) => Some(choice.by),
            Self::Read { from, .. } => Some(*from),
        }
    }

    /// The units of a request with that value.
    fn of(&self, value: Option<&[u8]>) -> u32 {
        match self {
            Self::Fixed(cost) => *cost,
            Self::Chosen(choice) => *choice.get(choice.find(value)),
            Self::Read { unit, max, default, .. } => units(value, *unit, *max).unwrap_or(*default),
        }
    }
}

/// A value of digits alone, divided by `unit` and rounded up, at most `max`; `None` of any other.
fn units(value: Option<&[u8]>, unit: u32, max: u32) -> Option<u32> {
    let digits = value.filter(|value| !value.is_empty() && value.iter().all(u8::is_ascii_digit))?;
    // What does not fit is above `max` units, however it is divided.
    let number = digits
        .iter()
        .fold(0u64, |number, digit| number.saturating_mul(10).saturating_add(u64::from(digit - b'0')));
    Some(u32::try_from(number.div_ceil(u64::from(unit))).unwrap_or(max).min(max))
}
