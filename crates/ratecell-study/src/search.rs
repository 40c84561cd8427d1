//! Finds the tightest policies that are loose enough, or the loosest that are tight enough.

use std::io;

use ratecell_core::algorithm::Kernel;

use crate::policy::{Candidate, Kind, rung_of};
use crate::replay::{Extent, Replay};
use crate::scale::{SCALES, Scale};

/// Policies that are tried in a round, over all lines.
const CANDIDATES: usize = 200;

/// Counts of allowed units that a round may keep, one for each policy and crowded window: 128 MiB for each thread.
const MOST_COUNTS: usize = 1 << 24;

/// The policies of one kind over one scale.
///
/// Invariant: the policy on `too_tight` does not loosen enough, and the one on `loose` does. Below the first rung
/// everything is denied. The last rung of a new line denies nothing of the fitted part: no span of the scale's length has
/// more than twice the units of the busiest window. Where there is no such policy it is the loosest that there is, of which
/// only a replay says whether it is loose enough.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    pub(crate) kind: Kind,
    pub(crate) scale: Scale,
    pub(crate) too_tight: Option<usize>,
    pub(crate) loose: usize,
}

impl Line {
    /// `None` if there is no policy of the kind over the scale.
    fn new(kind: Kind, scale: Scale, peak: u64) -> Option<Self> {
        let is_policy = |rung: &usize| Candidate { kind, scale, rung: *rung }.kernel().is_some();
        let loose = (0..=rung_of(peak.saturating_mul(2))).rev().find(is_policy)?;
        Some(Self { kind, scale, too_tight: None, loose })
    }

    pub(crate) fn candidate(&self, rung: usize) -> Candidate {
        Candidate { kind: self.kind, scale: self.scale, rung }
    }

    /// Up to `most` rungs at even distances between the ends.
    fn probes(&self, most: usize) -> impl Iterator<Item = usize> + use<> {
        let first = self.too_tight.map_or(0, |rung| rung + 1);
        let (between, loose) = (self.loose - first, self.loose);
        let count = between.min(most);
        (1..=count)
            .map(move |number| loose - number * (between + 1) / (count + 1))
            .filter(move |rung| *rung < loose)
    }

    /// Narrows the bracket by what was found of the probes, the loosest first.
    fn narrow(&mut self, found: impl Iterator<Item = (usize, bool)>) {
        for (rung, is_loose) in found {
            if !is_loose {
                self.too_tight = Some(rung);
                return;
            }
            self.loose = rung;
        }
    }
}

/// The lines of all kinds over the scales that fit into the fitted part, each searched to its end. A line whose last
/// rung does not fit a word is left out: its limits are hundreds of thousands a second.
pub(crate) fn search(replay: &Replay<'_>) -> io::Result<Vec<Line>> {
    let fitted_ns = replay.profile.cut_ns - replay.recording.first_ns;
    let scales = SCALES.iter().zip(replay.profile.peaks).filter(|(scale, _)| scale.ns <= fitted_ns);
    let mut lines: Vec<_> = (scales.clone())
        .flat_map(|(scale, peak)| Kind::ALL.map(|kind| Line::new(kind, *scale, peak)))
        .flatten()
        .collect();
    loop {
        let (probes, kernels) = probes(&lines, replay.recording.crowded.len());
        if kernels.is_empty() {
            return Ok(lines);
        }
        let trials = replay.run(&kernels, Extent::Fitted)?;
        let loose =
            trials.iter().map(|trial| trial.fitted.meets(replay.wish) != replay.wish.is_upper_bound());
        let found: Vec<_> = probes.into_iter().zip(loose).collect();
        for (number, line) in lines.iter_mut().enumerate() {
            let own = found.iter().filter(|((of, _), _)| *of == number);
            line.narrow(own.map(|((_, rung), is_loose)| (*rung, *is_loose)));
        }
    }
}

/// What is tried next: the numbers of the lines with the rungs, and what decides by them.
fn probes(lines: &[Line], crowded: usize) -> (Vec<(usize, usize)>, Vec<Kernel>) {
    let room = MOST_COUNTS.checked_div(crowded).unwrap_or(CANDIDATES).min(CANDIDATES);
    let each = (room / lines.len().max(1)).max(1);
    let all = lines.iter().enumerate().flat_map(|(number, line)| {
        line.probes(each).filter_map(move |rung| Some(((number, rung), line.candidate(rung).kernel()?)))
    });
    all.unzip()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_end_is_found() {
        for loose in [0, 1, 2, 13, 14, 300] {
            for least in 0..=loose {
                let mut line = Line { kind: Kind::Gcra, scale: SCALES[0], too_tight: None, loose };
                let mut rounds = 0;
                loop {
                    let probes: Vec<_> = line.probes(13).collect();
                    assert!(probes.len() <= 13 && probes.is_sorted_by(|a, b| a > b), "{probes:?}");
                    if probes.is_empty() {
                        break;
                    }
                    line.narrow(probes.into_iter().map(|rung| (rung, rung >= least)));
                    rounds += 1;
                }
                assert_eq!((line.too_tight, line.loose), (least.checked_sub(1), least), "{loose}");
                assert!(rounds <= 3, "{rounds} rounds to {least} of {loose}");
            }
        }
    }
}
