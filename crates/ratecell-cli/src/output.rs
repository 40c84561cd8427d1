//! What the program prints: results for people on standard output.

use std::fmt::Display;
use std::io::{ErrorKind, Write, stdout};

use anyhow::{Context, Result};
use comfy_table::{CellAlignment, ContentLineStyle, LineStyle, Table, TableStyle};

/// Keys and lines are shown up to here.
const SHOWN_CHARS: usize = 80;

/// Columns apart by spaces, the heading underlined.
const STYLE: TableStyle = TableStyle::new()
    .header_lines(ContentLineStyle::none().junction(' '))
    .header_separator(LineStyle::none().fill('-').junction('-'))
    .content_lines(ContentLineStyle::none().junction(' '));

/// A table with a heading, whose columns after the first `text_columns` hold figures.
pub(crate) fn table<const N: usize>(
    heading: [&str; N],
    text_columns: usize,
    rows: Vec<[String; N]>,
) -> Table {
    let mut table = Table::new();
    table.load_style(STYLE).set_header(heading).add_rows(rows);
    for column in table.column_iter_mut().skip(text_columns) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// Text on one line, safe for a terminal: control characters are escaped.
pub(crate) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() {
            line.extend(c.escape_default());
        } else {
            line.push(c);
        }
    }
    line
}

/// Reports an error or a warning, on one line of standard error.
pub(crate) fn complain(of: impl Display) {
    eprintln!("ratecell: {}", one_line(&of.to_string()));
}

/// Prints a line, or several. A reader who has seen enough, as `head` has, is no error.
pub(crate) fn print(text: impl Display) -> Result<()> {
    match writeln!(stdout(), "{text}") {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written.context("standard output cannot be written"),
    }
}

/// A share in percent.
pub(crate) fn percent(part: u64, whole: u64) -> String {
    format!("{:.2}", 100.0 * part as f64 / whole as f64)
}

/// Text of a log, safe for a terminal: a client can write escape sequences into it.
pub(crate) fn printable(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut chars = text.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c });
    let mut shown: String = chars.by_ref().take(SHOWN_CHARS).collect();
    if chars.next().is_some() {
        shown.push('…');
    }
    shown
}
