//! A recording that is understood, and what it suggests.

use std::num::NonZero;
use std::thread;

use ratecell_core::Policy;
use statrs::function::beta::inv_beta_reg;

use crate::error::StudyError;
use crate::policy::Candidate;
use crate::profile::{Behaviour, Profile, Spread};
use crate::recording::Recording;
use crate::replay::{Extent, Part, Replay, Trial};
use crate::search::{Line, search};
use crate::wish::Wish;

/// How sure [`Found::at_most`] is.
const CONFIDENCE: f64 = 0.95;

/// A recording, with the profile of its clients.
#[derive(Debug)]
pub struct Study {
    recording: Recording,
    profile: Profile,
    wish: Wish,
    threads: usize,
}

/// What a study found for a wish.
#[derive(Clone, Debug)]
pub struct Suggestion {
    /// For each line that has one, the policy; the best one first. A line has none if no limit below 2^32 is loose enough.
    pub found: Vec<Found>,
    /// Lines on which even the tightest policy allows too much.
    pub none: Vec<Candidate>,
}

/// A policy that meets the wish on the fitted part.
#[derive(Clone, Debug)]
pub struct Found {
    /// Which one it is.
    pub candidate: Candidate,
    /// The same, to decide by.
    pub policy: Policy,
    /// Its neighbour that does not meet the wish; `None` where there is none.
    pub neighbour: Option<Candidate>,
    /// What it did.
    pub trial: Trial,
    /// Whether it meets the wish on the rest, too.
    pub holds: bool,
}

impl Found {
    /// The share of clients that are denied at most, by what the rest of the log says, with a confidence of 95 %: the
    /// upper bound of Clopper and Pearson. Of the clients that behave, if the wish is for these. `None` if the rest has
    /// no such client.
    #[must_use]
    pub fn at_most(&self, wish: Wish) -> Option<f64> {
        let Part { clients, clients_denied, behaving, behaving_denied, .. } = self.trial.rest;
        let (all, denied) = match wish {
            Wish::DenyNobody => (behaving, behaving_denied),
            Wish::DenyAtMost { .. } | Wish::Protect { .. } => (clients, clients_denied),
        };
        match all - denied {
            _ if all == 0 => None,
            0 => Some(1.0),
            allowed => Some(inv_beta_reg(denied as f64 + 1.0, allowed as f64, CONFIDENCE)),
        }
    }

    /// What makes one policy better than another that meets the same wish: less is better.
    ///
    /// First those that hold on the rest, then those that deny fewer clients that behave. Of the others, those that deny
    /// more requests where nobody is denied who behaves, and otherwise those that deny fewer clients, and fewer requests.
    fn rank(&self, wish: Wish) -> impl Ord + use<> {
        let Trial { fitted, rest, .. } = &self.trial;
        let denied = fitted.denied + rest.denied;
        let clients = fitted.clients_denied + rest.clients_denied;
        let by_effect = match wish {
            Wish::DenyNobody => (u64::MAX - denied, clients),
            Wish::DenyAtMost { .. } | Wish::Protect { .. } => (clients, denied),
        };
        let behaving = fitted.behaving_denied + rest.behaving_denied;
        (!self.holds, behaving, by_effect, self.candidate.kind, self.candidate.scale.ns)
    }
}

impl Study {
    /// Looks at all requests of a recording once.
    ///
    /// # Errors
    /// A temporary file cannot be read; or the recording has one client, or is too short.
    pub fn new(recording: Recording, wish: Wish) -> Result<Self, StudyError> {
        if recording.clients < 2 {
            return Err(StudyError::OneClient);
        }
        if recording.last_ns - recording.first_ns < 3 * crate::scale::SCALES[0].ns {
            return Err(StudyError::TooShort);
        }
        let threads = thread::available_parallelism().map_or(1, NonZero::get);
        let profile = Profile::new(&recording, threads)?;
        Ok(Self { recording, profile, wish, threads })
    }

    /// What a limit is to do.
    #[must_use]
    pub fn wish(&self) -> Wish {
        self.wish
    }

    /// The instant from which requests are tried, and not fitted, in nanoseconds since the epoch of the recording.
    #[must_use]
    pub fn cut_ns(&self) -> u64 {
        self.profile.cut_ns
    }

    /// Which clients behave.
    #[must_use]
    pub fn behaviour(&self) -> Behaviour {
        self.profile.behaviour
    }

    /// How fast clients were, by scale.
    #[must_use]
    pub fn spreads(&self) -> &[Spread] {
        &self.profile.spreads
    }

    /// How many windows of the fitted part there are in which all clients together asked for more than the wish protects.
    #[must_use]
    pub fn crowded(&self) -> usize {
        self.recording.crowded.partition_point(|window| self.profile.is_fitted(*window, self.wish))
    }

    /// Finds the policies that meet the wish. `progress` is called [`PARTITIONS`](crate::PARTITIONS) times in each round, from
    /// several threads.
    ///
    /// Nothing is found for a wish to protect what nobody [crowded](Self::crowded): it is met without a limit.
    ///
    /// # Errors
    /// A temporary file cannot be read.
    pub fn suggest(&self, progress: &(dyn Fn() + Sync)) -> Result<Suggestion, StudyError> {
        let Self { recording, profile, wish, threads } = self;
        if wish.is_upper_bound() && self.crowded() == 0 {
            return Ok(Suggestion { found: Vec::new(), none: Vec::new() });
        }
        let replay = Replay { recording, profile, wish: *wish, threads: *threads, progress };
        let lines = search(&replay)?;
        let (chosen, none): (Vec<_>, Vec<_>) =
            lines.iter().map(|line| (line, chosen(line, *wish))).partition(|(_, chosen)| chosen.is_some());
        let chosen = chosen.into_iter().filter_map(|(line, candidate)| {
            let (candidate, neighbour) = candidate?;
            Some((line, candidate, neighbour, candidate.kernel()?, candidate.policy().ok()?))
        });
        let chosen: Vec<_> = chosen.collect();
        let kernels: Vec<_> = chosen.iter().map(|(_, _, _, kernel, _)| kernel.clone()).collect();
        let trials = replay.run(&kernels, Extent::All)?;
        let found = chosen.into_iter().zip(trials).map(|((_, candidate, neighbour, _, policy), trial)| {
            Found { candidate, policy, neighbour, holds: trial.rest.meets(*wish), trial }
        });
        // The loosest policy that there is can be too tight, where it is below twice the busiest window.
        let mut found: Vec<_> = found.filter(|found| found.trial.fitted.meets(*wish)).collect();
        found.sort_by_key(|found| found.rank(*wish));
        Ok(Suggestion { found, none: none.iter().map(|(line, _)| line.candidate(0)).collect() })
    }

    /// What a policy of a line does to the log, by an exact replay.
    ///
    /// # Errors
    /// A temporary file cannot be read.
    pub fn replay(&self, candidate: Candidate) -> Result<Option<Trial>, StudyError> {
        let Self { recording, profile, wish, threads } = self;
        let replay = Replay { recording, profile, wish: *wish, threads: *threads, progress: &|| () };
        let Some(kernel) = candidate.kernel() else { return Ok(None) };
        Ok(replay.run(&[kernel], Extent::All)?.pop())
    }
}

/// The policy of a line that meets the wish, and its neighbour that does not.
fn chosen(line: &Line, wish: Wish) -> Option<(Candidate, Option<Candidate>)> {
    let (loose, too_tight) = (line.candidate(line.loose), line.too_tight.map(|rung| line.candidate(rung)));
    if wish.is_upper_bound() { Some((too_tight?, Some(loose))) } else { Some((loose, too_tight)) }
}
