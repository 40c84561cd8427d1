//! The pages of `docs/`, for rustdoc to compile and run their snippets. The README's are the crate's
//! own documentation.

#[doc = include_str!("../docs/RECIPES.md")]
struct Recipes;

#[doc = include_str!("../docs/CHOOSING.md")]
struct Choosing;

#[doc = include_str!("../docs/OPERATIONS.md")]
struct Operations;

#[cfg(feature = "store")]
#[doc = include_str!("../docs/MACHINES.md")]
struct Machines;
