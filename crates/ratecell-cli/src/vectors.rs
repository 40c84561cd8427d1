//! `ratecell vectors`: does the library decide exactly as published?

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use ratecell::Policy;
use ratecell_vectors::{Judge, Replays, Tally, replay};

use crate::cli::VectorsArgs;
use crate::output::{print, table};

mod held;
mod keys;
mod logs;
mod rules;

use keys::Keys;

/// Failures are shown up to this many.
const FAILURES_SHOWN: u64 = 20;

/// The failures of all files, shown as they come.
#[derive(Debug, Default)]
struct Failures {
    count: u64,
}

impl Replays for Failures {
    type Decides = Keys;

    fn decides(&mut self, policy: Policy, epoch: Option<i64>) -> Result<Keys> {
        Keys::new(policy, epoch)
    }

    fn judge(&self, kind: &str) -> Option<Judge> {
        match kind {
            "reserve" | "concurrency" | "change" | "change_refused" => Some(held::judge()),
            _ => rules::judge(kind).or_else(|| logs::judge(kind)),
        }
    }

    fn failed(&mut self, failure: &str) -> Result<()> {
        self.count += 1;
        if self.count <= FAILURES_SHOWN {
            print(failure)?;
        }
        Ok(())
    }
}

pub(crate) fn run(args: &VectorsArgs) -> Result<ExitCode> {
    let mut failures = Failures::default();
    let mut total = Tally::default();
    let mut lines = Vec::new();
    for path in args.paths.iter().map(|path| files(path)).collect::<Result<Vec<_>>>()?.into_iter().flatten() {
        let shown = path.display().to_string();
        let text = fs::read(&path).with_context(|| shown.clone())?;
        let tally = replay(&shown, &text, &mut failures)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Tally { sections, rows, passed, failed } = tally;
        lines.push([name, sections.to_string(), rows.to_string(), passed.to_string(), failed.to_string()]);
        total.passed += passed;
        total.failed += failed;
    }
    if failures.count > FAILURES_SHOWN {
        print(format_args!("{} failures in all, the first {FAILURES_SHOWN} are above", failures.count))?;
    }
    print(table(["file", "sections", "rows", "passed", "failed"], 1, lines))?;
    print(format_args!("{} passed, {} failed", total.passed, total.failed))?;
    Ok(if total.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A file by itself, or the files of vectors in a directory, by name.
fn files(path: &Path) -> Result<Vec<PathBuf>> {
    if path.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    let unreadable = || format!("{}: cannot be read, expected vectors", path.display());
    let entries = fs::read_dir(path).with_context(unreadable)?;
    let paths =
        entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>().with_context(unreadable)?;
    let mut files: Vec<_> =
        paths.into_iter().filter(|path| path.extension() == Some(OsStr::new("jsonl"))).collect();
    if files.is_empty() {
        bail!("{}: no vectors, expected .jsonl files", path.display());
    }
    files.sort();
    Ok(files)
}
