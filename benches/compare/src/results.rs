//! What was measured: tables of columns of rows.

use crate::measure::{Series, Spread};
use crate::stores::Answer;

/// One run of cases in turns: a column of the table called `table`.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) table: String,
    pub(crate) name: String,
    pub(crate) answer: Answer,
    pub(crate) rows: Vec<(&'static str, Series)>,
    /// The row that the others are printed over.
    pub(crate) baseline: &'static str,
    /// Not printed: of use to the figures only.
    pub(crate) hidden: bool,
}

/// A store filled with keys that it has never seen.
#[derive(Clone, Debug)]
pub(crate) struct Storm {
    pub(crate) store: &'static str,
    pub(crate) keys: u32,
    pub(crate) build_ms: f64,
    pub(crate) parts: Vec<Part>,
    /// Of the insertions timed one by one, the worst that recurs but for the first one.
    pub(crate) worst_later_us: f64,
}

/// The insertions up to a share of the keys that the store was built for.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) percent: u32,
    /// A value a run: insertions timed by the thousand.
    pub(crate) ns_per_key: Vec<f64>,
    /// Insertions timed one by one: the median, the worst that recurs in every run, the worst seen in any.
    pub(crate) median_us: f64,
    pub(crate) worst_us: f64,
    pub(crate) worst_once_us: f64,
}

/// Resident memory for each key that a store holds.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    pub(crate) store: &'static str,
    pub(crate) keys: u32,
    pub(crate) key_len: usize,
    pub(crate) bytes_per_key: f64,
}

/// Bytes of the tables and the floors, of those that asked for huge pages, and how many of them have such.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct HugePages {
    pub(crate) keys: u32,
    pub(crate) answer: Answer,
    pub(crate) resident: u64,
    pub(crate) huge: u64,
}

impl HugePages {
    pub(crate) fn percent(&self) -> f64 {
        100.0 * self.huge as f64 / self.resident as f64
    }

    /// Less memory than this is the ends of mappings for the most part.
    const LEAST: u64 = 64 << 20;

    /// By what the system says of this process's memory, filled for so many keys; `None` where it says nothing, or the
    /// memory is little.
    pub(crate) fn of_this_process(keys: u32, answer: Answer) -> Option<Self> {
        let smaps = std::fs::read_to_string("/proc/self/smaps").ok()?;
        let (resident, huge) = sums(&smaps);
        (resident >= Self::LEAST).then_some(Self { keys, answer, resident, huge })
    }
}

/// Resident bytes and bytes on huge pages of the mappings that asked for these.
fn sums(smaps: &str) -> (u64, u64) {
    let (mut of_all, mut mapping) = ((0, 0), (0, 0));
    for line in smaps.lines() {
        let mut words = line.split_whitespace();
        let name = words.next().unwrap_or_default();
        let mut bytes = || words.next().and_then(|kb| kb.parse::<u64>().ok()).unwrap_or(0) * 1024;
        match name {
            "Rss:" => mapping.0 = bytes(),
            "AnonHugePages:" => mapping.1 = bytes(),
            // The last line of a mapping: `hg` is the advice.
            "VmFlags:" if words.any(|flag| flag == "hg") => {
                of_all = (of_all.0 + mapping.0, of_all.1 + mapping.1);
            }
            _ => {}
        }
    }
    of_all
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Results {
    pub(crate) columns: Vec<Column>,
    pub(crate) storms: Vec<Storm>,
    pub(crate) memory: Vec<Memory>,
    pub(crate) huge_pages: Vec<HugePages>,
    /// Cases and their instructions a decision.
    pub(crate) instructions: Vec<(String, f64)>,
}

/// The most decisions that may be of the other path: a full table finds no room for a key in many thousands
/// and forgets it, and a sketch takes some keys for others.
const OTHERS: f64 = 0.001;

impl Results {
    pub(crate) fn column(&self, table: &str, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.table == table && column.name == name)
    }

    pub(crate) fn tables(&self) -> Vec<&str> {
        let mut tables: Vec<&str> = Vec::new();
        for column in self.columns.iter().filter(|column| !column.hidden) {
            if !tables.contains(&column.table.as_str()) {
                tables.push(&column.table);
            }
        }
        tables
    }

    /// Rows that were not of their column's path: their times say nothing.
    pub(crate) fn strayed(&self) -> Vec<String> {
        let rows = self.columns.iter().flat_map(|column| column.rows.iter().map(move |row| (column, row)));
        let strayed = rows.filter_map(|(column, (row, series))| {
            let due = if column.answer == Answer::Allowed { 1.0 } else { 0.0 };
            let floor = row.starts_with("floor");
            let strayed = !floor && (series.allowed() - due).abs() > OTHERS;
            strayed.then(|| {
                let Column { table, name, .. } = column;
                format!("{table}, {name}, {row}: {:.4} were allowed", series.allowed())
            })
        });
        strayed.collect()
    }
}

impl Column {
    pub(crate) fn row(&self, name: &str) -> Option<&Series> {
        self.rows.iter().find(|(row, _)| *row == name).map(|(_, series)| series)
    }

    /// Row `of` over row `to`, round by round.
    pub(crate) fn ratio(&self, of: &str, to: &str) -> Option<Spread> {
        Some(self.row(of)?.over(self.row(to)?))
    }
}

#[cfg(test)]
mod tests {
    use super::sums;

    #[test]
    fn only_mappings_that_asked_for_huge_pages_count() {
        let mapping = |rss, huge, flags| {
            format!("7f00-7f20 rw-p 0 00:00 0\nRss: {rss} kB\nAnonHugePages: {huge} kB\nVmFlags: {flags}\n")
        };
        let smaps = [mapping(10, 0, "rd wr"), mapping(4096, 2048, "rd wr hg"), mapping(6, 6, "hg")].concat();
        assert_eq!(sums(&smaps), (4102 * 1024, 2054 * 1024));
    }
}
