//! A cluster of three masters: keys are everywhere, and move.

use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ratecell_sync::{Answer, Connection, Operation, Store, StoreErrorKind};

use super::support::{Server, TIMEOUT, later, one, refused, take, taken, terms, value};

const SLOTS: u32 = 16_384;

/// A port such that it and that of the cluster's bus are free.
pub(crate) fn free_port() -> u16 {
    loop {
        let any = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = any.local_addr().expect("an address").port();
        let bus = port.checked_add(10_000).map(|bus| TcpListener::bind(("127.0.0.1", bus)));
        if matches!(bus, Some(Ok(_))) {
            return port;
        }
    }
}

struct Cluster {
    masters: Vec<(Server, u16)>,
}

impl Cluster {
    fn start() -> Self {
        let masters = (0..3).map(|_| {
            let port = free_port();
            let options = ["--port", &port.to_string(), "--bind", "127.0.0.1", "--cluster-enabled", "yes"];
            let more = ["--cluster-node-timeout", "5000", "--cluster-require-full-coverage", "no"];
            (Server::start(&[options.as_slice(), &more].concat()), port)
        });
        let cluster = Self { masters: masters.collect() };
        for (number, (server, _)) in (0..).zip(&cluster.masters) {
            let slots = (number * SLOTS / 3..(number + 1) * SLOTS / 3).map(|slot| slot.to_string());
            let words: Vec<String> =
                ["CLUSTER", "ADDSLOTS"].map(str::to_owned).into_iter().chain(slots).collect();
            server.tell(&words.iter().map(String::as_str).collect::<Vec<_>>());
            server.tell(&["CLUSTER", "SET-CONFIG-EPOCH", &(number + 1).to_string()]);
            server.tell(&["CLUSTER", "MEET", "127.0.0.1", &cluster.masters[0].1.to_string()]);
        }
        let ready = |server: &Server| {
            let info = server.tell(&["CLUSTER", "INFO"]);
            info.contains("cluster_state:ok") && info.contains("cluster_slots_ok:16384")
        };
        while !cluster.masters.iter().all(|(server, _)| ready(server)) {
            std::thread::sleep(Duration::from_millis(50));
        }
        cluster
    }

    fn url(&self) -> String {
        format!("redis+cluster://127.0.0.1:{},127.0.0.1:{}", self.masters[2].1, self.masters[0].1)
    }

    fn attach(&self) -> Connection {
        let named = Store::open(&self.url()).and_then(|store| store.named("api")).expect("a name");
        named.attach(Some(&terms(1)), TIMEOUT).expect("a store").connection
    }

    fn id(&self, master: usize) -> String {
        self.masters[master].0.tell(&["CLUSTER", "MYID"])
    }

    /// Moves a slot as `redis-cli --cluster reshard` does: announced on both sides, its keys one by one, then told to all.
    fn move_slot(&self, slot: u32, from: usize, to: usize) {
        let slot = slot.to_string();
        let (source, target) = (&self.masters[from].0, &self.masters[to].0);
        target.tell(&["CLUSTER", "SETSLOT", &slot, "IMPORTING", &self.id(from)]);
        source.tell(&["CLUSTER", "SETSLOT", &slot, "MIGRATING", &self.id(to)]);
        let port = self.masters[to].1.to_string();
        let mut raw = source.raw().expect("a connection");
        loop {
            let mut command = redis::cmd("CLUSTER");
            let keys: Vec<Vec<u8>> =
                command.arg("GETKEYSINSLOT").arg(&slot).arg(1).query(&mut raw).expect("keys");
            let Some(key) = keys.first() else { break };
            let mut command = redis::cmd("MIGRATE");
            command.arg("127.0.0.1").arg(&port).arg(key).arg(0).arg(5000);
            let () = command.query(&mut raw).expect("a moved key");
        }
        for server in [target, source, &self.masters[3 - from - to].0] {
            server.tell(&["CLUSTER", "SETSLOT", &slot, "NODE", &self.id(to)]);
        }
    }

    fn slot(&self, h: u64) -> u32 {
        let key = [b"api".as_slice(), &h.to_be_bytes()].concat();
        let mut raw = self.masters[0].0.raw().expect("a connection");
        redis::cmd("CLUSTER").arg("KEYSLOT").arg(key).query(&mut raw).expect("a slot")
    }

    fn owner(&self, slot: u32) -> usize {
        (0..3).rposition(|number| number * SLOTS / 3 <= slot).expect("an owner")
    }
}

#[test]
#[ignore = "needs a server: ci/store.sh"]
fn keys_are_on_all_masters() {
    let cluster = Cluster::start();
    let mut connection = cluster.attach();
    let operations: Vec<_> = (0..300u64).map(|h| take(h << 40)).collect();
    for round in 1..=2 {
        let reply = connection.batch(&operations).expect("a reply");
        assert!(reply.answers.iter().all(|answer| *answer == taken(round)), "{:?}", reply.answers);
    }
    for (server, _) in &cluster.masters {
        let keys: u32 = server.tell(&["DBSIZE"]).parse().expect("a number");
        assert!(keys > 50, "{keys} keys");
    }
    // Keys of bytes that mean a part of themselves is their slot.
    let braces = [*b"{abcdef}", *b"ab{c}def", *b"{}{abcd}", *b"abc{defg"].map(u64::from_be_bytes);
    let reply = connection.batch(&braces.map(take)).expect("a reply");
    assert_eq!(reply.answers, [1; 4].map(taken));

    // One server of it is not the whole.
    let error = refused(&cluster.masters[0].0.url(), &[]);
    let one_of_it = format!("redis://127.0.0.1:{}", cluster.masters[0].1);
    let other = refused(&one_of_it, &[]);
    for error in [error, other] {
        let told = error.to_string().contains("redis+cluster://") || error.to_string().contains("MOVED");
        assert!(told, "{error}");
    }
}

#[test]
#[ignore = "needs a server: ci/store.sh"]
fn slots_that_move_under_load_lose_and_repeat_nothing() {
    let cluster = Cluster::start();
    let mut idle = cluster.attach();
    let keys: Vec<u64> = (0..60).map(|h| h << 32).collect();
    // Also the record's.
    let record = {
        let mut raw = cluster.masters[0].0.raw().expect("a connection");
        let slot: u32 = redis::cmd("CLUSTER").arg("KEYSLOT").arg("api#").query(&mut raw).expect("a slot");
        slot
    };
    let swap = |h, old: Option<u64>, new| {
        let old = old.map(|word| value(0, &[word]));
        Operation::Swap { h, old, new: value(0, &[new]), expires_ms: later() }
    };
    let done = AtomicBool::new(false);
    let rounds = std::thread::scope(|scope| {
        let load = scope.spawn(|| {
            let mut connection = cluster.attach();
            let mut round = 0;
            // Relaxed: the flag carries no other memory.
            while !done.load(Ordering::Relaxed) {
                // By turns a take and a swap of what it must have left: both fail if anything was lost or done twice.
                let word = round % 90;
                let next: Vec<_> = keys
                    .iter()
                    .map(|h| match word {
                        89 => swap(*h, Some(89), 0),
                        word if word % 2 == 1 => swap(*h, Some(word), word + 1),
                        _ => take(*h),
                    })
                    .collect();
                let reply = connection.batch(&next).expect("a reply");
                for answer in reply.answers {
                    let expected = if word % 2 == 0 { taken(word + 1) } else { Answer::Swapped };
                    assert_eq!(answer, expected, "round {round}");
                }
                round += 1;
            }
            round
        });
        let mut slots: Vec<u32> = keys.iter().map(|h| cluster.slot(*h)).chain([record]).collect();
        slots.sort_unstable();
        slots.dedup();
        for step in 1..=2 {
            for slot in &slots {
                let owner = (cluster.owner(*slot) + step) % 3;
                cluster.move_slot(*slot, (owner + 2) % 3, owner);
            }
        }
        done.store(true, Ordering::Relaxed);
        load.join().expect("no panic")
    });
    println!("{rounds} rounds of {} operations while {} slots moved twice", keys.len(), 60);
    assert!(rounds > 20, "only {rounds} rounds");
    // A connection that was asleep meanwhile finds all of them.
    let reply =
        idle.batch(&keys.iter().map(|h| Operation::Read { h: *h }).collect::<Vec<_>>()).expect("a reply");
    assert!(
        reply.answers.iter().all(|answer| matches!(answer, Answer::Value(Some(_)))),
        "{:?}",
        reply.answers
    );
}

#[test]
#[ignore = "needs a server: ci/store.sh"]
fn a_master_that_is_gone_fails_its_own_keys_alone() {
    let cluster = Cluster::start();
    let mut connection = cluster.attach();
    let record = {
        let mut raw = cluster.masters[0].0.raw().expect("a connection");
        let slot: u32 = redis::cmd("CLUSTER").arg("KEYSLOT").arg("api#").query(&mut raw).expect("a slot");
        cluster.owner(slot)
    };
    let gone = (record + 1) % 3;
    let there: Vec<u64> = (0..20).map(|h| h << 32).collect();
    let (lost, kept): (Vec<u64>, Vec<u64>) =
        there.into_iter().partition(|h| cluster.owner(cluster.slot(*h)) == gone);
    assert!(!lost.is_empty() && !kept.is_empty());
    cluster.masters[gone].0.signal("-KILL");
    for round in 1..=3 {
        let operations: Vec<_> = kept.iter().chain(&lost).map(|h| take(*h)).collect();
        let reply = connection.batch(&operations).expect("the record is there");
        let (of_kept, of_lost) = reply.answers.split_at(kept.len());
        assert!(of_kept.iter().all(|answer| *answer == taken(round)), "{of_kept:?}");
        assert!(of_lost.iter().all(|answer| matches!(answer, Answer::Failed(_))), "{of_lost:?}");
    }
    cluster.masters[record].0.signal("-KILL");
    let error = connection.batch(&[take(kept[0])]).expect_err("no record");
    let away = [StoreErrorKind::Disconnected, StoreErrorKind::Unreachable];
    assert!(away.contains(&error.kind()), "{error}");
}

#[test]
#[ignore = "needs a server: ci/store.sh"]
fn a_user_of_a_cluster_needs_two_rights_more() {
    let cluster = Cluster::start();
    let slots = "+cluster|slots";
    for (server, _) in &cluster.masters {
        let mut words = vec!["ACL", "SETUSER", "limits", "reset", "on", ">word", "~api*", slots, "+asking"];
        words.extend(["+time", "+get", "+getrange", "+set", "+del", "+eval", "+evalsha"]);
        server.tell(&words);
    }
    let url = cluster.url().replace("://", "://limits:word@");
    let mut connection = super::support::attach(&url);
    assert_eq!(one(&mut connection, take(1)), taken(1));
    // While its slot moves, and the key has moved already.
    let slot = cluster.slot(1);
    let from = cluster.owner(slot);
    cluster.move_slot(slot, from, (from + 1) % 3);
    assert_eq!(one(&mut connection, take(1)), taken(2));
    for (server, _) in &cluster.masters {
        server.tell(&["ACL", "SETUSER", "limits", "-cluster"]);
    }
    let error = refused(&url, &["'cluster", "allow ~api*"]);
    assert_eq!(error.kind(), StoreErrorKind::Denied, "{error}");
}
