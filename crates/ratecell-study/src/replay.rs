//! Decides the requests of a recording by many policies at once.

use std::cmp::Reverse;
use std::io;

use ratecell_core::algorithm::Kernel;
use ratecell_core::with_kernel;

use crate::profile::{Profile, in_parallel};
use crate::recording::{Entry, Recording, client};
use crate::wish::Wish;

/// Denied clients that a trial names.
const MOST_DENIED: usize = 10;

/// What a policy did to the requests of a part of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// Requests, and those that were denied.
    pub requests: u64,
    /// See `requests`.
    pub denied: u64,
    /// Clients with requests in the part, and those of which any was denied.
    pub clients: u64,
    /// See `clients`.
    pub clients_denied: u64,
    /// Of the clients, those that behave in the part, and those of which any request was denied.
    pub behaving: u64,
    /// See `behaving`.
    pub behaving_denied: u64,
    /// The most units that were allowed in a window that a wish protects, of the windows in which more was asked for;
    /// 0 where there is none.
    pub most_allowed: u64,
}

impl Part {
    fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.denied += other.denied;
        self.clients += other.clients;
        self.clients_denied += other.clients_denied;
        self.behaving += other.behaving;
        self.behaving_denied += other.behaving_denied;
    }

    /// Whether a policy that did this meets a wish.
    #[must_use]
    pub fn meets(&self, wish: Wish) -> bool {
        match wish {
            Wish::DenyNobody => self.behaving_denied == 0,
            Wish::DenyAtMost { share } => {
                u128::from(self.denied) * 1_000_000_000 <= u128::from(self.requests) * u128::from(share)
            }
            Wish::Protect { units, .. } => self.most_allowed <= units,
        }
    }
}

/// A client and its requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Denied {
    /// Its number.
    pub client: usize,
    /// Its requests that were denied, and all.
    pub denied: u64,
    /// See `denied`.
    pub requests: u64,
}

/// What a policy did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trial {
    /// To the fitted part.
    pub fitted: Part,
    /// To the rest, on which it is tried.
    pub rest: Part,
    /// The clients that were denied most often, at most ten.
    pub most_denied: Vec<Denied>,
}

/// How much of a recording is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    Fitted,
    All,
}

impl Extent {
    fn parts(self) -> usize {
        match self {
            Self::Fitted => 1,
            Self::All => 2,
        }
    }
}

/// What is decided, and for which wish.
#[derive(Clone, Copy)]
pub(crate) struct Replay<'a> {
    pub(crate) recording: &'a Recording,
    pub(crate) profile: &'a Profile,
    pub(crate) wish: Wish,
    pub(crate) threads: usize,
    /// Called after each partition.
    pub(crate) progress: &'a (dyn Fn() + Sync),
}

impl Replay<'_> {
    /// Decides by each of `kernels`.
    pub(crate) fn run(&self, kernels: &[Kernel], extent: Extent) -> io::Result<Vec<Trial>> {
        let crowded = &self.recording.crowded;
        let mut trials = vec![Trial::default(); kernels.len()];
        let mut allowed = vec![0_u64; crowded.len() * kernels.len()];
        let tallies = in_parallel(self.threads, |partitions| {
            let mut crowd = Crowd::new(self.recording, self.wish, kernels.len());
            let mut trials = vec![Trial::default(); kernels.len()];
            for partition in partitions {
                let words = self.partition(partition, kernels, extent, &mut crowd)?;
                let behaves = |place: usize| self.profile.behaves(client(partition, place));
                for (kernel, trial) in trials.iter_mut().enumerate() {
                    trial.add(words.trial(kernel, partition, extent, behaves));
                }
                (self.progress)();
            }
            Ok((trials, crowd.allowed))
        })?;
        for (of_thread, allowed_by_it) in tallies {
            for (trial, other) in trials.iter_mut().zip(of_thread) {
                trial.add(other);
            }
            for (sum, units) in allowed.iter_mut().zip(allowed_by_it) {
                *sum += units;
            }
        }
        for (window, allowed) in crowded.iter().zip(allowed.chunks(kernels.len().max(1))) {
            let is_fitted = self.profile.is_fitted(*window, self.wish);
            for (trial, units) in trials.iter_mut().zip(allowed) {
                let part = if is_fitted { &mut trial.fitted } else { &mut trial.rest };
                part.most_allowed = part.most_allowed.max(*units);
            }
        }
        Ok(trials)
    }

    fn partition(
        &self,
        partition: usize,
        kernels: &[Kernel],
        extent: Extent,
        crowd: &mut Crowd<'_>,
    ) -> io::Result<Words> {
        let mut words = Words::new(self.recording.clients_in(partition), kernels.len());
        let mut fitted = self.profile.fitted[partition] as usize;
        self.recording.read(partition, |entries| {
            let cut = fitted.min(entries.len());
            let (before, after) = entries.split_at_mut(cut);
            fitted -= before.len();
            words.decide(0, before, kernels, crowd);
            if extent == Extent::All {
                words.decide(1, after, kernels, crowd);
            }
            extent == Extent::All || fitted > 0
        })?;
        Ok(words)
    }
}

impl Trial {
    fn add(&mut self, other: Self) {
        self.fitted.add(&other.fitted);
        self.rest.add(&other.rest);
        self.most_denied.extend(other.most_denied);
        keep_most_denied(&mut self.most_denied);
    }
}

fn keep_most_denied(clients: &mut Vec<Denied>) {
    clients.sort_unstable_by_key(|client| (Reverse(client.denied), client.client));
    clients.truncate(MOST_DENIED);
}

/// The state of a partition's clients: for each client what each policy has of it, one beside the other.
struct Words {
    kernels: usize,
    words: Vec<u64>,
    /// Denied requests in each part.
    denied: [Vec<u32>; 2],
    /// All requests of each client, in each part.
    requests: [Vec<u32>; 2],
}

impl Words {
    fn new(clients: usize, kernels: usize) -> Self {
        Self {
            kernels,
            words: vec![0; clients * kernels],
            denied: [vec![0; clients * kernels], vec![0; clients * kernels]],
            requests: [vec![0; clients], vec![0; clients]],
        }
    }

    /// Decides requests of one part, which are in the order of time.
    fn decide(&mut self, part: usize, entries: &mut [Entry], kernels: &[Kernel], crowd: &mut Crowd<'_>) {
        // Clients know nothing of each other: those of one are decided together, still in their order.
        entries.sort_by_key(|entry| entry.place);
        for run in entries.chunk_by(|one, other| one.place == other.place) {
            let place = run[0].place as usize;
            self.requests[part][place] += run.len() as u32;
            let own = place * self.kernels..(place + 1) * self.kernels;
            let words = self.words[own.clone()].iter_mut();
            let denied = self.denied[part][own].iter_mut();
            crowd.find(run);
            for (number, (kernel, (word, denied))) in kernels.iter().zip(words.zip(denied)).enumerate() {
                with_kernel!(kernel, kernel => *denied += if crowd.windows.is_empty() {
                    decide(kernel, word, run, |_| ())
                } else {
                    decide(kernel, word, run, |at| crowd.allow(at, run, number))
                });
            }
        }
    }

    /// What a policy did to the clients.
    fn trial(
        &self,
        kernel: usize,
        partition: usize,
        extent: Extent,
        behaves: impl Fn(usize) -> [bool; 2],
    ) -> Trial {
        let mut trial = Trial::default();
        for place in 0..self.requests[0].len() {
            let at = place * self.kernels + kernel;
            let behaves = behaves(place);
            for (number, part) in
                [&mut trial.fitted, &mut trial.rest].into_iter().enumerate().take(extent.parts())
            {
                let (requests, denied) = (self.requests[number][place], self.denied[number][at]);
                let counts = [requests > 0, denied > 0].map(u64::from);
                let behaving = u64::from(behaves[number]);
                part.add(&Part {
                    requests: requests.into(),
                    denied: denied.into(),
                    clients: counts[0],
                    clients_denied: counts[1],
                    behaving: behaving * counts[0],
                    behaving_denied: behaving * counts[1],
                    most_allowed: 0,
                });
            }
            let sum = |counts: &[Vec<u32>; 2], at: usize| counts.iter().map(|part| u64::from(part[at])).sum();
            let denied: u64 = sum(&self.denied, at);
            if denied > 0 && extent == Extent::All {
                let client = client(partition, place);
                trial.most_denied.push(Denied { client, denied, requests: sum(&self.requests, place) });
                if trial.most_denied.len() > 64 * MOST_DENIED {
                    keep_most_denied(&mut trial.most_denied);
                }
            }
        }
        keep_most_denied(&mut trial.most_denied);
        trial
    }
}

/// How many requests of a client are denied from `word` on.
#[inline]
fn decide<A: ratecell_core::algorithm::Algorithm>(
    kernel: &A,
    word: &mut u64,
    run: &[Entry],
    mut allow: impl FnMut(usize),
) -> u32 {
    let mut denied = 0;
    for (at, entry) in run.iter().enumerate() {
        let step = kernel.step(*word, entry.now_ns, entry.cost);
        if step.decision.is_allowed() {
            *word = step.charged.unwrap_or(*word);
            allow(at);
        } else {
            denied += 1;
        }
    }
    denied
}

/// What policies allow in crowded windows.
struct Crowd<'a> {
    period_ns: u64,
    windows: &'a [u64],
    kernels: usize,
    /// By window, and in it by policy.
    allowed: Vec<u64>,
    /// Where the window of each request of a run is, if it is crowded.
    places: Vec<Option<usize>>,
}

impl<'a> Crowd<'a> {
    fn new(recording: &'a Recording, wish: Wish, kernels: usize) -> Self {
        let period_ns = match wish {
            Wish::Protect { period_ns, .. } => period_ns,
            Wish::DenyNobody | Wish::DenyAtMost { .. } => 1,
        };
        let windows = &*recording.crowded;
        Self { period_ns, windows, kernels, allowed: vec![0; windows.len() * kernels], places: Vec::new() }
    }

    fn find(&mut self, run: &[Entry]) {
        self.places.clear();
        if !self.windows.is_empty() {
            let place = |entry: &Entry| self.windows.binary_search(&(entry.now_ns / self.period_ns)).ok();
            self.places.extend(run.iter().map(place));
        }
    }

    fn allow(&mut self, at: usize, run: &[Entry], kernel: usize) {
        if let Some(place) = self.places[at] {
            self.allowed[place * self.kernels + kernel] += u64::from(run[at].cost);
        }
    }
}
