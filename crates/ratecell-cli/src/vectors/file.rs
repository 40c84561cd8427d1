//! One file of vectors, replayed from the first line to the last.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use ratecell::{Policy, PolicyError};
use serde_json::{Map, Value};

use super::format::{Kind, Line, Row, kind, object};
use super::policy::policy;
use super::resolved::differences;
use super::section::Section;
use super::{Failures, Tally};

pub(crate) fn replay(path: &Path, failures: &mut Failures) -> Result<Tally> {
    let name = path.display().to_string();
    let text = fs::read(path).with_context(|| name.clone())?;
    let mut lines = (1..).zip(text.split(|byte| *byte == b'\n'));
    let (_, first) = lines.next().unwrap_or_default();
    let kind = kind(first).with_context(|| format!("{name}:1"))?;
    let lines = lines.filter(|(_, line)| !line.trim_ascii().is_empty());

    let mut replay = Replay { name: &name, line: 1, section: None, tally: Tally::default(), failures };
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
        Kind::Rows(judge) => {
            for (number, line) in lines {
                replay.line = number;
                let wrong = object(line).and_then(|row| judge(&row));
                replay.answered(line, wrong.with_context(|| format!("{name}:{number}"))?)?;
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

struct Replay<'a> {
    name: &'a str,
    line: usize,
    section: Option<Section>,
    tally: Tally,
    failures: &'a mut Failures,
}

impl Replay<'_> {
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
        let got = section.decide(row);
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
        self.section = Some(Section::new(name, self.line, made.ok())?);
        Ok(())
    }

    fn end_section(&mut self) -> Result<()> {
        let Some(section) = self.section.take() else { return Ok(()) };
        match section.keys_without_room() {
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

    fn answered(&mut self, row: &[u8], wrong: Option<String>) -> Result<()> {
        self.counted(wrong.map(|wrong| format!("row {}: {wrong}", String::from_utf8_lossy(row))))
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
        self.failures.show(&format!("{}:{line}: {what}", self.name))
    }
}

fn outcome(made: &Result<Policy, PolicyError>) -> String {
    match made {
        Ok(policy) => format!("the policy {policy}"),
        Err(error) => format!("error {}", error.kind().code()),
    }
}
