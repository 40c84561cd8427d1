//! The store's client: what is asked of a store, in batches of one round trip each.

mod error;
mod value;
mod record;
mod script;
mod operation;
mod address;
mod node;
mod slots;
mod links;
mod connection;
mod attach;

pub use attach::{Attached, Named, Store, acl_rules};
pub use connection::{Channel, Connection};
pub use error::{StoreError, StoreErrorKind};
pub use operation::{Abilities, Answer, Operation, Reply, takes};
pub(crate) use record::{MOST_POLICIES, list};
pub use record::{Record, Stated, Terms};
pub use value::{MOST_LAYERS, Value};
