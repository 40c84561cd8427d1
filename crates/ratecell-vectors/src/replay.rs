//! One file of vectors, replayed from the first line to the last.

use anyhow::{Context, Result, bail};
use ratecell_core::{Decision, Policy, PolicyError};
use serde_json::Value;

use crate::answer::Answer;
use crate::format::{Kind, Line, Row, kind, row};
use crate::policy::{Stated, policy};
use crate::resolved::differences;
use crate::rows::{Judge, Judged};

/// Keys with their states under one policy: what decides the requests of one section of a file, in their order.
pub trait Decides {
    /// Decides `cost` units of `key` at `now_ns`, and charges them if they are allowed.
    fn decide(&mut self, key: &str, cost: u32, now_ns: u64) -> Decision;

    /// The same of a request that names its time zone; `None` if there is no such zone.
    fn decide_in(&mut self, zone: &str, key: &str, cost: u32, now_ns: u64) -> Option<Decision> {
        let _ = (zone, key, cost, now_ns);
        None
    }

    /// How many keys did not find room: any is a failure of the section.
    fn keys_without_room(&self) -> u64 {
        0
    }
}

/// The caller of a replay.
pub trait Replays {
    /// What decides.
    type Decides: Decides;

    /// Something that has seen no request, for the requests of one section. Its epoch is so many seconds after 1970, or
    /// any.
    ///
    /// # Errors
    ///
    /// It cannot be made, which ends the replay.
    fn decides(&mut self, policy: Policy, epoch: Option<i64>) -> Result<Self::Decides>;

    /// What judges a kind of files that this crate does not know, or in place of this crate one that it does. A file of
    /// decisions is never judged so.
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
            Line::Section { name, stated, resolved } => self.section(name, &stated, resolved.as_ref()),
            Line::Refused { stated, error } => {
                let got = outcome(&policy(&stated));
                let expected = format!("error {error}");
                let wrong = (got != expected).then(|| format!("expected {expected}, got {got}"));
                self.construct(stated, wrong)
            }
            Line::Accepted { stated, resolved } => {
                let wrong = match policy(&stated) {
                    Ok(policy) => differences(&resolved, &policy),
                    refused => Some(format!("expected a policy, got {}", outcome(&refused))),
                };
                self.construct(stated, wrong)
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
        let got = decides.and_then(|decides| match &row.zone {
            Some(zone) => decides.decide_in(zone, &row.key, row.cost, row.now_ns),
            None => Some(decides.decide(&row.key, row.cost, row.now_ns)),
        });
        let got = got.map(Answer::from);
        if got == Some(expected) {
            self.tally.passed += 1;
            return Ok(());
        }
        let got = got.map_or_else(|| "no limiter".to_owned(), |got| got.to_string());
        let what = format!("section {}: row {text}: expected {expected}, got {got}", section.name);
        self.fail(self.line, &what)
    }

    fn section(&mut self, name: String, stated: &Stated, resolved: Option<&Value>) -> Result<()> {
        self.end_section()?;
        self.tally.sections += 1;
        let made = policy(stated);
        let wrong = match &made {
            Ok(policy) => resolved.and_then(|resolved| differences(resolved, policy)),
            Err(_) => Some(format!("expected a policy, got {}", outcome(&made))),
        };
        if let Some(wrong) = wrong {
            self.fail(self.line, &format!("section {name}: {wrong}"))?;
        }
        let decides = made.ok().map(|policy| self.caller.decides(policy, stated.epoch)).transpose()?;
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

    fn construct(&mut self, stated: Stated, wrong: Option<String>) -> Result<()> {
        self.counted(wrong.map(|wrong| format!("policy {}: {wrong}", Value::Object(stated.policy))))
    }

    fn judged(&mut self, row: &[u8], judged: Judged) -> Result<()> {
        match judged {
            Judged::Section => {
                self.tally.sections += 1;
                Ok(())
            }
            Judged::Right => self.counted(None),
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
