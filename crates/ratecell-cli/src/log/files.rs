//! What was found in each file of a log.

use std::collections::BTreeMap;
use std::fmt;

use ratecell_logs::{StampIs, resolution_ns};
use serde::Serialize;

use super::assumptions::duration;
use super::digest::Digest;
use super::input::{Input, no_lines};
use crate::output::printable;

/// The fields and their order are the documented ones.
#[derive(Debug, Serialize)]
pub(crate) struct FileReport {
    pub(crate) name: String,
    /// `None` for a file without lines.
    pub(crate) format: Option<String>,
    /// Which instant its stamps are: `start` or `end`.
    pub(crate) stamp: Option<&'static str>,
    pub(crate) resolution_ns: Option<u64>,
    pub(crate) records: u64,
    /// By reason.
    pub(crate) malformed: BTreeMap<&'static str, u64>,
    pub(crate) first_malformed: Vec<MalformedReport>,
    pub(crate) skipped: BTreeMap<&'static str, u64>,
    /// SHA-256 of its bytes, for a page.
    #[serde(skip)]
    pub(crate) digest: Option<String>,
    #[serde(skip)]
    pub(crate) warning: Option<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct MalformedReport {
    pub(crate) line: u64,
    pub(crate) reason: &'static str,
    pub(crate) text: String,
    #[serde(skip)]
    pub(crate) why: String,
}

impl FileReport {
    /// What a file without a format has.
    pub(crate) fn no_lines(&self) -> &'static str {
        no_lines(&self.skipped)
    }

    pub(crate) fn new(file: &Input) -> Self {
        let has_lines = file.reader.is_some();
        Self {
            name: file.name.clone(),
            format: file.format.as_ref().filter(|_| has_lines).map(ToString::to_string),
            stamp: file.stamp.map(|stamp| match stamp {
                StampIs::Start => "start",
                StampIs::End => "end",
            }),
            resolution_ns: file.stamp.map(|_| resolution_ns(file.digits)),
            records: file.found.records,
            malformed: file.found.malformed.clone(),
            first_malformed: (file.found.first_malformed.iter())
                .map(|malformed| MalformedReport {
                    line: malformed.line,
                    reason: malformed.reason.code(),
                    text: printable(&malformed.text),
                    why: malformed.reason.to_string(),
                })
                .collect(),
            skipped: file.found.skipped.clone(),
            digest: file.digest.as_ref().map(Digest::text),
            warning: file.warning.clone(),
        }
    }
}

/// A file as lines of a report.
pub(crate) fn write_file(f: &mut fmt::Formatter<'_>, file: &FileReport) -> fmt::Result {
    let Some(format) = &file.format else {
        return writeln!(f, "file       {}: {}", file.name, file.no_lines());
    };
    write!(f, "file       {}: {format}", file.name)?;
    if let (Some(stamp), Some(resolution)) = (file.stamp, file.resolution_ns) {
        write!(f, ", stamps of the {stamp} of requests in steps of {}", duration(resolution))?;
    }
    writeln!(f, ", {} records", file.records)?;
    for (what, counts) in [("malformed", &file.malformed), ("skipped", &file.skipped)] {
        if !counts.is_empty() {
            let counts: Vec<_> = counts.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
            writeln!(f, "           {what}: {}", counts.join(", "))?;
        }
    }
    for malformed in &file.first_malformed {
        writeln!(f, "           line {}: {}: {}", malformed.line, malformed.why, malformed.text)?;
    }
    Ok(())
}
