//! The models of the table's protocol, of the cells, of the board and of names, on the real code, in tables of 1 to 3 slots a bucket.
//!
//! Each says what must hold and which mutation in `ci/mutations/` turns it red. Its bound is at least the preemptions
//! that its mutations need, and more where that takes seconds. All of them end with the same checks, in [`world`].

mod board;
mod calendar;
mod cells;
mod change;
mod clocks;
mod death;
mod forget;
mod hit;
mod hold;
mod insert;
mod law;
mod layers;
mod lend;
mod live;
mod names;
mod numbers;
mod permits;
mod share;
mod world;
mod wraps;
