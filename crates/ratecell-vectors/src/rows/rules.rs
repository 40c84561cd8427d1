//! Rules: how paths, hosts and clients are read, which claims a request has, which files are refused, and the answers of
//! decisions.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use ratecell_core::{Decision, Outcome};
use ratecell_rules::{Answer, Evaluation, RuleLabel, Rules, RulesError, Scratch};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Judge, Judged, read};

mod cells;

use cells::Cells;

/// A request's attributes by name.
type Request = BTreeMap<String, String>;

#[derive(Deserialize)]
struct Section {
    rules: String,
}

/// A path's readings, the text of a host or of a client: what a key has of it.
pub(super) fn path(row: &Value) -> Result<Judged> {
    let (what, asked, answer): (String, Value, Value) = read(row, "what is asked, of what, and the answer")?;
    let text = |value: &Value| value.as_str().map(str::to_owned).context("expected text");
    let one = |attribute: &str, value: String, reference: &str| {
        let keys = keys("", attribute, &value, reference)?;
        Ok::<_, anyhow::Error>(keys.first().cloned().map_or(Value::Null, Value::from))
    };
    let got = match &*what {
        "path" => json!(keys("", "path", &text(&asked)?, "path")?),
        "path_ignore" => json!(keys("path_case = 'ignore'", "path", &text(&asked)?, "path")?),
        "host" => one("host", text(&asked)?, "host")?,
        "client" => {
            let (value, v4, v6): (String, u32, u32) = read(&asked, "a client and two widths")?;
            one("client", value, &format!("client/{v4}/{v6}"))?
        }
        _ => bail!("expected path, path_ignore, host or client"),
    };
    Ok(Judged::compared(&answer, &got))
}

/// What keys have of an attribute, one for each reading.
fn keys(top: &str, attribute: &str, value: &str, reference: &str) -> Result<Vec<String>> {
    let rules = format!(
        "ratecell_rules = 1\n{top}\n[[rule]]\nname = 'r'\nkey = ['{reference}']\nlimit = 'fixed_window 1/s'\n"
    );
    let (rules, mut scratch) = (Rules::parse(rules)?, Scratch::default());
    let request = [(attribute, value)];
    let evaluation = rules.evaluate(&request, &mut scratch);
    let before = format!("r;{reference}=");
    evaluation
        .claims()
        .map(|claim| {
            let key = str::from_utf8(claim.key)?;
            Ok(key.strip_prefix(&before).context("expected another key")?.to_owned())
        })
        .collect()
}

/// A file, and its error or its rules.
pub(super) fn construct(row: &Value) -> Result<Judged> {
    let Section { rules: text } = read(row, "a file of rules and what comes of it")?;
    let mut expected = row.clone();
    expected.as_object_mut().map(|row| row.remove("rules"));
    let got = match Rules::parse(&text) {
        Ok(rules) => {
            json!({ "resolved": (0..rules.len()).map(|at| resolved(&rules, at)).collect::<Vec<_>>() })
        }
        Err(error) => refused(&error),
    };
    Ok(Judged::compared(&expected, &got))
}

fn resolved(rules: &Rules, at: usize) -> Value {
    let rule = rules.rule(at);
    let mut matched: Vec<_> = rules.matched(at).collect();
    matched.sort_unstable();
    json!([rule.name(), rule.mode().name(), rule.group(), matched])
}

fn refused(error: &RulesError) -> Value {
    let rule = match error.rule() {
        None => Value::Null,
        Some(RuleLabel::Name(name)) => json!(name),
        Some(RuleLabel::Number(number)) => json!(number),
    };
    let mut got = json!({ "error": error.code(), "rule": rule, "field": error.field() });
    if let (Some(why), Some(row)) = (error.why(), got.as_object_mut()) {
        row.insert("why".to_owned(), json!(why));
    }
    got
}

/// The claims of requests, below the file of their section.
pub(super) fn evaluations() -> Judge {
    let (mut rules, mut scratch) = (None, Scratch::default());
    Box::new(move |row| {
        if row.is_object() {
            rules = Some(section(row)?);
            return Ok(Judged::Section);
        }
        let rules = rules.as_ref().context("expected a section first")?;
        let (_, request, expected): (String, Request, Value) =
            read(row, "evaluate, attributes and the claims")?;
        let request: Vec<_> = request.into_iter().collect();
        let evaluation = rules.evaluate(&request, &mut scratch);
        Ok(Judged::compared(&expected, &claims(&evaluation)))
    })
}

fn section(row: &Value) -> Result<Rules> {
    let Section { rules } = read(row, "a section with its rules")?;
    Ok(Rules::parse(rules)?)
}

fn claims(evaluation: &Evaluation<'_>) -> Value {
    if evaluation.is_unclear_path() {
        return json!({ "refuse": "unclear_path" });
    }
    let rules = evaluation.rules();
    let claims = evaluation.claims().map(|claim| {
        let policy = claim.policy.map_or("blocked", |number| rules.policies()[number].text());
        let key = String::from_utf8_lossy(claim.key);
        json!([rules.rule(claim.rule).name(), policy, key, claim.cost, claim.mode.name()])
    });
    let skip = evaluation.skip().map(|rule| rules.rule(rule).name());
    json!({ "skip": skip, "claims": claims.collect::<Vec<_>>() })
}

/// The answers to requests, below the file of their section, decided on cells in memory.
pub(super) fn decisions() -> Judge {
    decided_by(Cells::new)
}

/// What decides requests by a file of rules, in their order.
pub trait DecidesRules {
    /// Decides a request with these attributes at `now_ns`; `None` if its path is unclear, in a file that refuses that.
    fn decide(&mut self, attributes: &[(String, String)], now_ns: u64) -> Option<Answer>;
}

/// Judges the kind `rules_decide` by what `make` makes of the rules of each section.
pub fn decided_by<D: DecidesRules + 'static>(make: impl Fn(Rules) -> Result<D> + 'static) -> Judge {
    let mut section_of = None;
    Box::new(move |row| {
        if row.is_object() {
            section_of = Some((make(section(row)?)?, section(row)?));
            return Ok(Judged::Section);
        }
        let (decides, rules) = section_of.as_mut().context("expected a section first")?;
        let Some([_, now_ns, request, answer @ ..]) = row.as_array().map(Vec::as_slice) else {
            bail!("expected decide, an instant, attributes and the answer");
        };
        let now_ns = read(now_ns, "an instant")?;
        let request: Vec<_> = read::<Request>(request, "attributes")?.into_iter().collect();
        let decided = decides.decide(&request, now_ns);
        let got = decided.map_or_else(|| json!(["unclear_path"]), |answer| shown(rules, &answer));
        Ok(Judged::compared(&json!(answer), &got))
    })
}

fn shown(rules: &Rules, answer: &Answer) -> Value {
    let name = |rule: usize| rules.rule(rule).name();
    let retry = Some(answer.retry_after_ns).filter(|ns| *ns != Decision::NEVER);
    let (shown, limit, remaining, reset) = match answer.shown {
        Some(shown) => (Some(name(shown.rule)), shown.limit, shown.remaining, shown.reset_after_ns),
        None => (None, 0, 0, 0),
    };
    let shadow: Vec<_> =
        answer.shadow.iter().map(|(rule, outcome)| json!([name(*rule), code(*outcome)])).collect();
    let rule = answer.rule.map(name);
    json!([code(answer.outcome), rule, retry, answer.delay_ns, shown, limit, remaining, reset, shadow])
}

fn code(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::Denied => 0,
        Outcome::Allowed => 1,
        Outcome::Never => 2,
        // The last of them: a newer one has no code.
        _ => 3,
    }
}
