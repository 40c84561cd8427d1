//! The models of the table's protocol and of the cells, on the real code, in tables of 1 to 3 slots.
//!
//! Each says what must hold and which mutation in `ci/mutations/` turns it red. Its bound is at least the preemptions
//! that its mutations need, and more where that takes seconds. All of them end with the same checks, in [`world`].

mod cells;
mod death;
mod full;
mod hit;
mod insert;
mod layers;
mod world;
