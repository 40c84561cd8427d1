//! `ratecell rules`: is a file of rules right, and what does each rule say? And files of rules from those of others.

use std::fs;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow};
use ratecell::rules::{Mode, Rules};
use ratecell_envoy::Import;

use crate::cli::{RulesCheckArgs, RulesCommand, RulesImportArgs};
use crate::output::{one_line, print, table};

const HEADING: [&str; 7] = ["rule", "mode", "group", "match", "key", "limit", "cost"];

pub(crate) fn run(command: &RulesCommand) -> Result<ExitCode> {
    match command {
        RulesCommand::Check(args) => check(args),
        RulesCommand::Import(args) => import(args),
    }
}

/// The rules of a file. The place of a fault comes first, where editors look for it.
pub(crate) fn read(file: &Path) -> Result<Rules> {
    of(file, fs::read(file).as_ref().map(Vec::as_slice))
}

/// The rules of a file with this text, if it could be read.
pub(crate) fn of(file: &Path, text: Result<&[u8], &io::Error>) -> Result<Rules> {
    let name = file.display();
    let text = text.map_err(|error| {
        let error = io::Error::new(error.kind(), error.to_string());
        anyhow::Error::new(error).context(format!("{name}: cannot be read, expected a file of rules"))
    })?;
    Rules::parse(text).map_err(|error| {
        let line = error.line().map_or_else(String::new, |line| format!("{line}:"));
        anyhow!("{name}:{line} {}", error.without_line())
    })
}

fn import(args: &RulesImportArgs) -> Result<ExitCode> {
    let mut import = Import::new();
    if args.ignore_replaces {
        import = import.ignoring_replaces();
    }
    for file in &args.files {
        let name = file.display();
        let expected = "expected a file of envoyproxy/ratelimit, in UTF-8";
        let text = fs::read_to_string(file).with_context(|| format!("{name}: cannot be read, {expected}"))?;
        if let Err(error) = import.add(&text) {
            // The place comes first, where editors look for it.
            eprintln!("{}", one_line(&format!("{name}:{}: {}", error.line, error.message)));
            return Ok(ExitCode::FAILURE);
        }
    }
    let text = import.finish();
    // What is printed is a file that will be accepted.
    Rules::parse(&text).context("the imported rules")?;
    print(text.trim_end())?;
    Ok(ExitCode::SUCCESS)
}

fn check(args: &RulesCheckArgs) -> Result<ExitCode> {
    let file = args.file.display();
    let text =
        fs::read(&args.file).with_context(|| format!("{file}: cannot be read, expected a file of rules"))?;
    match Rules::parse(text) {
        Ok(rules) => {
            let count = rules.len();
            let lines = (0..count).map(|number| row(&rules, number)).collect();
            print(table(HEADING, HEADING.len(), lines))?;
            print(format_args!(
                "{count} {}, {} policies",
                if count == 1 { "rule" } else { "rules" },
                rules.policies().len()
            ))?;
            Ok(ExitCode::SUCCESS)
        }
        Err(error) => {
            // The place comes first, where editors look for it.
            let line = error.line().map_or_else(String::new, |line| format!("{line}:"));
            eprintln!("{}", one_line(&format!("{file}:{line} {}", error.without_line())));
            Ok(ExitCode::FAILURE)
        }
    }
}

fn row(rules: &Rules, number: usize) -> [String; 7] {
    let rule = rules.rule(number);
    let matched: Vec<_> = rules.matched(number).collect();
    let [key, limit, cost] = match rule.mode() {
        Mode::Skip => [const { String::new() }; 3],
        _ => {
            let key: Vec<_> = rule.key().collect();
            let key = if key.is_empty() { "[]".to_owned() } else { key.join(", ") };
            [key, rules.limit_text(number), rules.cost_text(number)]
        }
    };
    [
        rule.name().to_owned(),
        rule.mode().name().to_owned(),
        rule.group().unwrap_or_default().to_owned(),
        matched.join(", "),
        one_line(&key),
        one_line(&limit),
        one_line(&cost),
    ]
}
