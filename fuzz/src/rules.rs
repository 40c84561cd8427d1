//! Rules: any bytes are a file that is refused with a place, or rules under which any request has claims.
//!
//! An input is a file, a zero byte, and the values of a request's attributes, each ended by a zero byte.

use ratecell_core::Decision;
use ratecell_rules::{Mode, Rules, Scratch};

const ATTRIBUTES: [&str; 7] = ["path", "client", "method", "host", "user", "tier", "header:x"];

/// Rules that look at everything, for inputs whose own file is refused.
const EVERYTHING: &str = "ratecell_rules = 1
attributes = ['user', 'tier']
[[rule]]
name = 'skip'
match.path = ['/health', '/*.css']
match.client = '10.0.0.0/8'
mode = 'skip'
[[rule]]
name = 'paths'
group = 'g'
match.path = ['/a/*/c*d', '/b/**']
match.host = { not = '*.test' }
key = ['user|client', 'path', 'path:2', 'host', 'header:x', 'client/24/48']
limit = { by = 'tier', of = { a = '1/s', b = 'blocked' }, default = '2/s' }
cost = { from = 'header:x', unit = 3, default = 2 }
[[rule]]
name = 'rest'
group = 'g'
match.client = ['::/0', '0.0.0.0/1']
key = ['client']
limit = '5/s'
mode = 'shadow'
";

pub fn run(text: &[u8]) {
    let mut parts = text.split(|byte| *byte == 0);
    let file = parts.next().unwrap_or_default();
    let request: Vec<_> = ATTRIBUTES.into_iter().zip(parts).collect();
    match Rules::parse(file) {
        Ok(rules) => evaluate(&rules, &request),
        Err(error) => {
            let lines = 1 + file.iter().filter(|byte| **byte == b'\n').count();
            assert!(error.line().is_none_or(|line| (1..=lines).contains(&line)), "{error}: {lines} lines");
            assert!(error.message().contains("expected"), "{error}: nothing expected");
        }
    }
    evaluate(&Rules::parse(EVERYTHING).expect("rules"), &request);
}

fn evaluate(rules: &Rules, request: &[(&str, &[u8])]) {
    let mut scratch = Scratch::default();
    let evaluation = rules.evaluate(request, &mut scratch);
    let mut keys: Vec<_> = evaluation.claims().map(|claim| claim.key).collect();
    for claim in evaluation.claims() {
        assert!(claim.key.iter().all(|byte| matches!(byte, 0x21..=0x7e)), "{claim:?}: a key of other bytes");
        assert!(
            claim.key.starts_with(rules.rule(claim.rule).name().as_bytes()),
            "{claim:?}: another rule's key"
        );
        assert_ne!(claim.mode, Mode::Skip, "{claim:?}");
    }
    let count = keys.len();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), count, "two claims have one key");
    let decisions: Vec<_> = evaluation.enforced().map(|_| Decision::allowed(1)).collect();
    let answer = evaluation.answer(&decisions);
    let is_blocked = evaluation.enforced().any(|claim| claim.policy.is_none());
    assert_eq!(answer.is_allowed(), !is_blocked, "{answer:?}");
}
