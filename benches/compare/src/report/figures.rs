//! The figures aimed at, and whether this run met them.

use crate::contests::{ALONE, BACK_TO_BACK, DIRECT, FULLNESS, LONE, TWO, table};
use crate::measure::Spread;
use crate::results::Results;
use crate::stores::{Answer, floor, governor, maps, ratecell};
use crate::storm;

/// A bound on a number.
#[derive(Clone, Copy)]
enum Bound {
    AtMost(f64),
    AtLeast(f64),
}

use Bound::{AtLeast, AtMost};

impl Bound {
    fn holds(self, value: f64) -> bool {
        match self {
            AtMost(bound) => value <= bound,
            AtLeast(bound) => value >= bound,
        }
    }
}

/// A number that was measured at some place.
type Found = (f64, String);

/// Of several numbers the one furthest from the bound's good side: what is aimed at is met everywhere or not.
fn worst(bound: Bound, found: impl IntoIterator<Item = Option<Found>>) -> Option<Found> {
    let by = |a: &Found, b: &Found| match bound {
        AtMost(_) => a.0.total_cmp(&b.0),
        AtLeast(_) => b.0.total_cmp(&a.0),
    };
    found.into_iter().flatten().max_by(by)
}

fn highest(found: impl IntoIterator<Item = Option<Found>>) -> Option<Found> {
    found.into_iter().flatten().max_by(|a, b| a.0.total_cmp(&b.0))
}

/// One demand: what the number is, the bound, and what was found.
struct Demand {
    what: &'static str,
    bound: Bound,
    found: Option<Found>,
}

fn demand(what: &'static str, bound: Bound, found: impl IntoIterator<Item = Option<Found>>) -> Demand {
    Demand { what, bound, found: worst(bound, found) }
}

struct Figure {
    path: &'static str,
    figure: &'static str,
    demands: Vec<Demand>,
    /// What bounds it, by this run: said where it is not met.
    causes: Vec<Cause>,
}

/// What takes the time, with `{}` for the number of this run that shows it.
struct Cause(&'static str, Option<Found>);

impl Cause {
    fn text(&self) -> Option<String> {
        let (value, place) = self.1.as_ref()?;
        let place = if place.is_empty() { String::new() } else { format!(" ({place})") };
        Some(self.0.replace("{}", &format!("{value:.2}")) + &place)
    }
}

impl Figure {
    fn line(&self) -> String {
        let values: Vec<String> = self.demands.iter().map(Demand::value).collect();
        let met =
            self.demands.iter().map(|demand| demand.found.as_ref().map(|(v, _)| demand.bound.holds(*v)));
        let met = met.collect::<Option<Vec<bool>>>().map(|met| !met.contains(&false));
        let met = match met {
            Some(true) => "met".to_owned(),
            Some(false) => {
                let causes: Vec<String> = self.causes.iter().filter_map(Cause::text).collect();
                let causes =
                    if causes.is_empty() { String::new() } else { format!(": {}", causes.join("; ")) };
                format!("**not met**{causes}")
            }
            None => "not measured".to_owned(),
        };
        format!("| {} | {} | {} | {met} |\n", self.path, self.figure, values.join("; "))
    }
}

impl Demand {
    fn value(&self) -> String {
        let Self { what, found, .. } = self;
        match found {
            Some((value, place)) => {
                let digits = if *value < 10.0 { 2 } else { 1 };
                let place = if place.is_empty() { String::new() } else { format!(" ({place})") };
                format!("{value:.digits$}{what}{place}")
            }
            None => format!("–{what}"),
        }
    }
}

impl Results {
    /// Row `of` over row `to` of one answer's table.
    fn over(&self, title: &str, answer: Answer, column: &str, of: &str, to: &str) -> Option<Found> {
        let ratio = self.column(&table(title, answer), column)?.ratio(of, to)?;
        Some((ratio.median, format!("{column}, {}", answer.name())))
    }

    /// The same over all these keys and both answers.
    fn over_all<'r>(
        &'r self,
        titles: &'r [&'r str],
        columns: &'r [&'r str],
        of: &'r str,
        to: &'r str,
    ) -> impl Iterator<Item = Option<Found>> + 'r {
        titles.iter().flat_map(move |title| {
            columns.iter().flat_map(move |column| {
                Answer::BOTH.map(|answer| {
                    let (ratio, place) = self.over(title, answer, column, of, to)?;
                    let pace = if *title == LONE { "alone" } else { "back to back" };
                    Some((ratio, format!("{place}, {pace}")))
                })
            })
        })
    }

    /// What a decision costs each of two threads over what it costs one of them alone.
    fn of_two(&self, title: &str, answer: Answer, column: &str, row: &str) -> Option<f64> {
        let title = table(title, answer);
        let alone = self.column(&format!("{title}{ALONE}"), column)?.row(row)?;
        Some(self.column(&title, column)?.row(row)?.over(alone).median)
    }

    /// How `row` gains by a second thread, over how bare reads do.
    fn scaling(&self, answer: Answer, column: &str, row: &str) -> Option<Found> {
        let of_two = |row| self.of_two(TWO, answer, column, row);
        Some((of_two(floor::LOAD)? / of_two(row)?, format!("{column}, {}", answer.name())))
    }

    fn bytes(&self, key_len: usize) -> impl Iterator<Item = Option<Found>> {
        let ours = self
            .memory
            .iter()
            .filter(move |memory| memory.store == storm::RATECELL && memory.key_len == key_len);
        ours.map(|memory| Some((memory.bytes_per_key, crate::grouped(memory.keys))))
    }

    /// The worst insertion that recurs.
    fn worst_insertion(&self) -> impl Iterator<Item = Option<Found>> {
        let ours = self.storms.iter().filter(|storm| storm.store == storm::RATECELL);
        ours.flat_map(|storm| {
            storm.parts.iter().map(|part| {
                Some((part.worst_us, format!("{} keys, to {} %", crate::grouped(storm.keys), part.percent)))
            })
        })
    }

    /// An insertion over governor's, whichever way that is built.
    fn insertion(&self) -> impl Iterator<Item = Option<Found>> {
        let of = |store: &'static str| self.storms.iter().filter(move |storm| storm.store == store);
        of(storm::RATECELL).flat_map(move |ours| {
            let theirs = [storm::GOVERNOR, storm::GOVERNOR_SIZED]
                .map(|store| of(store).find(|theirs| theirs.keys == ours.keys));
            theirs.into_iter().flat_map(move |theirs| {
                ours.parts.iter().enumerate().map(move |(at, part)| {
                    let theirs = theirs?.parts.get(at)?;
                    let runs = part.ns_per_key.iter().zip(&theirs.ns_per_key);
                    let ratio = Spread::of(runs.map(|(ours, theirs)| ours / theirs).collect()).median;
                    Some((ratio, format!("{} keys, to {} %", crate::grouped(ours.keys), part.percent)))
                })
            })
        })
    }

    /// The worst insertion that recurs but for the first of a process.
    fn worst_later(&self) -> impl Iterator<Item = Option<Found>> {
        let ours = self.storms.iter().filter(|storm| storm.store == storm::RATECELL);
        ours.map(|storm| Some((storm.worst_later_us, format!("{} keys", crate::grouped(storm.keys)))))
    }

    fn count(&self, case: &str) -> [Option<Found>; 1] {
        [self.instructions.iter().find(|(name, _)| name == case).map(|(_, count)| (*count, String::new()))]
    }

    /// The instructions of one case over those of another.
    fn counts(&self, of: &str, to: &str, place: &str) -> Option<Found> {
        let [[of], [to]] = [of, to].map(|case| self.count(case));
        Some((of?.0 / to?.0, place.to_owned()))
    }
}

/// Keys that fit the processor's caches, and keys that do not.
const IN_CACHE: [&str; 2] = ["1,000", "100,000"];
const MILLION: &str = "1,000,000";
const TEN_MILLION: &str = "10,000,000";

fn hot(results: &Results) -> [Figure; 3] {
    let (allowed, denied) = (Answer::Allowed, Answer::Denied);
    let (ours, theirs) = (ratecell::DIRECT_CALLER_CLOCK, governor::DIRECT_CALLER_CLOCK);
    let direct =
        |column, to| results.over(DIRECT, allowed, column, ours, to).map(|found| (found.0, String::new()));
    let keyed = |to| {
        let found = results.over(TWO, allowed, "1", ratecell::CALLER_HASH, to);
        found.map(|(ratio, _)| (ratio, "of a table".to_owned()))
    };
    let of_two = [
        results.of_two(DIRECT, denied, "2 threads", ours).map(|ratio| (ratio, "DirectLimiter".to_owned())),
        results.of_two(TWO, denied, "1", ratecell::CALLER_HASH).map(|ratio| (ratio, "of a table".to_owned())),
    ];
    let apart = |row| Some((results.of_two(TWO, denied, "1", row)?, String::new()));
    let one = |row| {
        let found = results.over(DIRECT, allowed, "1 thread", row, floor::WORD_FETCH_ADD);
        found.map(|(ratio, _)| (ratio, String::new()))
    };
    let of_one = || {
        let alone = results.column(&format!("{}{ALONE}", table(TWO, allowed)), "1")?;
        Some((alone.ratio(ratecell::CALLER_HASH, floor::FETCH_ADD)?.median, String::new()))
    };
    [
        Figure {
            path: "`DirectLimiter`, allowed, caller's clock, 1 thread",
            figure: "at most 1.5 times a bare fetch_add",
            demands: vec![demand("", AtMost(1.5), [direct("1 thread", floor::WORD_FETCH_ADD)])],
            causes: vec![
                Cause("a load and a compare_exchange alone take {}", one(floor::WORD_EXCHANGE)),
                Cause("governor takes {}", one(theirs)),
            ],
        },
        Figure {
            path: "one hot key, allowed, 2 threads",
            figure: "at most 2 times contended fetch_add, and at most half of governor",
            demands: vec![
                demand(
                    " of fetch_add",
                    AtMost(2.0),
                    [direct("2 threads", floor::WORD_FETCH_ADD), keyed(floor::FETCH_ADD)],
                ),
                demand(
                    " of governor",
                    AtMost(0.5),
                    [direct("2 threads", theirs), keyed(governor::CALLER_HASH)],
                ),
            ],
            causes: vec![Cause(
                "threads on one line take turns, and alone a check of a table takes {} of a fetch_add",
                of_one(),
            )],
        },
        Figure {
            path: "one hot key, denied, 2 threads",
            figure: "per-thread cost at most 1.1 times that of 1 thread; no store, no read-modify-write",
            demands: vec![demand(" of one thread", AtMost(1.1), of_two)],
            causes: vec![
                Cause(
                    "the hash alone, for which the threads share nothing, takes {} of one thread",
                    apart(floor::HASH),
                ),
                Cause("with one line's load {}", apart(floor::LOAD)),
            ],
        },
    ]
}

fn keyed(results: &Results) -> [Figure; 6] {
    let (ours, governor) = (ratecell::CALLER_CLOCK, governor::OWN_CLOCK);
    let in_cache = |of, to| results.over_all(&[LONE, BACK_TO_BACK], &IN_CACHE, of, to);
    let lone = |columns, of, to| results.over_all(&[LONE], columns, of, to);
    let large = [MILLION, TEN_MILLION];
    let emptier = Answer::BOTH
        .map(|answer| results.over(FULLNESS, answer, "back to back", ratecell::EIGHTH_FULL, maps::MUTEX));
    let scaling = |row| {
        large.into_iter().flat_map(move |keys| Answer::BOTH.map(|answer| results.scaling(answer, keys, row)))
    };
    [
        Figure {
            path: "keyed in cache (1k to 100k), default keyed hash, own clock",
            figure: "at most 0.8 of governor's default",
            demands: vec![demand("", AtMost(0.8), in_cache(ratecell::OWN_CLOCK, governor))],
            causes: vec![Cause(
                "the hash and the clock alone take {}",
                highest(in_cache(floor::OWN, governor)),
            )],
        },
        Figure {
            path: "keyed in cache, the caller's hash and clock",
            figure: "at most 0.45 of governor's default, and not behind `Mutex<hashbrown>` with the same hash",
            demands: vec![
                demand(" of governor", AtMost(0.45), in_cache(ratecell::CALLER_HASH, governor)),
                demand(" of the Mutex", AtMost(1.0), in_cache(ratecell::CALLER_HASH, maps::MUTEX)),
            ],
            causes: vec![
                Cause(
                    "the hash and one line's load alone take {} of governor",
                    highest(in_cache(floor::LOAD, governor)),
                ),
                Cause("in a table an eighth full a check takes {} of the Mutex", highest(emptier)),
            ],
        },
        Figure {
            path: "keyed, 1M uniform, lone check, fenced, caller's clock",
            figure: "at most 0.55 of governor's default",
            demands: vec![demand("", AtMost(0.55), lone(&[MILLION], ours, governor))],
            causes: vec![Cause(
                "the hash and one line's load alone take {} of governor",
                highest(lone(&[MILLION], floor::LOAD, governor)),
            )],
        },
        Figure {
            path: "keyed, 10M uniform, lone check, fenced, caller's clock",
            figure: "at most 1.3 times (one random cache-line read + the hash); at most 0.45 of governor",
            demands: vec![
                demand(" of the read", AtMost(1.3), lone(&[TEN_MILLION], ours, floor::LOAD)),
                demand(" of governor", AtMost(0.45), lone(&[TEN_MILLION], ours, governor)),
            ],
            causes: vec![
                Cause(
                    "the hash and one line's load alone take {} of governor",
                    highest(lone(&[TEN_MILLION], floor::LOAD, governor)),
                ),
                Cause(
                    "with all the lines of two buckets {}",
                    highest(lone(&[TEN_MILLION], floor::BUCKETS, governor)),
                ),
            ],
        },
        Figure {
            path: "keyed, 1M and 10M, batch of 32",
            figure: "at most 0.15 of governor per decision; at most 0.35 of one random cache-line read",
            demands: vec![
                demand(" of governor", AtMost(0.15), lone(&large, ratecell::BATCH_32, governor)),
                demand(" of the read", AtMost(0.35), lone(&large, ratecell::BATCH_32, floor::LOAD)),
            ],
            causes: vec![],
        },
        Figure {
            path: "2 threads, uniform keys",
            figure: "scales at least 0.9 of how bare random line reads scale in the same run",
            demands: vec![demand("", AtLeast(0.9), scaling(ours))],
            causes: vec![Cause(
                "bare reads of the four lines that a check asks for scale by {}",
                worst(AtLeast(0.9), scaling(floor::BUCKETS)),
            )],
        },
    ]
}

fn memory_and_instructions(results: &Results) -> [Figure; 4] {
    let settled = |suffix: &str, check: &str, place| {
        let of = format!("ratecell, {place}, reserved and settled{suffix}, allowed");
        results.counts(&of, &format!("ratecell, {place}{check}, allowed"), place)
    };
    let (own, callers) = ("own hash", "caller's hash");
    [
        Figure {
            path: "memory",
            figure: "at most 26 bytes per key at the advertised capacity, 16-byte or 1 kB keys alike",
            demands: vec![
                demand(" at 16 bytes", AtMost(26.0), results.bytes(16)),
                demand(" at 1 kB", AtMost(26.0), results.bytes(1024)),
            ],
            causes: vec![],
        },
        Figure {
            path: "insert storm, any fill",
            figure: "no single operation above 10 µs CPU after construction; at least as fast as governor's insert",
            demands: vec![
                demand(" µs", AtMost(10.0), results.worst_insertion()),
                demand(" of governor", AtMost(1.0), results.insertion()),
            ],
            causes: vec![
                Cause(
                    "the first insertion of a process loads the code that inserts, and all others take at most {} µs",
                    highest(results.worst_later()),
                ),
                Cause(
                    "a new key takes {} of governor's instructions",
                    results.counts(
                        "ratecell, caller's hash, new key, allowed",
                        "governor, caller's hash, new key, allowed",
                        "",
                    ),
                ),
            ],
        },
        Figure {
            path: "instructions per keyed decision (callgrind, 16-byte keys, caller's hash)",
            figure: "at most 90 allowed, 80 denied",
            demands: vec![
                demand(" allowed", AtMost(90.0), results.count("ratecell, caller's hash, allowed")),
                demand(" denied", AtMost(80.0), results.count("ratecell, caller's hash, denied")),
            ],
            causes: vec![
                Cause("the hash takes {}", highest(results.count("the caller's hash alone"))),
                Cause(
                    "in a half full table all takes {}",
                    highest(results.count("ratecell, caller's hash, half full, allowed")),
                ),
            ],
        },
        Figure {
            path: "reserve and settle, by instructions",
            figure: "together at most 2.2 checks of which the same is kept",
            demands: vec![
                demand(" the answer alone", AtMost(2.2), [settled("", "", own), settled("", "", callers)]),
                demand(
                    " all of the decisions",
                    AtMost(2.2),
                    [settled(", all of the decisions kept", ", all of the decision kept", callers)],
                ),
            ],
            causes: vec![Cause(
                "by the own hash, which is computed once for both, they take {}",
                settled("", "", own),
            )],
        },
    ]
}

pub(super) fn table_of(results: &Results) -> String {
    let figures = hot(results).into_iter().chain(keyed(results)).chain(memory_and_instructions(results));
    let head = "| path | figure | this run | |\n| --- | --- | --- | --- |\n".to_owned();
    figures.fold(head, |text, figure| text + &figure.line())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_met_by_its_worst_place_or_not_at_all() {
        let found = |value: f64| Some((value, String::new()));
        let line = |bound, found: Vec<Option<Found>>| {
            let causes = vec![Cause("y takes {}", Some((2.0, "there".to_owned()))), Cause("{}", None)];
            Figure { path: "p", figure: "f", demands: vec![demand(" x", bound, found)], causes }.line()
        };
        assert_eq!(
            line(AtMost(0.5), vec![found(0.4), None, found(0.6)]),
            "| p | f | 0.60 x | **not met**: y takes 2.00 (there) |\n"
        );
        assert_eq!(line(AtLeast(0.5), vec![found(0.6), found(0.9)]), "| p | f | 0.60 x | met |\n");
        assert_eq!(line(AtMost(0.5), vec![None]), "| p | f | – x | not measured |\n");
    }
}
