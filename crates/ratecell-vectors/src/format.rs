//! The lines of a file of vectors.

use std::borrow::Cow;

use anyhow::{Context, Result, anyhow, bail};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::answer::Answer;
use crate::policy::{Stated, unix_seconds};
use crate::rows::{self, Judge};

/// The versions of files of decisions, the value of `ratecell_vectors` in the first line. The second has epochs, and rows
/// that begin with what they are.
const DECISIONS: [u64; 2] = [1, 2];

/// The versions of files that each kind has its own columns in.
const KINDS: std::ops::RangeInclusive<u64> = 2..=3;

const COLUMNS: [&str; 8] = ["now_ns", "key", "cost", "code", "remaining", "retry_ns", "reset_ns", "delay_ns"];

#[derive(Debug, Deserialize)]
struct Header {
    ratecell_vectors: u64,
    kind: String,
    columns: Vec<String>,
}

/// What is in a file.
pub(crate) enum Kind {
    /// Decisions of limiters.
    Decisions,
    /// Rows that are judged by themselves.
    Rows(Judge),
    /// Vectors of a kind that nothing here judges, and their version.
    Unknown(String, u64),
}

/// Reads the first line of a file. The caller's judge of its kind, if there is one, goes before that of this crate.
pub(crate) fn kind(line: &[u8], others: impl FnOnce(&str) -> Option<Judge>) -> Result<Kind> {
    let header: Header = parse(line, "not a file of vectors, expected {\"ratecell_vectors\":1,...}")?;
    let Header { ratecell_vectors: version, kind, columns } = header;
    let judge = if KINDS.contains(&version) { others(&kind).or_else(|| rows::judge(&kind)) } else { None };
    if let Some(judge) = judge {
        return Ok(Kind::Rows(judge));
    }
    if DECISIONS.contains(&version) {
        if columns != COLUMNS {
            bail!("columns are {}, expected {}", columns.join(" "), COLUMNS.join(" "));
        }
        return Ok(Kind::Decisions);
    }
    Ok(Kind::Unknown(kind, version))
}

/// Reads a row of any kind but decisions.
pub(crate) fn row(line: &[u8]) -> Result<Value> {
    parse(line, "not a row, expected JSON")
}

fn parse<'a, T: Deserialize<'a>>(line: &'a [u8], wrong: &str) -> Result<T> {
    serde_json::from_slice(line).map_err(|error| {
        // The parser sees one line, and calls it line 1.
        let reason = error.to_string().replace(" at line 1 column ", " at column ");
        anyhow!("{wrong}: {reason}")
    })
}

/// A line after the first.
#[derive(Debug)]
pub(crate) enum Line<'a> {
    Section { name: String, stated: Stated, resolved: Option<Value> },
    Row(Row<'a>),
    Refused { stated: Stated, error: String },
    Accepted { stated: Stated, resolved: Value },
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Object {
    section: Option<String>,
    epoch: Option<String>,
    policy: Map<String, Value>,
    resolved: Option<Value>,
    error: Option<String>,
}

/// A request and its decision: an array in the order of the columns. The last one may be left out.
#[derive(Debug, Deserialize)]
pub(crate) struct Row<'a> {
    /// Of a request that names its zone, which is written before the columns.
    #[serde(skip)]
    pub(crate) zone: Option<String>,
    pub(crate) now_ns: u64,
    #[serde(borrow)]
    pub(crate) key: Cow<'a, str>,
    pub(crate) cost: u32,
    code: u8,
    remaining: u64,
    retry_ns: Option<u64>,
    reset_ns: u64,
    #[serde(default)]
    delay_ns: u64,
}

impl<'a> Line<'a> {
    pub(crate) fn parse(line: &'a [u8]) -> Result<Self> {
        if line.starts_with(b"[") {
            return Row::parse(line).map(Self::Row);
        }
        let Object { section, epoch, policy, resolved, error } =
            parse(line, "expected a row, a section or a construct row")?;
        let stated = Stated { policy, epoch: epoch.as_deref().map(unix_seconds).transpose()? };
        Ok(match (section, resolved, error) {
            (Some(name), resolved, None) => Self::Section { name, stated, resolved },
            (None, None, Some(error)) => Self::Refused { stated, error },
            (None, Some(resolved), None) => Self::Accepted { stated, resolved },
            _ => bail!("expected a section, or a policy with either its error or its resolved form"),
        })
    }
}

impl<'a> Row<'a> {
    /// A row of the columns, or of `"in"`, a zone and the columns.
    fn parse(line: &'a [u8]) -> Result<Self> {
        let wrong = "not a row, expected the columns of the first line";
        let Some(behind) = line.strip_prefix(b"[\"") else { return parse(line, wrong) };
        let Some(behind) = behind.strip_prefix(b"in\",") else {
            bail!("not a row, expected a plain request or one that begins with \"in\"");
        };
        let comma = behind.iter().position(|byte| *byte == b',').context(wrong)?;
        let (zone, columns) = behind.split_at(comma);
        let zone = parse(zone, "not a zone, expected its name")?;
        let columns = [b"[", &columns[1..]].concat();
        let row: Row<'_> = parse(&columns, wrong)?;
        Ok(Row { zone: Some(zone), key: Cow::Owned(row.key.into_owned()), ..row })
    }

    pub(crate) fn answer(&self) -> Answer {
        let Self { code, remaining, retry_ns, reset_ns, delay_ns, .. } = *self;
        Answer { code, remaining, retry_ns, reset_ns, delay_ns }
    }
}
