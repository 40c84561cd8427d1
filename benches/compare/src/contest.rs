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

    /// Ratecell's cases against one peer.
    fn meet(&mut self, peer: Case<'s>, ratecell: impl IntoIterator<Item = (&'static str, Case<'s>)>) {
        let peer_at = self.cases.len();
        self.cases.push(peer);
        for (name, case) in ratecell {
            self.rows.push(Row { name, case: self.cases.len(), peer: peer_at });
            self.cases.push(case);
        }
    }

    /// Keys that both stores hold.
    pub(crate) fn known_keys(
        floor: &'s Floor<'_>,
        ratecell: &'s ratecell::Keyed,
        governor: &'s governor::Keyed,
    ) -> Self {
        let mut contest = Self::new();
        contest.floor("floor: hash and one line's load", floor.load());
        contest.floor("floor: hash and one line's fetch_add", floor.fetch_add());
        contest.meet(
            governor.own_clock(),
            [
                ("own clock, own hash", ratecell.own_clock()),
                ("the same, batch of 32", ratecell.own_clock_batched()),
            ],
        );
        contest.meet(
            governor.caller_clock(),
            [
                ("caller's clock, own hash", ratecell.caller_clock()),
                ("the same, batch of 32", ratecell.caller_clock_batched()),
            ],
        );
        contest.meet(
            governor.caller_hash(),
            [
                ("caller's clock and hash", ratecell.caller_hash()),
                ("the same, batch of 32", ratecell.caller_hash_batched()),
            ],
        );
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
        contest.meet(governor.ahead(ahead), [(name, ratecell.ahead(ahead))]);
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
        contest.meet(governor.own_clock(), [("own clock", ratecell.own_clock())]);
        contest.meet(governor.caller_clock(), [("caller's clock", ratecell.caller_clock())]);
        contest
    }
}
