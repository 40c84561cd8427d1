//! The words of one layer: in a table of their own, or in one of several limiters.

#[cfg(feature = "rules")]
use super::mixed::MixedWords;
use super::states::Words;
use crate::cell::{Cell, Verdict};
#[cfg(feature = "rules")]
use crate::table::era::Term;
use crate::table::{Extent, Holding, Lookup, Seat, Stats, Superseded, Table, Unused};
use ratecell_core::algorithm::{Algorithm, InFlight, Reserve};
use ratecell_core::{Decision, Request};

/// Where the words of a layer stand.
#[derive(Clone, Debug)]
pub(super) enum WordTable {
    Own(Table),
    #[cfg(feature = "rules")]
    Mixed(MixedWords),
}

/// Does something with the table, of whichever kind it is.
macro_rules! with_table {
    ($words:expr, $table:ident => $act:expr) => {
        match $words {
            WordTable::Own($table) => $act,
            #[cfg(feature = "rules")]
            WordTable::Mixed(MixedWords { table: $table, .. }) => $act,
        }
    };
}

/// [`with_table`], where the verdict comes with a cell of that table.
macro_rules! verdict_of {
    ($words:expr, $table:ident => $verdict:expr) => {
        match $words {
            WordTable::Own($table) => $verdict.of(WordSeat::Own),
            #[cfg(feature = "rules")]
            WordTable::Mixed(MixedWords { table: $table, .. }) => $verdict.of(WordSeat::Mixed),
        }
    };
}

impl WordTable {
    pub(super) fn prefetch(&self, h: u64) {
        with_table!(self, table => table.prefetch(h));
    }

    pub(super) fn prefetch_rest(&self, h: u64) {
        with_table!(self, table => table.prefetch_rest(h));
    }

    #[inline(always)]
    pub(super) fn try_hit<A: Algorithm>(
        &self,
        algorithm: &A,
        h: u64,
        now: u64,
        cost: u32,
    ) -> Result<Decision, Lookup> {
        with_table!(self, table => table.try_hit(algorithm, h, now, cost))
    }

    pub(super) fn stats<A: Algorithm>(&self, algorithm: &A, now: u64, extent: Extent) -> Stats {
        with_table!(self, table => table.stats(algorithm, now, extent))
    }

    pub(super) fn counts_what_is_given_back(&self) -> bool {
        with_table!(self, table => table.counts_what_is_given_back())
    }

    pub(super) fn settle<A: Reserve>(
        &self,
        algorithm: &A,
        h: u64,
        unused: Unused,
        clock: impl Fn() -> u64,
    ) -> Result<Option<Decision>, Superseded> {
        with_table!(self, table => table.settle(algorithm, h, unused, clock))
    }

    pub(super) fn release(
        &self,
        in_flight: &InFlight,
        h: u64,
        permit: &Holding,
        cost: u32,
        clock: impl Fn() -> u64,
    ) -> Result<u32, Superseded> {
        with_table!(self, table => table.release(in_flight, h, permit, cost, clock))
    }

    pub(super) fn renew(
        &self,
        in_flight: &InFlight,
        h: u64,
        permit: &Holding,
        cost: u32,
        now: u64,
    ) -> (Decision, Option<Holding>) {
        with_table!(self, table => table.renew(in_flight, h, permit, cost, now))
    }

    pub(super) fn peek_renewal(
        &self,
        in_flight: &InFlight,
        h: u64,
        permit: &Holding,
        cost: u32,
        now: u64,
    ) -> Decision {
        with_table!(self, table => table.peek_renewal(in_flight, h, permit, cost, now))
    }
}

/// A key's cell in either kind of table.
#[derive(Clone, Copy, Debug)]
pub(super) enum WordSeat<'t> {
    Own(Seat<'t>),
    #[cfg(feature = "rules")]
    Mixed(Seat<'t, &'t Term>),
}

/// Does something with the seat, of whichever kind it is.
macro_rules! with_seat {
    ($of:expr, $seat:ident => $act:expr) => {
        match $of {
            WordSeat::Own($seat) => $act,
            #[cfg(feature = "rules")]
            WordSeat::Mixed($seat) => $act,
        }
    };
}

impl Cell for WordSeat<'_> {
    fn load(&self) -> u64 {
        with_seat!(self, seat => seat.load())
    }

    fn replace(&self, before: u64, after: u64) -> bool {
        with_seat!(self, seat => seat.replace(before, after))
    }

    fn give_back(&self, after: u64, before: u64) -> bool {
        with_seat!(self, seat => seat.give_back(after, before))
    }

    fn follow(&mut self, other: &Self) {
        match (self, other) {
            (Self::Own(seat), Self::Own(other)) => seat.follow(other),
            #[cfg(feature = "rules")]
            (Self::Mixed(seat), Self::Mixed(other)) => seat.follow(other),
            // Of two tables.
            #[cfg(feature = "rules")]
            _ => {}
        }
    }
}

impl Words for WordTable {
    type Cell<'c> = WordSeat<'c>;

    #[inline]
    fn charge<A: Algorithm>(
        &self,
        algorithm: &A,
        h: u64,
        now: u64,
        request: &Request<'_>,
    ) -> Verdict<WordSeat<'_>> {
        verdict_of!(self, table => table.charge(algorithm, h, now, request))
    }

    fn reserve<A: Reserve>(
        &self,
        algorithm: &A,
        h: u64,
        now: u64,
        request: &Request<'_>,
    ) -> (Decision, Verdict<WordSeat<'_>>, Option<Holding>) {
        match self {
            Self::Own(table) => {
                let (decision, verdict, holding) = table.reserve(algorithm, h, now, request);
                (decision, verdict.of(WordSeat::Own), holding)
            }
            #[cfg(feature = "rules")]
            Self::Mixed(MixedWords { table, .. }) => {
                let (decision, verdict, holding) = table.reserve(algorithm, h, now, request);
                (decision, verdict.of(WordSeat::Mixed), holding)
            }
        }
    }

    fn release(&self, in_flight: &InFlight, h: u64, permit: &Holding, cost: u32, now: u64) {
        // If the policy has just been changed, the permit comes back by itself.
        let _ = self.release(in_flight, h, permit, cost, || now);
    }

    #[inline]
    fn decide_cost<A: Algorithm>(
        &self,
        algorithm: &A,
        h: u64,
        now: u64,
        cost: u32,
        lookup: Lookup,
    ) -> Decision {
        with_table!(self, table => table.decide_cost(algorithm, h, now, cost, lookup))
    }

    #[inline]
    fn report<A: Algorithm>(
        &self,
        algorithm: &A,
        verdict: &Verdict<WordSeat<'_>>,
        now: u64,
        request: &Request<'_>,
    ) -> Decision {
        with_table!(self, table => table.report(algorithm, verdict, now, request))
    }

    fn peek<A: Algorithm>(&self, algorithm: &A, h: u64, now: u64, request: &Request<'_>) -> Decision {
        with_table!(self, table => table.peek(algorithm, h, now, request))
    }

    fn forget(&self, h: u64) -> bool {
        with_table!(self, table => table.forget(h))
    }
}
