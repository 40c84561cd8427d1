//! What one policy did, in pictures and tables.

use std::cmp::Reverse;

use anyhow::Result;
use maud::{Markup, PreEscaped, html};

use super::axis::Axis;
use super::course::Course;
use super::grouped;
use super::picture::{Rank, by_use, over_time, spark};
use super::what_if::WhatIf;
use crate::log::{Keys, duration};
use crate::output::{percent, printable};
use crate::replay::report::PolicyReport;
use crate::replay::tally::{Counts, PolicyTally};

/// Rows of the table beside a course.
const MOST_ROWS: usize = 24;

/// Clients in a curve by use.
const MOST_RANKS: usize = 150;

/// All that is shown of one policy.
pub(super) struct Section<'r> {
    pub(super) policy: &'r PolicyReport,
    pub(super) tally: &'r PolicyTally,
    pub(super) course: Course,
    pub(super) neighbours: Vec<WhatIf>,
}

impl Section<'_> {
    /// The section, where `keys` has the clients by their numbers.
    pub(super) fn markup(&self, keys: &Keys, axis: &Axis) -> Result<Markup> {
        let Self { policy, tally, course, neighbours } = self;
        let requests = policy.allowed + policy.denied;
        let title = format!(
            "{} denies {} % of the requests, and {} of {} clients",
            policy.policy,
            percent(policy.denied, requests),
            grouped(policy.keys_denied as u64),
            grouped(policy.keys as u64),
        );
        let ranks = ranks(tally);
        let (heaviest, least) = (
            ranks.first().map_or(0, |(rank, _)| rank.requests),
            ranks.last().map_or(0, |(rank, _)| rank.requests),
        );
        let by_use_title = format!(
            "The heaviest client made {} requests, the lightest {}",
            grouped(heaviest),
            grouped(least)
        );
        let curve: Vec<_> = ranks.iter().map(|(rank, _)| *rank).collect();
        let sparks = policy
            .top_denied
            .iter()
            .map(|key| course.of_keys.get(&key.number).map_or(Ok(String::new()), |counts| spark(counts)));
        let sparks = sparks.collect::<Result<Vec<_>>>()?;
        let width = duration(axis.width_ns);
        Ok(html! {
            section {
                h2 { (title) }
                figure {
                    div role="img" aria-label=(title) { (PreEscaped(over_time(axis, &course.all)?)) }
                    figcaption {
                        "Requests in each " (width) ": " span.allowed { "allowed" } " filled, " span.denied { "denied" } " hatched, above them. The table has the same, in longer spans."
                        @if policy.evicted > 0 { " No key is erased for want of room here, so that the counts can differ from those above." }
                    }
                }
                (table_of(axis, &course.all))
                h3 { (by_use_title) }
                figure {
                    div role="img" aria-label=(by_use_title) { (PreEscaped(by_use(&curve)?)) }
                    figcaption {
                        "Requests of each client by its rank: " span.allowed { "never denied" } " filled, " span.denied { "denied" } " hollow."
                        @if curve.len() < policy.keys { " Drawn are " (curve.len()) " of " (grouped(policy.keys as u64)) " clients, at even distances of the curve." }
                    }
                }
                table {
                    thead { tr { th { "rank" } th.text { "client" } th { "requests" } th { "denied" } } }
                    tbody {
                        @for (rank, number) in ranks.iter().filter(|(rank, _)| is_shown(rank.rank)) {
                            tr {
                                td { (grouped(rank.rank as u64)) }
                                td.text.long { (name(keys, *number)) }
                                td { (grouped(rank.requests)) }
                                td { (grouped(tally.by_key[*number].denied)) }
                            }
                        }
                    }
                }
                (what_if_table(policy, neighbours))
                @if !policy.top_denied.is_empty() {
                    h3 { "Most denied" }
                    div.scroll {
                        table {
                            thead { tr { th.text { "client" } th { "denied" } th { "allowed" } th { "denied %" } th.text { "over time" } } }
                            tbody {
                                @for (key, spark) in policy.top_denied.iter().zip(sparks) {
                                    tr {
                                        td.text.long { (printable(key.key.as_bytes())) }
                                        td { (grouped(key.denied)) }
                                        td { (grouped(key.allowed)) }
                                        td { (percent(key.denied, key.denied + key.allowed)) }
                                        td.spark.text { (PreEscaped(spark)) }
                                    }
                                }
                            }
                        }
                    }
                    p.assumed { "Each time line has a height of its own, and the time of the picture above." }
                }
            }
        })
    }
}

/// The counts of a course in at most [`MOST_ROWS`] spans.
fn table_of(axis: &Axis, counts: &[Counts]) -> Markup {
    let each = counts.len().div_ceil(MOST_ROWS).max(1);
    let rows = counts.chunks(each).enumerate().map(|(row, chunk)| {
        let sum = chunk.iter().fold(Counts::default(), |sum, counts| Counts {
            allowed: sum.allowed + counts.allowed,
            denied: sum.denied + counts.denied,
        });
        (axis.start_of((row * each) as f64), sum)
    });
    html! {
        table {
            thead { tr { th.text { (duration(axis.width_ns.saturating_mul(each as u64))) " from" } th { "requests" } th { "allowed" } th { "denied" } } }
            tbody {
                @for (start, counts) in rows {
                    tr {
                        td.text { (start.strftime("%Y-%m-%d %H:%M:%S")) }
                        td { (grouped(counts.all())) }
                        td { (grouped(counts.allowed)) }
                        td { (grouped(counts.denied)) }
                    }
                }
            }
        }
    }
}

/// What the neighbours of a policy would have done, below the policy itself.
fn what_if_table(policy: &PolicyReport, neighbours: &[WhatIf]) -> Markup {
    let row = |text: &str, counts: Counts, keys_denied: usize| {
        html! {
            tr {
                td.text.long { code { (text) } }
                td { (grouped(counts.denied)) }
                td { (percent(counts.denied, counts.all())) }
                td { (grouped(keys_denied as u64)) }
            }
        }
    };
    let itself = Counts { allowed: policy.allowed, denied: policy.denied };
    html! {
        @if !neighbours.is_empty() {
            h3 { "What if one number were half or twice as much" }
            div.scroll {
                table {
                    thead { tr { th.text { "policy" } th { "denied" } th { "%" } th { "clients denied" } } }
                    tbody {
                        (row(&policy.policy, itself, policy.keys_denied))
                        @for neighbour in neighbours {
                            (row(&neighbour.policy, neighbour.counts, neighbour.keys_denied))
                        }
                    }
                }
            }
            p.assumed { "Each was replayed over the same requests." }
        }
    }
}

/// Clients by use, the heaviest first: all of them, or some whose ranks grow evenly by factors; with their numbers.
fn ranks(tally: &PolicyTally) -> Vec<(Rank, usize)> {
    let mut by_use: Vec<_> = tally.by_key.iter().enumerate().collect();
    by_use.sort_unstable_by_key(|(number, counts)| (Reverse(counts.all()), *number));
    let last = by_use.len();
    let factor = (last as f64).powf(1.0 / MOST_RANKS as f64);
    let mut next = 1.0_f64;
    let mut ranks = Vec::new();
    for (place, (number, counts)) in by_use.into_iter().enumerate() {
        let rank = place + 1;
        if rank as f64 >= next || rank == last || is_shown(rank) {
            ranks.push((Rank { rank, requests: counts.all(), is_denied: counts.denied > 0 }, number));
            next = (next * factor).max(rank as f64);
        }
    }
    ranks
}

/// Whether a client of that rank is in the table: 1, 2, 5, 10, 20, 50, …
fn is_shown(rank: usize) -> bool {
    let digits = rank.to_string();
    matches!(digits.trim_end_matches('0'), "1" | "2" | "5")
}

fn name(keys: &Keys, number: usize) -> String {
    keys.get_index(number).map(|key| printable(key)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ranks_of_a_table_are_1_2_5() {
        let shown: Vec<_> = (1..=1000).filter(|rank| is_shown(*rank)).collect();
        assert_eq!(shown, [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]);
    }
}
