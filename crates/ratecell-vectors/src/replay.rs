//! One file of vectors, replayed from the first line to the last.

use anyhow::{Context, Result, bail};
use ratecell_core::{Decision, Policy, PolicyError};
use serde_json::{Map, Value};

use crate::format::{Answer, Kind, Line, Row, kind, row};
use crate::policy::policy;
use crate::resolved::differences;
use crate::rows::{Judge, Judged};

/// Keys with their states under one policy: what decides the requests of one section of a file, in their order.
pub trait Decides {
    /// Decides `cost` units of `key` at `now_ns`, and charges them if they are allowed.
    fn decide(&mut self, key: &str, cost: u32, now_ns: u64) -> Decision;

    /// How many keys did not find room: any is a failure of the section.
    fn keys_without_room(&self) -> u64 {
        0
    }
}

/// The caller of a replay.
pub trait Replays {
    /// What decides.
    type Decides: Decides;

    /// Something that has seen no request, for the requests of one section.
    ///
    /// # Errors
    ///
    /// It cannot be made, which ends the replay.
    fn decides(&mut self, policy: Policy) -> Result<Self::Decides>;

    /// What judges a kind of files that this crate does not know.
    fn judge(&self, kind: &str) -> Option<Judge> {
        let _ = kind;
        None
    }

    /// Takes the text of a failure, which begins with the file's name and the line's number.
    ///
    /// # Errors
    ///
    /// It cannot be shown, which ends the replay.
    fn failed(&mut self, failure: &str) -> Result<()>;

    /// Takes the text of a row that was skipped, as that of a failure.
    ///
    /// # Errors
    ///
    /// It cannot be shown, which ends the replay.
    fn skipped(&mut self, skipped: &str) -> Result<()> {
        let _ = skipped;
        Ok(())
    }
}

/// What was counted of one file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Lines that start a section.
    pub sections: u64,
    /// Lines that state something.
    pub rows: u64,
    /// Rows that are as stated.
    pub passed: u64,
    /// Rows that are not, and failures of whole sections and files.
    pub failed: u64,
    /// Rows that ask for something that there is not yet.
    pub skipped: u64,
}

/// Replays the file called `name` that has these bytes, from the first line to the last. A file of a kind that is not
/// known is one failure.
///
/// # Errors
///
/// A line is none of its kind, or the caller's own error.
pub fn replay(name: &str, text: &[u8], caller: &mut impl Replays) -> Result<Tally> {
    let mut lines = (1..).zip(text.split(|byte| *byte == b'\n'));
    let (_, first) = lines.next().unwrap_or_default();
    let kind = kind(first, |kind| caller.judge(kind)).with_context(|| format!("{name}:1"))?;
    let lines = lines.filter(|(_, line)| !line.trim_ascii().is_empty());

    let mut replay = Replay { name, line: 1, section: None, tally: Tally::default(), caller };
    match kind {
        Kind::Decisions => {
            for (number, line) in lines {
                replay.line = number;
                let text = String::from_utf8_lossy(line);
                let parsed = Line::parse(line).with_context(|| format!("{name}:{number}"))?;
                replay.line(parsed, &text)?;
            }
            replay.end_section()?;
        }
        Kind::Rows(mut judge) => {
            for (number, line) in lines {
                replay.line = number;
                let judged = row(line).and_then(|row| judge(&row));
                replay.judged(line, judged.with_context(|| format!("{name}:{number}"))?)?;
            }
        }
        Kind::Unknown(kind, version) => {
            replay.fail(
                1,
                &format!("kind {kind} of version {version} is not known, none of its rows was run"),
            )?;
        }
    }
    Ok(replay.tally)
}

struct Replay<'a, R: Replays> {
    name: &'a str,
    line: usize,
    section: Option<Section<R::Decides>>,
    tally: Tally,
    caller: &'a mut R,
}

struct Section<D> {
    name: String,
    line: usize,
    /// `None` where the policy was refused: then no row can pass.
    decides: Option<D>,
}

impl<R: Replays> Replay<'_, R> {
    fn line(&mut self, line: Line<'_>, text: &str) -> Result<()> {
        match line {
            Line::Row(row) => self.row(&row, text),
            Line::Section { name, policy, resolved } => self.section(name, &policy, resolved.as_ref()),
            Line::Refused { policy: json, error } => {
                let got = outcome(&policy(&json));
                let expected = format!("error {error}");
                let wrong = (got != expected).then(|| format!("expected {expected}, got {got}"));
                self.construct(&json, wrong)
            }
            Line::Accepted { policy: json, resolved } => {
                let wrong = match policy(&json) {
                    Ok(policy) => differences(&resolved, &policy),
                    refused => Some(format!("expected a policy, got {}", outcome(&refused))),
                };
                self.construct(&json, wrong)
            }
        }
    }

    fn row(&mut self, row: &Row<'_>, text: &str) -> Result<()> {
        let Some(section) = &mut self.section else {
            bail!("{}:{}: a row before the first section", self.name, self.line);
        };
        self.tally.rows += 1;
        let expected = row.answer();
        let decides = section.decides.as_mut();
        let got = decides.map(|decides| Answer::from(decides.decide(&row.key, row.cost, row.now_ns)));
        if got == Some(expected) {
            self.tally.passed += 1;
            return Ok(());
        }
        let got = got.map_or_else(|| "no limiter".to_owned(), |got| got.to_string());
        let what = format!("section {}: row {text}: expected {expected}, got {got}", section.name);
        self.fail(self.line, &what)
    }

    fn section(&mut self, name: String, json: &Map<String, Value>, resolved: Option<&Value>) -> Result<()> {
        self.end_section()?;
        self.tally.sections += 1;
        let made = policy(json);
        let wrong = match &made {
            Ok(policy) => resolved.and_then(|resolved| differences(resolved, policy)),
            Err(_) => Some(format!("expected a policy, got {}", outcome(&made))),
        };
        if let Some(wrong) = wrong {
            self.fail(self.line, &format!("section {name}: {wrong}"))?;
        }
        let decides = made.ok().map(|policy| self.caller.decides(policy)).transpose()?;
        self.section = Some(Section { name, line: self.line, decides });
        Ok(())
    }

    fn end_section(&mut self) -> Result<()> {
        let Some(section) = self.section.take() else { return Ok(()) };
        match section.decides.as_ref().map_or(0, Decides::keys_without_room) {
            0 => Ok(()),
            keys => {
                let what =
                    format!("section {}: expected room for every key, got {keys} without", section.name);
                self.fail(section.line, &what)
            }
        }
    }

    fn construct(&mut self, json: &Map<String, Value>, wrong: Option<String>) -> Result<()> {
        self.counted(wrong.map(|wrong| format!("policy {}: {wrong}", Value::Object(json.clone()))))
    }

    fn judged(&mut self, row: &[u8], judged: Judged) -> Result<()> {
        match judged {
            Judged::Section => {
                self.tally.sections += 1;
                Ok(())
            }
            Judged::Right => self.counted(None),
            Judged::Skipped(what) => {
                self.tally.rows += 1;
                self.tally.skipped += 1;
                let row = String::from_utf8_lossy(row);
                self.caller.skipped(&format!("{}:{}: row {row}: {what}", self.name, self.line))
            }
            Judged::Wrong(how) => self.counted(Some(format!("row {}: {how}", String::from_utf8_lossy(row)))),
        }
    }

    fn counted(&mut self, wrong: Option<String>) -> Result<()> {
        self.tally.rows += 1;
        let Some(wrong) = wrong else {
            self.tally.passed += 1;
            return Ok(());
        };
        self.fail(self.line, &wrong)
    }

    fn fail(&mut self, line: usize, what: &str) -> Result<()> {
        self.tally.failed += 1;
        self.caller.failed(&format!("{}:{line}: {what}", self.name))
    }
}

fn outcome(made: &Result<Policy, PolicyError>) -> String {
    match made {
        Ok(policy) => format!("the policy {policy}"),
        Err(error) => format!("error {}", error.kind().code()),
    }
}
