//! A report as one page of HTML, which needs no network, no script and no other file.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use ratecell_study::Recording;

use super::report::Report;
use super::tally::Tally;
use crate::log::Decided;
use crate::output::{percent, printable};

mod axis;
mod course;
mod picture;
mod section;
mod what_if;

use axis::{Axis, Clock};
use course::course;
use picture::spark;
use section::Section;
use what_if::what_if;

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
    let clock = Clock::of(&decided.files);
    let axis = Axis::new(decided.period, clock);
    let keys = decided.keys.len();
    // The requests come client by client, so that time steps back: none may be erased for another.
    let room = max_keys.max(keys.saturating_mul(2));
    let mut sections = Vec::new();
    for (tally, policy) in decided.decider.policies.iter().zip(&report.policies) {
        let shown = policy.top_denied.iter().map(|key| key.number);
        let course = course(recording, &axis, &tally.policy(), room, shown)?;
        let neighbours = what_if(recording, &tally.policy(), room, keys)?;
        sections.push(Section { policy, tally, course, neighbours });
    }
    let page = page(decided, report, &axis, clock, &sections)?;
    fs::write(path, page.into_string())
        .with_context(|| format!("--report {}: cannot be written", path.display()))
}

fn page(
    decided: &Decided<Tally>,
    report: &Report,
    axis: &Axis,
    clock: Clock,
    sections: &[Section<'_>],
) -> Result<Markup> {
    let keys = decided.keys.len();
    let title = format!(
        "{} requests of {} clients in {:#}",
        grouped(report.log.records),
        grouped(keys as u64),
        report.log.span()
    );
    let rows = sections.iter().map(row).collect::<Result<Vec<_>>>()?;
    let pictures = sections.iter().map(|section| section.markup(&decided.keys, axis));
    let pictures = pictures.collect::<Result<Vec<_>>>()?;
    let time = |instant| clock.at(instant).strftime("%Y-%m-%d %H:%M:%S");
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
                    p { "From " (time(report.log.first)) " to " (time(report.log.last)) ". " (clock.named()) }
                    div.scroll {
                        table {
                            thead { tr { th.text { "policy" } th { "denied" } th { "%" } th { "clients denied" } th.text { "most denied" } th.text { "over time" } } }
                            tbody { @for row in rows { (row) } }
                        }
                    }
                    @for picture in pictures { (picture) }
                    (assumed(report))
                }
            }
        }
    })
}

fn row(section: &Section<'_>) -> Result<Markup> {
    let Section { policy, course, .. } = section;
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
            @if report.log.files.iter().any(|file| file.digest.is_some()) {
                p { "The log was read from these files, by SHA-256:" }
                table {
                    tbody {
                        @for file in &report.log.files {
                            tr { td.text.long { (file.name) } td.text.long { code { (file.digest.as_deref().unwrap_or_default()) } } }
                        }
                    }
                }
            }
        }
    }
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
}
