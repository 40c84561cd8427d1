//! ratecell beside the `governor` crate and the machine's own floor, in one process.
//!
//! `cargo run --release` prints the tables of `docs/BENCHMARKS.md`; `-- --quick` fewer of them, sooner.
//!
//! ```text
//! stores ─► contest: cases, each with its peer ─► measure: in turns, over windows of the workload's keys
//!                                                   │
//!                            fill: insert storms ───┴─► report
//! ```

mod workload;
mod case;
mod stores;
mod contest;
mod measure;
mod fill;
mod report;

use std::process::ExitCode;
use std::time::Duration;

use case::Pace;
use contest::Contest;
use fill::{Filled, Store};
use measure::{Series, one_thread, two_processors, two_threads};
use report::{Measured, grouped};
use stores::{Answer, floor, governor, ratecell};
use workload::{uniform, unseen, zipf};

/// How much is measured.
#[derive(Clone, Copy, Debug)]
struct Extent {
    /// Turns of every case, on one thread and on two.
    rounds: usize,
    rounds_of_two: usize,
    /// Fillings of each store.
    fillings: usize,
    keys: &'static [u32],
}

const FULL: Extent =
    Extent { rounds: 61, rounds_of_two: 31, fillings: 3, keys: &[1_000, 1_000_000, 10_000_000] };
const QUICK: Extent = Extent { rounds: 21, rounds_of_two: 11, fillings: 1, keys: &[1_000, 1_000_000] };

/// Below this a store's memory is lost in the process's own, and a full table is soon all newcomers.
const MANY_KEYS: u32 = 100_000;

enum Command {
    Compare(Extent),
    /// Fill one store in this process: what [`fill::compare`] starts.
    Fill(Store, u32),
}

fn command(arguments: &[String]) -> Result<Command, String> {
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => Ok(Command::Compare(FULL)),
        ["--quick"] => Ok(Command::Compare(QUICK)),
        ["fill", store, keys] => {
            let store = Store::named(store)
                .ok_or_else(|| format!("unknown store {store:?}: expected ratecell or governor"))?;
            let keys = keys.parse().map_err(|_| format!("{keys:?} keys: expected a whole number"))?;
            Ok(Command::Fill(store, keys))
        }
        [first, ..] => Err(format!("unexpected argument {first:?}: expected --quick or nothing")),
    }
}

fn direct(extent: Extent) {
    let processors = two_processors();
    let (mut one, mut two) = (Vec::new(), Vec::new());
    for answer in Answer::BOTH {
        let word = floor::Word::default();
        let ours = ratecell::Direct::charged(answer.of_all());
        let theirs = governor::Direct::charged(answer.of_all());
        let contest = Contest::direct(answer, &word, &ours, &theirs);
        let mut keys = uniform(1);
        let measured = |series| Measured::new(answer, &contest, series);
        one.push(measured(one_thread(&contest.cases, &mut keys, extent.rounds, Pace::BackToBack)));
        if let Some(processors) = processors {
            two.push(measured(two_threads(&contest.cases, &mut keys, extent.rounds_of_two, processors)));
        }
    }
    report::contest("One limit for everything, one thread", &one);
    if processors.is_some() {
        report::contest("One limit for everything, two threads", &two);
    }
}

fn keyed(extent: Extent, keys: u32) {
    let processors = two_processors();
    let (mut lone, mut back, mut skewed, mut two) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut storms = Vec::new();
    for answer in Answer::BOTH {
        let limit = answer.of_keys();
        let (ours, theirs) = std::thread::scope(|scope| {
            let ours = scope.spawn(|| ratecell::Keyed::filled(limit, keys));
            let theirs = governor::Keyed::filled(limit, keys);
            (ours.join().expect("filling does not panic"), theirs)
        });
        let mut memory = [(); 2].map(|()| floor::Memory::of(ours.bytes()));
        let [load, fetch_add] = memory.each_mut().map(floor::Memory::floor);
        let contest = Contest::known_keys(&load, &fetch_add, &ours, &theirs);
        let on_one = |pace, mut order| one_thread(&contest.cases, &mut order, extent.rounds, pace);
        let measured = |series: Vec<Series>| Measured::new(answer, &contest, series);
        lone.push(measured(on_one(Pace::Lone, uniform(keys))));
        back.push(measured(on_one(Pace::BackToBack, uniform(keys))));
        skewed.push(measured(on_one(Pace::BackToBack, zipf(keys))));
        if let Some(processors) = processors {
            let mut order = uniform(keys);
            two.push(measured(two_threads(&contest.cases, &mut order, extent.rounds_of_two, processors)));
        }
        if answer == Answer::Denied && keys >= MANY_KEYS {
            storms = newcomers(extent, keys, &ours, &theirs);
        }
    }
    let keys = grouped(keys);
    report::contest(&format!("{keys} keys, each check alone"), &lone);
    report::contest(&format!("{keys} keys, back to back"), &back);
    report::contest(&format!("{keys} keys, back to back, Zipf"), &skewed);
    if processors.is_some() {
        report::contest(&format!("{keys} keys, back to back, two threads"), &two);
    }
    if !storms.is_empty() {
        report::contest(&format!("{keys} keys held, every request from a new one"), &storms);
    }
}

/// Newcomers to stores that hold all the keys they have room for: first all of them live, then, by a
/// clock set past the limit's interval, all as good as new.
fn newcomers(extent: Extent, keys: u32, ours: &ratecell::Keyed, theirs: &governor::Keyed) -> Vec<Measured> {
    let mut order = unseen(keys);
    let past = Duration::from_secs(3600).as_nanos() as u64;
    let situations = [("the keys held are live", 0), ("the keys held have expired", past)];
    let storm = situations.map(|(name, ahead)| {
        let contest = Contest::unseen_keys(name, ours, theirs, ahead);
        let series = one_thread(&contest.cases, &mut order, extent.rounds, Pace::BackToBack);
        Measured::new(Answer::Allowed, &contest, series)
    });
    storm.into()
}

fn compare(extent: Extent) -> Result<(), String> {
    direct(extent);
    let many = extent.keys.iter().filter(|keys| **keys >= MANY_KEYS);
    let fillings: Vec<Vec<Filled>> =
        many.map(|keys| fill::compare(*keys, extent.fillings)).collect::<Result<_, _>>()?;
    report::fillings(&fillings.into_iter().flatten().collect::<Vec<_>>());
    for keys in extent.keys {
        keyed(extent, *keys);
    }
    Ok(())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = command(&arguments).and_then(|command| match command {
        Command::Fill(store, keys) => {
            println!("{}", fill::fill(store, keys));
            Ok(())
        }
        Command::Compare(extent) => {
            let arguments = if arguments.is_empty() { "" } else { " -- --quick" };
            report::machine(arguments);
            compare(extent)
        }
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}
