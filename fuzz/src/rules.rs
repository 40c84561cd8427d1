//! Rules: any bytes are a file that is refused with a place, or rules under which any request has claims.
//!
//! An input is a file, a zero byte, and the values of a request's attributes, each ended by a zero byte.

use ::ratecell_rules::{Mode, Rules, Scratch};
use ratecell::Outcome;
use ratecell::ffi::{
    RATECELL_AT, RATECELL_RESERVATIONS, RATECELL_RESERVE, ratecell_attribute, ratecell_config,
    ratecell_reservation, ratecell_rules, ratecell_rules_answer, ratecell_rules_decide, ratecell_rules_free,
    ratecell_rules_held, ratecell_rules_new, ratecell_rules_release, ratecell_rules_request,
    ratecell_rules_settle, ratecell_rules_stats, ratecell_stats, ratecell_status,
};
use ratecell::rules::RulesLimiter;
use ratecell_core::Decision;

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
        Ok(rules) => {
            evaluate(&rules, &request);
            decide(file, rules, &request);
        }
        Err(error) => {
            let lines = 1 + file.iter().filter(|byte| **byte == b'\n').count();
            assert!(error.line().is_none_or(|line| (1..=lines).contains(&line)), "{error}: {lines} lines");
            // Of a policy that is nearly right, what to write.
            let says = |word: &str| error.message().contains(word);
            assert!(says("expected") || says(": write "), "{error}: nothing expected");
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

/// A request has no more claims.
const MOST_HELD: usize = 64;
const NOTHING_HELD: ratecell_rules_held =
    ratecell_rules_held { cells: 0, cost: 0, reservation: ratecell_reservation { data: [0; 43] } };

/// More policies have tables that take long to make.
const MOST_POLICIES: usize = 16;

/// A limiter and its twin in C answer alike.
fn decide(file: &[u8], rules: Rules, request: &[(&str, &[u8])]) {
    if rules.policies().len() > MOST_POLICIES {
        return;
    }
    let limiter = RulesLimiter::builder(rules).max_keys(1_000).reserving().build();
    let flags = RATECELL_RESERVATIONS.into();
    let config = ratecell_config { max_keys: 1_000, flags, ..ratecell_config::default() };
    let mut twin: *mut ratecell_rules = core::ptr::null_mut();
    // SAFETY: all is there, and of the lengths that are given.
    let status = unsafe { ratecell_rules_new(file.as_ptr().cast(), file.len(), &config, &mut twin) };
    assert_eq!(limiter.is_ok(), status == 0, "{limiter:?}, and {status} in C");
    let Ok(limiter) = limiter else { return };
    let attributes: Vec<_> = request
        .iter()
        .map(|(name, value)| ratecell_attribute {
            name: name.as_ptr().cast(),
            name_len: name.len(),
            value: value.as_ptr().cast(),
            value_len: value.len(),
        })
        .collect();
    let mut held = vec![NOTHING_HELD; MOST_HELD];
    for now_ns in [0, 0, 1_000_000_000, 1_000_000_000] {
        let (decision, reservation) = limiter.reserve_at(request, now_ns);
        let mut asked = ratecell_rules_request {
            attributes: attributes.as_ptr(),
            n_attributes: attributes.len(),
            now_ns,
            flags: RATECELL_AT | RATECELL_RESERVE,
            reserved: 0,
            claims: core::ptr::null_mut(),
            max_claims: 0,
            shadows: core::ptr::null_mut(),
            max_shadows: 0,
            held: held.as_mut_ptr(),
            max_held: held.len(),
        };
        let mut answer = core::mem::MaybeUninit::<ratecell_rules_answer>::uninit();
        // SAFETY: the twin is there until it is freed, and all else for the call.
        let status = unsafe { ratecell_rules_decide(twin, &asked, answer.as_mut_ptr()) };
        assert!(status >= 0, "{status}");
        // SAFETY: a status that is no error says that the answer was written.
        let answer = unsafe { answer.assume_init() };
        let expected = match decision.outcome {
            _ if decision.is_unclear_path() => ratecell_status::RATECELL_UNCLEAR_PATH,
            Outcome::Allowed => ratecell_status::RATECELL_ALLOWED,
            Outcome::Denied => ratecell_status::RATECELL_DENIED,
            Outcome::Never => ratecell_status::RATECELL_NEVER,
            _ => ratecell_status::RATECELL_CLOCK_RANGE,
        };
        let name = decision.rule_name().or(decision.shown_name()).unwrap_or_default();
        let told: Vec<_> =
            answer.rule.iter().take_while(|byte| **byte != 0).map(|byte| *byte as u8).collect();
        assert_eq!((status, &*told), (expected as i32, name.as_bytes()), "{decision:?}");
        let figures = decision.shown.map_or((0, 0, 0), |one| (one.limit, one.remaining, one.reset_after_ns));
        assert_eq!((answer.limit, answer.remaining, answer.reset_after_ns), figures, "{decision:?}");
        assert_eq!((answer.retry_after_ns, answer.delay_ns), (decision.retry_after_ns, decision.delay_ns));
        assert_eq!(answer.n_shadows as usize, decision.shadow.len());
        let Some(reservation) = reservation else { continue };
        // Settled by another value of the header, which makes the costs of some files.
        let settled: Vec<_> = attributes.iter().rev().take(1).copied().collect();
        limiter.settle_at(reservation.clone(), &request[request.len() - settled.len()..], now_ns);
        (asked.attributes, asked.n_attributes) = (settled.as_ptr(), settled.len());
        asked.max_held = answer.n_claims as usize;
        // SAFETY: as above; so many were written.
        let ended = unsafe { (ratecell_rules_settle(twin, &asked), ratecell_rules_release(twin, &asked)) };
        assert_eq!(ended, (0, limiter.release_at(reservation, now_ns) as i32), "{decision:?}");
    }
    let mut stats = ratecell_stats::default();
    // SAFETY: the twin is there, and so are the stats, of the length that is given.
    let status = unsafe { ratecell_rules_stats(twin, RATECELL_AT, 0, &raw mut stats, size_of_val(&stats)) };
    assert_eq!((status, stats), (0, limiter.stats_at(0).into()));
    // SAFETY: it was made here, and nothing uses it any more.
    unsafe { ratecell_rules_free(twin) };
}
