//! The record and the keys across a change of the policy, on a real server.

use std::time::{Duration, Instant};

use ratecell_core::Policy;
use ratecell_sync::{Agent, Answer, Connection, Effect, Operation, Refusal, Store, Terms, Value};

use super::support::{Server, TIMEOUT, later, one, value};

fn attached(server: &Server, policy: &str) -> (Connection, Agent) {
    let policy: Policy = policy.parse().expect("a policy");
    let named = Store::open(&server.url()).and_then(|store| store.named("api")).expect("an address");
    let terms = Terms::new(&policy, 1).expect("a policy that can be shared");
    let attached = named.attach(Some(&terms), TIMEOUT);
    let attached = attached.or_else(|_| named.attach(None, TIMEOUT)).expect("a store");
    let agent = Agent::new(attached.record, None, 1).expect("an agent");
    (attached.connection, agent)
}

/// Runs the agent until it says so, on a clock of its own; what it writes to its table.
fn run(
    agent: &mut Agent,
    connection: &mut Connection,
    from: Instant,
    mut is_done: impl FnMut(&mut Agent) -> bool,
) -> Vec<Effect> {
    let (now, started) = (|| 1_000_000_000 + from.elapsed().as_nanos() as u64, Instant::now());
    let mut effects = Vec::new();
    while !is_done(agent) {
        assert!(started.elapsed() < Duration::from_secs(20), "{agent:?}");
        if let Some(question) = agent.question(now()) {
            let reply = connection.batch(&question.operations).expect("an answer");
            agent.answered(question, reply, now()).expect("a policy");
        }
        effects.extend(agent.effects());
    }
    effects
}

fn changed(agent: &mut Agent, connection: &mut Connection, from: Instant, to: &str) -> Result<(), Refusal> {
    agent.change(to.parse().expect("a policy"), 1_000_000_000 + from.elapsed().as_nanos() as u64);
    let mut ended = None;
    run(agent, connection, from, |agent| {
        ended = ended.take().or_else(|| agent.ended());
        ended.is_some()
    });
    ended.expect("an end")
}

#[test]
#[ignore = "needs a server: ci/store.sh"]
fn a_changer_that_dies_before_the_instant_is_known_has_changed_the_policy() {
    let server = Server::start(&[]);
    let from = Instant::now();
    let (mut dying, dead) = attached(&server, "5/s");
    let (mut connection, mut agent) = attached(&server, "5/s");
    let Answer::Record(Some(old)) = one(&mut dying, Operation::ReadRecord) else { panic!("a record") };
    let last = dead.generation().expect("a policy");
    let next = last.followed_by(&"9/s".parse().expect("a policy"), 1).expect("it follows").expect("another");
    let new = Box::new(old.followed_by(&next).expect("a record"));
    let published = one(&mut dying, Operation::SwapRecord { old, new });
    assert_eq!(published, Answer::Swapped);
    drop((dying, dead));
    run(&mut agent, &mut connection, from, |agent| agent.followed().is_some());
    assert_eq!(agent.generation().expect("a policy").policy().to_string(), "9/s");
    let Answer::Record(Some(record)) = one(&mut connection, Operation::ReadRecord) else {
        panic!("a record")
    };
    assert!(record.at > 1 && record.at == agent.record().at, "{record:?}");
}

#[test]
#[ignore = "needs a server: ci/store.sh"]
fn keys_that_nobody_asks_for_are_carried() {
    let server = Server::start(&[]);
    let from = Instant::now();
    let (mut connection, mut agent) = attached(&server, "100/h");
    let old = agent.record().generation as u8;
    let swap =
        |h: u64| Operation::Swap { h, old: None, new: value(old, &[3_600_000_000_000]), expires_ms: later() };
    for h in 1..=3_000 {
        assert_eq!(one(&mut connection, swap(h)), Answer::Swapped);
    }
    changed(&mut agent, &mut connection, from, "200/h").expect("a change");
    run(&mut agent, &mut connection, from, |agent| agent.record().swept == agent.record().generation);
    for h in 1..=3_000 {
        let Answer::Value(Some(Value { generation, .. })) = one(&mut connection, Operation::Read { h })
        else {
            panic!("{h} is gone");
        };
        assert_eq!(generation, old + 1, "{h}");
    }
}

#[test]
#[ignore = "needs a server: ci/store.sh"]
fn of_two_that_change_at_once_one_is_told() {
    let server = Server::start(&[]);
    let from = Instant::now();
    let (mut connection, mut agent) = attached(&server, "5/s");
    let (mut other_connection, mut other) = attached(&server, "5/s");
    run(&mut other, &mut other_connection, from, |agent| !agent.is_away() && agent.lag_ns(0) < u64::MAX);
    // The other has read the record, and its own is on its way when this one comes.
    let now = || 1_000_000_000 + from.elapsed().as_nanos() as u64;
    other.change("7/s".parse().expect("a policy"), now());
    let publishes = loop {
        let question = other.question(now()).expect("a question");
        if matches!(question.operations[..], [Operation::SwapRecord { .. }]) {
            break question;
        }
        let reply = other_connection.batch(&question.operations).expect("an answer");
        other.answered(question, reply, now()).expect("a policy");
    };
    changed(&mut agent, &mut connection, from, "9/s").expect("a change");
    let reply = other_connection.batch(&publishes.operations).expect("an answer");
    other.answered(publishes, reply, now()).expect("a policy");
    let mut ended = None;
    run(&mut other, &mut other_connection, from, |agent| {
        ended = ended.take().or_else(|| agent.ended());
        ended.is_some()
    });
    assert_eq!(ended, Some(Err(Refusal::Overtaken { by: "9/s".to_owned() })));
    assert_eq!(other.generation().expect("a policy").policy().to_string(), "9/s");
}

#[test]
#[ignore = "needs a server: ci/store.sh"]
fn without_the_right_to_list_the_keys_nothing_is_changed() {
    let server = Server::start(&[]);
    let from = Instant::now();
    let (_, agent) = attached(&server, "5/s");
    drop(agent);
    let rules = "~api* +time +get +getrange +set +del +eval +evalsha";
    let mut words = vec!["ACL", "SETUSER", "limits", "on", ">word"];
    words.extend(rules.split(' '));
    server.tell(&words);
    let named = Store::open(&server.url_of("limits", "word")).and_then(|store| store.named("api"));
    let attached = named.expect("an address").attach(None, TIMEOUT).expect("a store");
    let (mut connection, mut agent) =
        (attached.connection, Agent::new(attached.record, None, 1).expect("an agent"));
    let Err(Refusal::Store(error)) = changed(&mut agent, &mut connection, from, "9/s") else {
        panic!("a refusal")
    };
    assert!(error.to_string().contains("scan"), "{error}");
    assert_eq!(agent.record().generation, 0);
}
