//! Servers that are full, silent, or no masters.

use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use ratecell_sync::{Abilities, Answer, Operation, Store, StoreErrorKind};

use super::cluster::free_port;
use super::support::{Server, attach, later, one, refused, take, taken, terms, value};

#[test]
#[ignore = "needs a server: ci/store.sh"]
fn a_full_server_refuses_and_still_answers() {
    let server = Server::start(&["--maxmemory-policy", "noeviction"]);
    let mut connection = attach(&server.url());
    assert_eq!(one(&mut connection, take(1)), taken(1));
    server.tell(&["CONFIG", "SET", "maxmemory", "1"]);
    let can = connection.abilities();
    let swap = Operation::Swap { h: 2, old: None, new: value(0, &[1]), expires_ms: later() };
    for can in [can, Abilities { ifeq: false, nx_get: false, ..can }] {
        connection.set_abilities(can);
        let reply = connection.batch(&[take(1), swap.clone(), Operation::Read { h: 3 }]).expect("a reply");
        for answer in &reply.answers[..2] {
            let Answer::Failed(error) = answer else { panic!("{answer:?}") };
            assert_eq!(error.kind(), StoreErrorKind::Full, "{error}");
        }
        assert_eq!(reply.answers[2], Answer::Value(None));
    }
    server.tell(&["CONFIG", "SET", "maxmemory", "0"]);
    assert_eq!(one(&mut connection, take(1)), taken(2));
}

#[test]
#[ignore = "needs a server: ci/store.sh"]
fn a_silent_server_is_waited_for_as_long_as_was_said() {
    let server = Server::start(&[]);
    let mut connection = attach(&server.url());
    assert_eq!(one(&mut connection, take(1)), taken(1));
    server.signal("-STOP");
    connection.set_timeout(Duration::from_millis(100));
    let begun = Instant::now();
    let error = connection.batch(&[take(1)]).expect_err("no answer");
    assert_eq!(error.kind(), StoreErrorKind::Timeout, "{error}");
    assert!(begun.elapsed() >= Duration::from_millis(100));
    server.signal("-CONT");
    connection.set_timeout(Duration::from_secs(10));
    // The answer that was given up does not become that of another question. What was asked is done or not.
    let reply = connection.batch(&[take(9), Operation::Read { h: 8 }]).expect("a reply");
    assert_eq!(reply.answers, [taken(1), Answer::Value(None)]);
    let Answer::Taken { units: 1, words } = one(&mut connection, take(1)) else { panic!("a unit") };
    assert!(words[0] == 2 || words[0] == 3, "{words:?}");
}

#[test]
#[ignore = "needs a server: ci/store.sh"]
fn a_replica_is_refused() {
    let server = Server::start(&[]);
    let mut connection = attach(&server.url());
    server.tell(&["REPLICAOF", "127.0.0.1", "1"]);
    let error = refused(&server.url(), &["is a replica", "master"]);
    assert_eq!(error.kind(), StoreErrorKind::Replica, "{error}");
    // It answers reads and the time, which is not what a store is for.
    for _ in 0..2 {
        let error = connection.batch(&[take(1), Operation::Read { h: 2 }]).expect_err("a replica");
        assert_eq!(error.kind(), StoreErrorKind::Replica, "{error}");
    }
    server.tell(&["REPLICAOF", "NO", "ONE"]);
    assert_eq!(one(&mut connection, take(1)), taken(1));
}

#[test]
#[ignore = "needs a server: ci/store.sh"]
fn an_address_that_names_another_master_is_followed() {
    let (first, second) = (free_port().to_string(), free_port().to_string());
    let old = Server::start(&["--port", &first, "--repl-diskless-sync-delay", "0"]);
    let new = Server::start(&["--port", &second]);
    let address = std::env::temp_dir().join(format!("ratecell-master-{}", std::process::id()));
    let name = |server: &Server| {
        let next = address.with_extension("next");
        symlink(server.url().trim_start_matches("unix:"), &next).expect("a name");
        std::fs::rename(next, &address).expect("the name");
    };
    name(&old);
    let mut connection = attach(&format!("unix:{}", address.display()));
    assert_eq!(one(&mut connection, take(1)), taken(1));
    new.tell(&["REPLICAOF", "127.0.0.1", &first]);
    // The record and the key.
    while new.tell(&["DBSIZE"]) != "2" {
        std::thread::sleep(Duration::from_millis(10));
    }
    new.tell(&["REPLICAOF", "NO", "ONE"]);
    old.tell(&["REPLICAOF", "127.0.0.1", &second]);
    name(&new);
    let error = connection.batch(&[take(1)]).expect_err("the old master, or nobody");
    let kinds = [StoreErrorKind::Replica, StoreErrorKind::Disconnected];
    assert!(kinds.contains(&error.kind()), "{error}");
    assert_eq!(one(&mut connection, take(1)), taken(2));
    std::fs::remove_file(&address).expect("the name");
}

#[test]
#[ignore = "needs a server: ci/store.sh"]
fn a_server_that_is_gone_is_reached_when_it_is_back() {
    let mut server = Server::start(&[]);
    let mut connection = attach(&server.url());
    server.kill();
    let error = connection.batch(&[take(1)]).expect_err("no server");
    assert_eq!(error.kind(), StoreErrorKind::Disconnected, "{error}");
    let error = connection.batch(&[take(1)]).expect_err("no server");
    assert_eq!(error.kind(), StoreErrorKind::Unreachable, "{error}");
    server.restart_killed();
    let error = connection.batch(&[take(1)]).expect_err("an empty store");
    assert_eq!(error.kind(), StoreErrorKind::Forgotten, "{error}");
    assert_eq!(one(&mut connection, take(1)), taken(2));
}

#[test]
#[ignore = "needs a server: ci/store.sh"]
fn an_address_of_a_cluster_needs_one() {
    let port = free_port().to_string();
    let _server = Server::start(&["--port", &port]);
    let url = format!("redis+cluster://127.0.0.1:{port}");
    let error = Store::open(&url)
        .and_then(|store| store.named("api")?.attach(Some(&terms(1)), Duration::from_secs(5)))
        .expect_err("no cluster");
    assert_eq!(error.kind(), StoreErrorKind::Url, "{error}");
    assert!(error.to_string().contains("is of no cluster"), "{error}");
}
