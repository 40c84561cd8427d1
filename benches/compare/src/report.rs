//! The tables, as Markdown on standard output.

use std::fs;

use crate::contest::{Contest, Row};
use crate::fill::Filled;
use crate::measure::{Series, Spread};
use crate::stores::Answer;

/// What a contest gave, without the stores.
pub(crate) struct Measured {
    answer: Answer,
    rows: Vec<Row>,
    floors: Vec<(&'static str, usize)>,
    series: Vec<Series>,
}

impl Measured {
    pub(crate) fn new(answer: Answer, contest: &Contest<'_>, series: Vec<Series>) -> Self {
        Self { answer, rows: contest.rows.clone(), floors: contest.floors.clone(), series }
    }
}

fn nanoseconds(spread: Spread) -> String {
    let digits = if spread.median < 10.0 { 1 } else { 0 };
    format!("{:.digits$} [{:.digits$}]", spread.median, spread.best_decile)
}

fn ratio(spread: Spread) -> String {
    format!("{:.2} [{:.2}]", spread.median, spread.best_decile)
}

fn share(ratecell: &Series, governor: &Series) -> String {
    format!("{:.3} / {:.3}", ratecell.allowed(), governor.allowed())
}

/// One table: a line for each floor and for each case of ratecell.
pub(crate) fn contest(title: &str, measured: &[Measured]) {
    println!("\n### {title}\n");
    println!("| answer | check | ratecell | governor | ratio | of the floor | share allowed |");
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    for Measured { answer, rows, floors, series } in measured {
        let answer = match answer {
            Answer::Allowed => "allowed",
            Answer::Denied => "denied",
        };
        for (name, at) in floors {
            println!("| {answer} | {name} | {} | | | | |", nanoseconds(series[*at].ns()));
        }
        for Row { name, case, peer } in rows {
            let (case, peer) = (&series[*case], &series[*peer]);
            let floor = floors.first().map(|(_, at)| ratio(case.over(&series[*at])));
            println!(
                "| {answer} | {name} | {} | {} | {} | {} | {} |",
                nanoseconds(case.ns()),
                nanoseconds(peer.ns()),
                ratio(case.over(peer)),
                floor.unwrap_or_default(),
                share(case, peer),
            );
        }
    }
}

pub(crate) fn fillings(fillings: &[Filled]) {
    println!("\n### An insert storm into an empty store, and the memory it leaves\n");
    println!("| store | keys | build, ms | ns a key, build included | worst 1,000 keys, µs | bytes a key |");
    println!("| --- | --- | --- | --- | --- | --- |");
    for filled in fillings {
        println!(
            "| {} | {} | {:.1} | {:.0} | {:.0} | {:.1} |",
            filled.store.name(),
            grouped(filled.keys),
            filled.build_ms,
            filled.ns_per_key,
            filled.worst_chunk_us,
            filled.bytes_per_key,
        );
    }
}

/// A number with a comma after each three digits.
pub(crate) fn grouped(number: u32) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.char_indices() {
        if place > 0 && (digits.len() - place) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The machine, and how this was run on it.
pub(crate) fn machine(arguments: &str) {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let models = cpuinfo.lines().filter_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = models.map(|(_, model)| model).next().unwrap_or("unknown");
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let kernel = rustix::system::uname();
    let pages = fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default();
    println!("- processor: {model}, {processors} available");
    println!("- kernel: {} {}", kernel.sysname().to_string_lossy(), kernel.release().to_string_lossy());
    println!("- transparent huge pages: {}", pages.trim());
    println!("- command: `cargo run --release{arguments}`");
    println!(
        "\nNanoseconds a decision: median [best decile] of the rounds. Ratio: ratecell over governor in"
    );
    println!("the same round, below 1 is faster. Of the floor: ratecell over the first floor named.");
}

#[cfg(test)]
mod tests {
    use super::grouped;

    #[test]
    fn digits_are_grouped_by_three() {
        assert_eq!([1, 999, 1_000, 12_345_678].map(grouped), ["1", "999", "1,000", "12,345,678"]);
    }
}
