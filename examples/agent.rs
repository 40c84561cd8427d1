//! The agent of a machine that shares a limit with others: it makes a file, and fills it with leases until it is killed.
//!
//! `cargo run --features store --example agent -- FILE STORE NAME POLICY`
//!
//! Servers in any language open the file meanwhile. They need neither the store's address nor its password.

use std::error::Error;
use std::thread;

use ratecell::store::Store;
use ratecell::{Limiter, Policy};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, store, name, policy] = arguments.as_slice() else {
        return Err("expected FILE STORE NAME POLICY, such as /run/limits redis://127.0.0.1 api 10/s".into());
    };
    let store = Store::open(store)?.named(name)?;
    let limiter =
        Limiter::builder(policy.parse::<Policy>()?).max_keys(100_000).shared_by(store).open(file)?;
    println!("{file}: {}", limiter.policy());
    // The agent runs in a thread of its own, as long as the limiter is there.
    loop {
        thread::park();
    }
}
