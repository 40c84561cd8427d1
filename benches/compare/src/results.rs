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

#[derive(Clone, Debug, Default)]
pub(crate) struct Results {
    pub(crate) columns: Vec<Column>,
    pub(crate) storms: Vec<Storm>,
    pub(crate) memory: Vec<Memory>,
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
