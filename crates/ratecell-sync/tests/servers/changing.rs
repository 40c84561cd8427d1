//! The record and the keys across a change of the policy, on a real server.

use std::time::{Duration, Instant};

use ratecell_core::Policy;
use ratecell_sync::{
    Agent, Answer, Change, Connection, Effect, Operation, Question, Refusal, Store, Terms, Value,
};

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

/// A change to that policy; by a configuration of that version, unless that is 0.
fn change(to: &str, version: u64) -> Change {
    Change { policy: to.parse().expect("a policy"), version: Some(version).filter(|version| *version > 0) }
}

fn ends(agent: &mut Agent, connection: &mut Connection, from: Instant) -> Result<(), Refusal> {
    let mut ended = None;
    run(agent, connection, from, |agent| {
        ended = ended.take().or_else(|| agent.ended());
        ended.is_some()
    });
    ended.expect("an end")
}

fn changed(
    agent: &mut Agent,
    connection: &mut Connection,
    from: Instant,
    change: Change,
) -> Result<(), Refusal> {
    agent.change(change, 1_000_000_000 + from.elapsed().as_nanos() as u64);
    ends(agent, connection, from)
}

/// Runs the agent with that change until its record is on its way.
fn publishes(agent: &mut Agent, connection: &mut Connection, from: Instant, change: Change) -> Question {
    run(agent, connection, from, |agent| !agent.is_away() && agent.lag_ns(0) < u64::MAX);
    let now = || 1_000_000_000 + from.elapsed().as_nanos() as u64;
    agent.change(change, now());
    loop {
        let question = agent.question(now()).expect("a question");
        if matches!(question.operations[..], [Operation::SwapRecord { .. }]) {
            return question;
        }
        let reply = connection.batch(&question.operations).expect("an answer");
        agent.answered(question, reply, now()).expect("a policy");
    }
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
    changed(&mut agent, &mut connection, from, change("200/h", 0)).expect("a change");
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
    // The other has read the record, and its own is on its way when this one comes.
    let late = publishes(&mut other, &mut other_connection, from, change("7/s", 0));
    changed(&mut agent, &mut connection, from, change("9/s", 0)).expect("a change");
    let reply = other_connection.batch(&late.operations).expect("an answer");
    other.answered(late, reply, 1_000_000_000 + from.elapsed().as_nanos() as u64).expect("a policy");
    let ended = ends(&mut other, &mut other_connection, from);
    assert_eq!(ended, Err(Refusal::Overtaken { by: "9/s".to_owned(), version: 1 }));
    assert_eq!(other.generation().expect("a policy").policy().to_string(), "9/s");
}

#[test]
#[ignore = "needs a server: ci/store.sh"]
fn of_two_configurations_at_once_the_greater_version_holds() {
    for (first, late, held) in [
        (change("9/s", 3), change("7/s", 2), "9/s"),
        (change("9/s", 2), change("7/s", 3), "7/s"),
        // The same policy as the record's: its version alone is greater.
        (change("9/s", 2), change("5/s", 3), "5/s"),
        (change("5/s", 3), change("9/s", 2), "5/s"),
        (change("9/s", 2), change("9/s", 3), "9/s"),
        // A call leaves the version, and is no reason for a configuration to stay behind.
        (change("9/s", 0), change("7/s", 3), "7/s"),
    ] {
        let server = Server::start(&[]);
        let from = Instant::now();
        let (mut connection, mut agent) = attached(&server, "5/s");
        let (mut other_connection, mut other) = attached(&server, "5/s");
        let version = first.version.max(late.version).unwrap_or(1);
        let is_overtaken = late.version < first.version;
        let question = publishes(&mut other, &mut other_connection, from, late);
        changed(&mut agent, &mut connection, from, first).expect("a change");
        let reply = other_connection.batch(&question.operations).expect("an answer");
        other.answered(question, reply, 1_000_000_000 + from.elapsed().as_nanos() as u64).expect("a policy");
        let ended = ends(&mut other, &mut other_connection, from);
        let by = Refusal::Overtaken { by: held.to_owned(), version };
        assert_eq!(ended, if is_overtaken { Err(by) } else { Ok(()) }, "{held}");
        assert_eq!((other.record().policy.as_str(), other.record().version), (held, version));
        run(&mut agent, &mut connection, from, |agent| agent.record().policy == held);
    }
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
    let Err(Refusal::Store(error)) = changed(&mut agent, &mut connection, from, change("9/s", 0)) else {
        panic!("a refusal")
    };
    assert!(error.to_string().contains("scan"), "{error}");
    assert_eq!(agent.record().generation, 0);
}
