//! Decides a number of times in one way, for `benches/instructions.sh` to count the instructions of.
//!
//! `ratecell-instructions` names the cases; `ratecell-instructions CASE DECISIONS` runs one; `ratecell-instructions lease
//! FILE` has the agent of a file lease units of the keys, for the cases that use them. Whatever is not a
//! decision is the same for every number of decisions, so that the difference of two counts has none of it.
//! Keys are made beforehand; the loop over them is a case of its own, to be taken off.

mod governor;
mod ratecell;
mod through_c;

use std::hash::BuildHasher;
use std::hint::black_box;
use std::ops::Range;
use std::process::ExitCode;
use std::time::Duration;

/// As long as many real ones.
type Key = [u8; 16];

/// What a caller hashes with. Keyed the same in every process, so that every key lies where it did, and its
/// search costs the same to the instruction; the stores' own hashes have a new secret each time.
type CallerHasher = foldhash::fast::FixedState;

/// The keys in use: so many that the luck of where they lie evens out.
const KEYS: u32 = 51_200;
/// Requests that are made ready.
const MOST: u32 = 2 * KEYS;
/// Keys that no request is of: as many as fill every slot of a table for [`KEYS`], and as many again.
const OTHERS: Range<u32> = KEYS + MOST..4 * KEYS + MOST;
/// Keys in a call of a batch.
const BATCH: usize = 32;
/// The time at which everything is decided: a second after the keys were charged first.
const NOW: u64 = FIRST + 1_000_000_000;
const FIRST: u64 = 1_000_000_000_000_000;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Answer {
    Allowed,
    Denied,
}

impl Answer {
    fn name(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Denied => "denied",
        }
    }

    /// One unit each so often, at most so many at once: a key that was charged once gives this answer.
    fn limit(self) -> (Duration, u32) {
        match self {
            Self::Allowed => (Duration::from_secs(10), 100_000_000),
            Self::Denied => (Duration::from_secs(3600), 1),
        }
    }
}

/// Decisions to be made: which keys, one after the other.
struct Requests {
    /// Each of [`KEYS`], over and over.
    known: Vec<Key>,
    /// As many keys never seen.
    unseen: Vec<Key>,
}

impl Requests {
    /// All there are, and then the first of them, so that fewer cost no less to make.
    fn of(decisions: usize) -> Option<Self> {
        let some = |mut keys: Vec<Key>| {
            let enough = decisions <= keys.len();
            keys.truncate(decisions);
            enough.then_some(keys)
        };
        let known = some((0..MOST).map(|request| key(request % KEYS)).collect())?;
        Some(Self { known, unseen: some((KEYS..KEYS + MOST).map(key).collect())? })
    }
}

fn key(number: u32) -> Key {
    let mut key = *b"user:ip:aaaaaaaa";
    for (place, letter) in key[8..].iter_mut().enumerate() {
        *letter += ((number >> (4 * place)) & 15) as u8;
    }
    key
}

/// Asks for every one of `keys` and says how many were allowed.
#[inline(always)]
fn each(keys: &[Key], mut check: impl FnMut(&Key) -> bool) -> usize {
    keys.iter().filter(|key| check(black_box(key))).count()
}

/// One way to decide: its name, and what decides on all requests and says how many were allowed.
struct Case {
    name: &'static str,
    /// What the decisions must be; `None` where nothing is decided.
    answer: Option<Answer>,
    run: fn(Answer, &Requests) -> usize,
}

const fn both(name: &'static str, run: fn(Answer, &Requests) -> usize) -> [Case; 2] {
    [Case { name, answer: Some(Answer::Allowed), run }, Case { name, answer: Some(Answer::Denied), run }]
}

fn hash_alone(_: Answer, requests: &Requests) -> usize {
    let hasher = CallerHasher::default();
    each(&requests.known, |key| {
        black_box(hasher.hash_one(key));
        true
    })
}

fn cases() -> Vec<Case> {
    let mut cases = vec![
        Case { name: "loop", answer: None, run: |_, requests| each(&requests.known, |_| true) },
        Case { name: "the caller's hash alone", answer: None, run: hash_alone },
    ];
    cases.extend(ratecell::cases());
    cases.extend(through_c::cases());
    cases.extend(governor::cases());
    cases
}

fn run(case: &Case, decisions: usize) -> Result<(), String> {
    let requests = Requests::of(decisions).ok_or_else(|| format!("at most {MOST} decisions"))?;
    let answer = case.answer.unwrap_or(Answer::Allowed);
    let allowed = (case.run)(answer, &requests);
    let others = if answer == Answer::Allowed { decisions - allowed } else { allowed };
    // A full table may find no room for a key in very many, and forget it.
    if others * 1000 > decisions {
        return Err(format!("{others} of {decisions} decisions were not to be {}", answer.name()));
    }
    Ok(())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let named = |case: &Case| match case.answer {
        Some(answer) => format!("{}, {}", case.name, answer.name()),
        None => case.name.to_owned(),
    };
    let outcome = match &arguments[..] {
        [] => {
            cases().iter().for_each(|case| println!("{}", named(case)));
            Ok(())
        }
        [word, file] if word == "lease" => ratecell::lease(file),
        [name, decisions] => {
            let case = cases().into_iter().find(|case| named(case) == *name);
            let decisions = decisions.parse().map_err(|error| format!("{decisions:?}: {error}"));
            case.ok_or_else(|| format!("no case {name:?}"))
                .and_then(|case| run(&case, decisions?).map_err(|error| format!("{name}: {error}")))
        }
        _ => Err("expected a case and a number of decisions, or nothing".to_owned()),
    };
    if let Err(error) = outcome {
        eprintln!("{error}");
        return ExitCode::from(2);
    }
    ExitCode::SUCCESS
}
