//! A report as one page of HTML, which needs no network, no script and no other file.

use std::cmp::Reverse;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use ratecell_study::Recording;

use super::report::{PolicyReport, Report};
use super::tally::{Counts, PolicyTally, Tally};
use crate::log::{Decided, Keys, Period, duration};
use crate::output::{percent, printable};

mod course;
mod picture;

use course::{Bins, Course, course};
use picture::{Rank, by_use, over_time, spark};

/// Rows of the table beside a course.
const MOST_ROWS: usize = 24;

/// Clients in a curve by use.
const MOST_RANKS: usize = 150;

const STYLE: &str = include_str!("page/style.css");

/// What denied bars are filled with, so that no meaning is told by colour alone.
const HATCH: &str = r#"<svg class="defs" aria-hidden="true"><defs><pattern id="hatch" width="4" height="4" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="2.4" height="4" style="fill:var(--denied)"/></pattern></defs></svg>"#;

/// Writes the page of a replay whose requests were recorded.
///
/// # Errors
/// The file cannot be written, or the recording cannot be read.
pub(super) fn write(
    path: &Path,
    decided: &Decided<Tally>,
    recording: &Recording,
    report: &Report,
    max_keys: usize,
) -> Result<()> {
    let bins = Bins::of(&decided.period);
    // The requests come client by client, so that time steps back: none may be erased for another.
    let room = max_keys.max(decided.keys.len().saturating_mul(2));
    let mut courses = Vec::new();
    for (tally, policy) in decided.decider.policies.iter().zip(&report.policies) {
        let keys = policy.top_denied.iter().map(|key| key.number);
        courses.push(course(recording, bins, &tally.policy(), room, keys)?);
    }
    let page = page(decided, report, bins, &courses)?;
    fs::write(path, page.into_string())
        .with_context(|| format!("--report {}: cannot be written", path.display()))
}

fn page(decided: &Decided<Tally>, report: &Report, bins: Bins, courses: &[Course]) -> Result<Markup> {
    let keys = decided.keys.len();
    let title = format!(
        "{} requests of {} clients in {:#}",
        grouped(report.log.records),
        grouped(keys as u64),
        report.log.span()
    );
    let policies = || report.policies.iter().zip(courses);
    let rows = policies().map(|(policy, course)| row(policy, course)).collect::<Result<Vec<_>>>()?;
    let sections = policies().zip(&decided.decider.policies);
    let sections = sections
        .map(|((policy, course), tally)| section(policy, course, tally, &decided.keys, &decided.period, bins))
        .collect::<Result<Vec<_>>>()?;
    Ok(html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                (PreEscaped(HATCH))
                main {
                    h1 { (title) }
                    p { "From " (report.log.first) " to " (report.log.last) ". Times are in UTC." }
                    div.scroll {
                        table {
                            thead { tr { th.text { "policy" } th { "denied" } th { "%" } th { "clients denied" } th.text { "most denied" } th.text { "over time" } } }
                            tbody { @for row in rows { (row) } }
                        }
                    }
                    @for section in sections { (section) }
                    (assumed(report))
                }
            }
        }
    })
}

fn row(policy: &PolicyReport, course: &Course) -> Result<Markup> {
    let worst = policy.top_denied.first();
    Ok(html! {
        tr {
            td.text.long { code { (policy.policy) } }
            td { (grouped(policy.denied)) }
            td { (percent(policy.denied, policy.allowed + policy.denied)) }
            td { (grouped(policy.keys_denied as u64)) }
            td.text.long { (worst.map(|key| printable(key.key.as_bytes())).unwrap_or_default()) }
            td.spark.text { (PreEscaped(spark(&course.all)?)) }
        }
    })
}

fn section(
    policy: &PolicyReport,
    course: &Course,
    tally: &PolicyTally,
    keys: &Keys,
    period: &Period,
    bins: Bins,
) -> Result<Markup> {
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
    let by_use_title =
        format!("The heaviest client made {} requests, the lightest {}", grouped(heaviest), grouped(least));
    let curve: Vec<_> = ranks.iter().map(|(rank, _)| *rank).collect();
    let sparks = policy
        .top_denied
        .iter()
        .map(|key| course.of_keys.get(&key.number).map_or(Ok(String::new()), |counts| spark(counts)));
    let sparks = sparks.collect::<Result<Vec<_>>>()?;
    let width = duration(bins.width_ns);
    Ok(html! {
        section {
            h2 { (title) }
            figure {
                div role="img" aria-label=(title) { (PreEscaped(over_time(period, bins, &course.all)?)) }
                figcaption {
                    "Requests in each " (width) ": " span.allowed { "allowed" } " filled, " span.denied { "denied" } " hatched, above them. The table has the same, in longer spans."
                    @if policy.evicted > 0 { " No key is erased for want of room here, so that the counts can differ from those above." }
                }
            }
            (table_of(period, bins, &course.all))
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

/// The counts of a course in at most [`MOST_ROWS`] spans.
fn table_of(period: &Period, bins: Bins, counts: &[Counts]) -> Markup {
    let each = counts.len().div_ceil(MOST_ROWS).max(1);
    let rows = counts.chunks(each).enumerate().map(|(row, chunk)| {
        let sum = chunk.iter().fold(Counts::default(), |sum, counts| Counts {
            allowed: sum.allowed + counts.allowed,
            denied: sum.denied + counts.denied,
        });
        let start_ns = bins.start_ns.saturating_add(bins.width_ns.saturating_mul((row * each) as u64));
        (period.at(start_ns), sum)
    });
    html! {
        table {
            thead { tr { th.text { (duration(bins.width_ns.saturating_mul(each as u64))) " from" } th { "requests" } th { "allowed" } th { "denied" } } }
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

/// What was assumed of the log, and how the page was made.
fn assumed(report: &Report) -> Markup {
    let text = report.log.to_string();
    // A file's name need not be Unicode.
    let command: Vec<_> =
        std::env::args_os().skip(1).map(|argument| quoted(&argument.to_string_lossy())).collect();
    html! {
        section {
            h2 { "What was assumed" }
            table {
                tbody {
                    @for line in text.lines() {
                        @let (name, value) = line.split_at_checked(11).unwrap_or((line, ""));
                        tr { td.text { (name.trim()) } td.text.long { (value) } }
                    }
                }
            }
            @for warning in report.warnings() { p { strong { "Warning: " } (warning) } }
            h2 { "How this page was made" }
            p { "By ratecell " (env!("CARGO_PKG_VERSION")) ": " code { "ratecell " (command.join(" ")) } }
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

/// A number with thin spaces between its thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (place, digit) in digits.char_indices() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push('\u{2009}');
        }
        grouped.push(digit);
    }
    grouped
}

/// An argument as a shell reads it.
fn quoted(argument: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=+,@%".contains(c);
    if !argument.is_empty() && argument.chars().all(is_plain) {
        argument.to_owned()
    } else {
        format!("'{}'", argument.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_apart() {
        for (number, expected) in
            [(0, "0"), (999, "999"), (1_000, "1\u{2009}000"), (12_345_678, "12\u{2009}345\u{2009}678")]
        {
            assert_eq!(grouped(number), expected);
        }
    }

    #[test]
    fn arguments_are_quoted_where_a_shell_would_cut_them() {
        for (argument, expected) in
            [("a.log", "a.log"), ("10/s burst=20", "'10/s burst=20'"), ("it's", r"'it'\''s'"), ("", "''")]
        {
            assert_eq!(quoted(argument), expected);
        }
    }

    #[test]
    fn the_ranks_of_a_table_are_1_2_5() {
        let shown: Vec<_> = (1..=1000).filter(|rank| is_shown(*rank)).collect();
        assert_eq!(shown, [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]);
    }
}
