//! The pages of `docs/`, for rustdoc to compile and run their snippets. The README's are the crate's
//! own documentation.

#[doc = include_str!("../docs/RECIPES.md")]
struct Recipes;

#[cfg(feature = "store")]
#[doc = include_str!("../docs/MACHINES.md")]
struct Machines;
