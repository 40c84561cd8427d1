//! Which cases meet: ratecell's, each with the peer it is to be compared with, and the floor.

use crate::case::Case;
use crate::stores::floor::{Floor, Word};
use crate::stores::{Answer, governor, ratecell};

/// A line of a table: a case of ratecell and the peer that is given the same.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) case: usize,
    pub(crate) peer: usize,
}

/// Cases to be measured in turns.
pub(crate) struct Contest<'s> {
    pub(crate) cases: Vec<Case<'s>>,
    pub(crate) rows: Vec<Row>,
    pub(crate) floors: Vec<(&'static str, usize)>,
}

impl<'s> Contest<'s> {
    fn new() -> Self {
        Self { cases: Vec::new(), rows: Vec::new(), floors: Vec::new() }
    }

    fn floor(&mut self, name: &'static str, case: Case<'s>) {
        self.floors.push((name, self.cases.len()));
        self.cases.push(case);
    }

    /// A case of ratecell and its peer; says which case the peer is.
    fn meet(&mut self, name: &'static str, case: Case<'s>, peer: Case<'s>) -> usize {
        let peer_at = self.cases.len();
        self.cases.push(peer);
        self.join(name, case, peer_at);
        peer_at
    }

    /// Another case of ratecell for a peer that has met one.
    fn join(&mut self, name: &'static str, case: Case<'s>, peer: usize) {
        self.rows.push(Row { name, case: self.cases.len(), peer });
        self.cases.push(case);
    }

    /// Keys that both stores hold.
    pub(crate) fn known_keys(
        load: &'s Floor<'_>,
        fetch_add: &'s Floor<'_>,
        ratecell: &'s ratecell::Keyed,
        governor: &'s governor::Keyed,
    ) -> Self {
        let mut contest = Self::new();
        contest.floor("floor: hash and one line's load", load.load());
        contest.floor("floor: hash and one line's fetch_add", fetch_add.fetch_add());
        let peer = contest.meet("own clock, own hash", ratecell.own_clock(), governor.own_clock());
        contest.join("own clock, own hash, batch of 32", ratecell.own_clock_batched(), peer);
        let peer = contest.meet("caller's clock, own hash", ratecell.caller_clock(), governor.caller_clock());
        contest.join("caller's clock, own hash, batch of 32", ratecell.caller_clock_batched(), peer);
        let peer = contest.meet("caller's clock and hash", ratecell.caller_hash(), governor.caller_hash());
        contest.join("caller's clock and hash, batch of 32", ratecell.caller_hash_batched(), peer);
        contest
    }

    /// Keys that neither store has seen, by a clock that runs `ahead` nanoseconds before the filling.
    pub(crate) fn unseen_keys(
        name: &'static str,
        ratecell: &'s ratecell::Keyed,
        governor: &'s governor::Keyed,
        ahead: u64,
    ) -> Self {
        let mut contest = Self::new();
        contest.meet(name, ratecell.ahead(ahead), governor.ahead(ahead));
        contest
    }

    /// No keys: one limit for everything.
    pub(crate) fn direct(
        answer: Answer,
        word: &'s Word,
        ratecell: &'s ratecell::Direct,
        governor: &'s governor::Direct,
    ) -> Self {
        let mut contest = Self::new();
        match answer {
            Answer::Allowed => contest.floor("floor: fetch_add", word.fetch_add()),
            Answer::Denied => contest.floor("floor: load", word.load()),
        }
        contest.meet("own clock", ratecell.own_clock(), governor.own_clock());
        contest.meet("caller's clock", ratecell.caller_clock(), governor.caller_clock());
        contest
    }
}
