use super::*;
use crate::store::{Terms, Value};
use crate::{Layered, Words};
use ratecell_core::Policy;
use ratecell_core::algorithm::{Algorithm, GRACE_NS, Span};

mod driving;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;
/// What the store's clock shows, after the epoch, when a machine's shows 0.
const AHEAD: u64 = 500_000 * SECOND;

/// An agent whose every batch is answered a millisecond after it was sent.
struct Bench {
    agent: Agent,
    now: u64,
}

fn record(policy: &Policy) -> Record {
    let Terms { layouts, reach, policy, version } = Terms::new(policy, 1).expect("a policy with words");
    let epoch_ns = 0;
    let (generation, at, swept) = (7, 1, 7);
    Record {
        epoch_ns,
        secret: [1, 2],
        layouts,
        policy,
        version,
        generation,
        at,
        reach,
        swept,
        earlier: vec![],
    }
}

fn miss(units: u64) -> Miss {
    Miss { h: 1, units, fill: false, forget: false, left: 0, usable: 0 }
}

impl Bench {
    fn new(policy: &str, machines: Option<u32>) -> Self {
        let policy: Policy = policy.parse().expect("a policy");
        let agent = Agent::new(record(&policy), machines, 1).expect("an agent");
        let mut bench = Self { agent, now: 10 * SECOND };
        let question = bench.agent.question(bench.now).expect("a question for the time");
        assert!(question.operations.is_empty());
        bench.answer(question, vec![]);
        bench
    }

    fn reply(&self, answers: Vec<Answer>) -> Reply {
        Reply { now_us: (AHEAD + self.now) / 1_000, generation: 7, at: 1, answers }
    }

    fn answer(&mut self, question: Question, answers: Vec<Answer>) {
        self.now += MS;
        let reply = self.reply(answers);
        self.agent.answered(question, reply, self.now).expect("the same generation");
    }

    fn heard(&mut self, miss: Miss) {
        self.agent.heard(miss, self.now);
    }

    fn asks(&mut self) -> Question {
        let question = self.agent.question(self.now).expect("a question");
        assert_eq!(question.operations.len(), 1, "{question:?}");
        question
    }

    fn effects(&mut self) -> Vec<Effect> {
        self.agent.effects().collect()
    }

    /// What a take of one layer leaves of `word`.
    fn take(question: &Question, word: u64) -> Answer {
        let Operation::Take { spans, want, .. } = &question.operations[0] else {
            panic!("no take: {question:?}")
        };
        let mut words: Words = [word].into_iter().collect();
        match Span::take(spans, &mut words, *want) {
            Some(units) => Answer::Taken { units, words },
            None => Answer::Refused(Some(Value { generation: 7, words })),
        }
    }

    /// A grant of what the key asks for, and the word that it leaves.
    fn is_granted(&mut self, word: u64) -> u64 {
        let question = self.asks();
        let taken = Self::take(&question, word);
        let Answer::Taken { words, .. } = &taken else { panic!("refused: {question:?}") };
        let left = words[0];
        self.answer(question, vec![taken]);
        left
    }
}

fn lease_of(effects: &[Effect]) -> (u64, u64) {
    let [Effect { words, erases: false, .. }] = effects else { panic!("not one effect: {effects:?}") };
    let word = words[0].expect("a word");
    (Lease::left(word), Lease::deadline_ns(word))
}

#[test]
fn a_miss_becomes_a_lease() {
    let mut bench = Bench::new("1/s burst=10", None);
    bench.heard(miss(3));
    let asked_at = bench.now;
    bench.is_granted(0);
    let (units, deadline) = lease_of(&bench.effects());
    assert_eq!(units, 3);
    // From when it came, and for as long as the slots last from when it was asked for, by a clock that is behind.
    let begins = bench.now + GRACE_NS;
    assert!(deadline <= begins + 3 * SECOND && deadline > begins + 2_999 * MS, "{deadline} {asked_at}");
}

#[test]
fn what_was_missed_before_the_answer_came_is_not_asked_for_again() {
    let mut bench = Bench::new("1000/s", None);
    bench.heard(miss(1));
    bench.is_granted(0);
    bench.effects();
    bench.heard(Miss { left: 2, usable: 2, ..miss(1) });
    assert!(bench.agent.question(bench.now).is_none());
    // Who waits asks the table again.
    assert_eq!(bench.effects(), [Effect::again(1)]);
    // Of those that have passed there are none.
    bench.heard(Miss { left: 2, usable: 0, ..miss(1) });
    bench.asks();
}

#[test]
fn a_key_is_asked_for_once_however_often_it_is_missed() {
    let mut bench = Bench::new("1000/s", None);
    bench.heard(miss(1));
    bench.heard(miss(4));
    let question = bench.asks();
    // While the question is on its way, too.
    bench.heard(miss(2));
    assert!(bench.agent.question(bench.now).is_none());
    let taken = Bench::take(&question, 0);
    bench.answer(question, vec![taken]);
    assert!(lease_of(&bench.effects()).0 >= 4);
    assert!(bench.agent.question(bench.now).is_none());
    bench.heard(miss(1));
    bench.asks();
}

#[test]
fn an_answer_that_is_too_old_is_not_used() {
    let mut bench = Bench::new("fixed_window 100/1m", None);
    bench.heard(miss(1));
    let question = bench.asks();
    let taken = Bench::take(&question, 0);
    bench.now += MAX_AGE_NS - MS;
    bench.answer(question, vec![taken.clone()]);
    assert_eq!(bench.effects(), []);
    // It is asked for again, and then is denied.
    for _ in 0..MOST_TRIES {
        let question = bench.asks();
        bench.now += MAX_AGE_NS;
        bench.answer(question, vec![taken.clone()]);
    }
    let effects = bench.effects();
    assert_eq!(lease_of(&effects).0, 0, "{effects:?}");
    assert!(bench.agent.question(bench.now).is_none());
}

#[test]
fn an_answer_that_is_missing_is_asked_for_again() {
    let mut bench = Bench::new("1000/s", None);
    bench.heard(miss(1));
    let question = bench.asks();
    bench.answer(question, vec![]);
    bench.is_granted(0);
}

#[test]
fn a_lease_that_can_be_used_is_not_denied() {
    let mut bench = Bench::new("1/s burst=10", None);
    bench.heard(miss(3));
    let word = bench.is_granted(0);
    bench.effects();
    bench.heard(Miss { left: 3, usable: 3, ..miss(5) });
    let question = bench.asks();
    let full = word + 7 * SECOND;
    bench.answer(
        question,
        vec![Answer::Refused(Some(Value { generation: 7, words: [full].into_iter().collect() }))],
    );
    assert_eq!(bench.effects(), [Effect::again(1)]);
    // Who needs one unit is denied when none is left, until there is one at the store.
    bench.heard(miss(1));
    let (units, until) = lease_of(&bench.effects());
    assert_eq!(units, 0);
    assert!(until > bench.now);
    assert!(bench.agent.question(bench.now).is_none());
}

#[test]
fn a_charge_takes_what_there_is() {
    let mut bench = Bench::new("1/s burst=10", None);
    bench.heard(Miss { fill: true, ..miss(30) });
    bench.is_granted(0);
    assert_eq!(lease_of(&bench.effects()).0, 10);
}

#[test]
fn a_key_is_forgotten_whatever_happens_meanwhile() {
    let mut bench = Bench::new("1000/s", Some(2));
    bench.heard(miss(1));
    let question = bench.asks();
    bench.heard(Miss { forget: true, ..miss(1) });
    let taken = Bench::take(&question, 0);
    bench.answer(question, vec![taken]);
    let question = bench.asks();
    assert!(matches!(question.operations[..], [Operation::Forget { h: 1 }]));
    bench.agent.lost(question, bench.now);
    while !bench.agent.is_away() {
        let question = bench.agent.question(bench.now).expect("a try");
        bench.agent.lost(question, bench.now);
    }
    bench.now += 20 * SECOND;
    let question = bench.agent.question(bench.now).expect("a try");
    bench.answer(question, vec![]);
    let question = bench.asks();
    assert!(matches!(question.operations[..], [Operation::Forget { h: 1 }]));
    bench.effects();
    bench.answer(question, vec![Answer::Forgotten(true)]);
    // The grant that came meanwhile is in the table.
    assert_eq!(bench.effects(), [Effect { h: 1, erases: true, words: Layered::new() }]);
    assert!(bench.agent.question(bench.now).is_none());
}

/// A replica tells what it holds, and refuses each charge.
#[test]
fn a_server_that_answers_reads_alone_is_away() {
    let mut bench = Bench::new("1000/s", None);
    bench.heard(miss(1));
    let word = bench.is_granted(0);
    let held = Value { generation: 7, words: [word].into_iter().collect() };
    bench.now += SECOND;
    bench.heard(miss(1));
    for _ in 0..2 * MOST_TRIES {
        let Some(question) = bench.agent.question(bench.now) else { break };
        if question.operations.iter().all(|one| matches!(one, Operation::Read { .. })) {
            let answers = question.operations.iter().map(|_| Answer::Value(Some(held.clone()))).collect();
            bench.answer(question, answers);
        } else {
            bench.agent.doubt();
            bench.agent.lost(question, bench.now);
        }
    }
    assert!(bench.agent.is_away());
}

#[test]
fn a_key_that_is_to_be_forgotten_is_decided_while_the_store_is_away() {
    let mut bench = Bench::new("1000/s", Some(2));
    bench.heard(miss(1));
    let question = bench.asks();
    bench.agent.lost(question, bench.now);
    while !bench.agent.is_away() {
        let question = bench.agent.question(bench.now).expect("a try");
        bench.agent.lost(question, bench.now);
    }
    bench.heard(Miss { forget: true, ..miss(0) });
    bench.effects();
    bench.heard(miss(1));
    assert_ne!(lease_of(&bench.effects()).0, 0, "units of the machine's own part");
    bench.now += 20 * SECOND;
    let question = bench.agent.question(bench.now).expect("a try");
    bench.answer(question, vec![]);
    let question = bench.asks();
    assert!(matches!(question.operations[..], [Operation::Forget { h: 1 }]), "{question:?}");
}

#[test]
fn a_store_that_is_far_away_is_heard() {
    let mut bench = Bench::new("1000/s", None);
    let policy: Policy = "1000/s".parse().expect("a policy");
    let agent = Agent::new(record(&policy), None, 1).expect("an agent");
    assert_eq!(agent.timeout_ns(), LONGEST_TIMEOUT_NS);
    for _ in 0..100 {
        bench.heard(miss(1));
        bench.now += 2 * SECOND;
        let question = bench.agent.question(bench.now).expect("the time");
        bench.answer(question, vec![]);
    }
    assert_eq!(bench.agent.timeout_ns(), SHORTEST_TIMEOUT_NS);
    bench.now += 2 * SECOND;
    let question = bench.agent.question(bench.now).expect("the time");
    bench.agent.lost(question, bench.now);
    assert!(bench.agent.timeout_ns() > SHORTEST_TIMEOUT_NS * 3 / 2);
}

#[test]
fn what_the_store_forgot_is_put_back() {
    // By a take from where this machine knows the word to be.
    let mut bench = Bench::new("1/s burst=10", None);
    bench.heard(miss(3));
    let word = bench.is_granted(0);
    bench.effects();
    bench.heard(miss(2));
    let raised = bench.is_granted(0);
    assert_eq!(raised, word + lease_of(&bench.effects()).0 * SECOND);
    // Or by a swap, where a word cannot be raised.
    let mut bench = Bench::new("sliding_window 100/1m", None);
    let value = |word: u64| Some(Value { generation: 7, words: [word].into_iter().collect() });
    bench.heard(miss(30));
    let question = bench.asks();
    let Operation::Swap { old: None, new, .. } = question.operations[0].clone() else {
        panic!("{question:?}")
    };
    let charged = new.words[0];
    bench.answer(question, vec![Answer::Swapped]);
    bench.effects();
    bench.agent.doubt();
    bench.heard(miss(1));
    let question = bench.asks();
    assert!(matches!(question.operations[..], [Operation::Read { .. }]));
    let forgot = charged - 20;
    bench.answer(question, vec![Answer::Value(value(forgot))]);
    let question = bench.asks();
    let Operation::Swap { old, new, .. } = &question.operations[0] else { panic!("{question:?}") };
    assert_eq!(*old, value(forgot));
    assert!(new.words[0] > charged, "{new:?}");
    assert_eq!(bench.agent.counts().healed, 1);
}

#[test]
fn a_value_that_has_expired_is_not_forgotten() {
    for (later, healed) in [(MS, 1), (100 * SECOND, 0)] {
        let mut bench = Bench::new("1/s burst=10", None);
        bench.heard(miss(3));
        bench.is_granted(0);
        bench.now += later;
        let question = bench.agent.question(bench.now);
        question.into_iter().for_each(|question| bench.answer(question, vec![]));
        bench.agent.doubt();
        bench.heard(miss(1));
        let question = bench.asks();
        bench.answer(question, vec![Answer::Value(None)]);
        assert_eq!(bench.agent.counts().healed, healed, "{later}");
    }
}

#[test]
fn a_cost_that_the_store_has_not_is_denied_until_it_has() {
    let mut bench = Bench::new("1/s burst=10", None);
    let lease = *bench.agent.layers.first().map(|layer| &layer.lease).expect("a layer");
    bench.heard(miss(5));
    let question = bench.asks();
    // Three units are left at the store: two more take two seconds.
    let full = (AHEAD + bench.now) + 7 * SECOND;
    let value = Value { generation: 7, words: [full].into_iter().collect() };
    bench.answer(question, vec![Answer::Refused(Some(value.clone()))]);
    let effects = bench.effects();
    let (held, until) = lease_of(&effects);
    assert_eq!(held, 0);
    let wait = until - bench.now;
    assert!((1_990 * MS..=2_010 * MS).contains(&wait), "{wait}");
    let word = effects[0].words[0].expect("a denial");
    let outcome = |cost| lease.step(word, bench.now, cost).decision.outcome();
    use ratecell_core::Outcome::{Asked, Denied, Never};
    assert_eq!([4, 5, 6, 11].map(outcome), [Asked, Denied, Denied, Never]);
    // As much is not asked for again at once, but denied again; fewer units are asked for.
    bench.heard(miss(6));
    assert!(bench.agent.question(bench.now).is_none());
    assert_eq!(bench.effects(), effects);
    bench.heard(miss(3));
    bench.is_granted(full);
    assert_eq!(lease_of(&bench.effects()).0, 3);
    // A lease that can be used stays.
    bench.now += SECOND / 5;
    bench.heard(Miss { left: 3, usable: 3, ..miss(5) });
    let question = bench.asks();
    bench.answer(question, vec![Answer::Refused(Some(value))]);
    assert_eq!(bench.effects(), [Effect::again(1)]);
}
