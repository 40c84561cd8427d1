//! How long a value lives, and what outlives a server.

use ratecell_core::algorithm::{Span, Want};
use ratecell_sync::{Abilities, Answer, Operation, StoreErrorKind};

use super::support::{Server, attach, later, now_ms, one, take, taken, value};

/// Operations that leave a value until then: a take, a swap of nothing, and a swap of 5 at key 3.
fn written(expires_ms: u64) -> Vec<Operation> {
    let span = Span { floor: 0, ceiling: 9, unit: 1, raises: true };
    let want = Want { most: 1, least: 1, share: 1 };
    let swap = |h, old: Option<u64>, new, expires_ms| {
        let old = old.map(|word| value(0, &[word]));
        Operation::Swap { h, old, new: value(0, &[new]), expires_ms }
    };
    vec![
        Operation::Take { h: 1, generation: 0, spans: std::iter::once(span).collect(), want, expires_ms },
        swap(2, None, 5, expires_ms),
        swap(3, Some(5), 6, expires_ms),
    ]
}

#[test]
#[ignore = "needs a server: ci/store.sh"]
fn a_value_is_forgotten_when_it_was_said_and_no_earlier() {
    let server = Server::start(&[]);
    let mut connection = attach(&server.url());
    let can = connection.abilities();
    for can in [
        can,
        Abilities { ifeq: false, nx_get: false, ..can },
        Abilities { ifeq: false, nx_get: false, pxat: false },
    ] {
        connection.set_abilities(can);
        let expires_ms = now_ms() + 400;
        let five = Operation::Swap { h: 3, old: None, new: value(0, &[5]), expires_ms: later() };
        assert_eq!(one(&mut connection, five), Answer::Swapped);
        let reply = connection.batch(&written(expires_ms)).expect("a reply");
        let words = std::iter::once(1).collect();
        let (taken, swapped) = (Answer::Taken { units: 1, words }, Answer::Swapped);
        assert_eq!(reply.answers, [taken, swapped.clone(), swapped], "{can:?}");
        if server.version() >= (7, 0) {
            let mut raw = server.raw().expect("a connection");
            for h in 1..=3u64 {
                let key = [b"api".as_slice(), &h.to_be_bytes()].concat();
                let at: u64 = redis::cmd("PEXPIRETIME").arg(key).query(&mut raw).expect("an expiry");
                assert_eq!(at, expires_ms, "{can:?}: key {h}");
            }
        }
        // The clock is read before the values, so of an earlier batch it tells nothing: the one after is asked.
        let mut gone = [false; 3];
        loop {
            let reads: Vec<_> = (1..=3).map(|h| Operation::Read { h }).collect();
            let reply = connection.batch(&reads).expect("a reply");
            for (gone, answer) in gone.iter_mut().zip(reply.answers) {
                *gone = answer == Answer::Value(None);
            }
            let now_us = connection.batch(&[]).expect("a reply").now_us;
            if gone.contains(&true) {
                assert!(
                    now_us >= expires_ms * 1000,
                    "{can:?}: gone at {now_us} us, expected {expires_ms} ms"
                );
            }
            if gone == [true; 3] {
                break;
            }
            assert!(now_us < (expires_ms + 60_000) * 1000, "{can:?}: not gone");
        }
    }
}

#[test]
#[ignore = "needs a server: ci/store.sh"]
fn a_script_that_the_server_forgot_is_sent_again_and_charges_once() {
    let server = Server::start(&[]);
    let mut connection = attach(&server.url());
    let can = connection.abilities();
    connection.set_abilities(Abilities { ifeq: false, nx_get: false, ..can });
    for round in 1..=3 {
        server.tell(&["SCRIPT", "FLUSH"]);
        let swap = |old: Option<u64>, new| Operation::Swap {
            h: 2,
            old: old.map(|word| value(0, &[word])),
            new: value(0, &[new]),
            expires_ms: later(),
        };
        let first = swap((round > 1).then(|| round - 1), round);
        let reply = connection.batch(&[take(1), first, take(3), take(4)]).expect("a reply");
        assert_eq!(reply.answers, [taken(round), Answer::Swapped, taken(round), taken(round)]);
    }
}

#[test]
#[ignore = "needs a server: ci/store.sh"]
fn a_restart_costs_one_batch() {
    let mut server = Server::start(&[]);
    let mut connection = attach(&server.url());
    assert_eq!(one(&mut connection, take(1)), taken(1));
    server.restart(true);
    let error = connection.batch(&[take(1)]).expect_err("a connection that is closed");
    assert_eq!(error.kind(), StoreErrorKind::Disconnected, "{error}");
    assert_eq!(one(&mut connection, take(1)), taken(2));
}

#[test]
#[ignore = "needs a server: ci/store.sh"]
fn a_store_that_forgot_says_so_and_gets_its_record_again() {
    let mut server = Server::start(&[]);
    let mut connection = attach(&server.url());
    let mut other = attach(&server.url());
    let before = server.tell(&["GETRANGE", "api#", "16", "64"]);
    assert_eq!(one(&mut connection, take(1)), taken(1));
    server.restart(false);
    connection.batch(&[]).expect_err("a connection that is closed");
    let error = connection.batch(&[take(1)]).expect_err("the record is gone");
    assert_eq!(error.kind(), StoreErrorKind::Forgotten, "{error}");
    // What the failed batch charged stays charged.
    assert_eq!(one(&mut connection, take(1)), taken(2));
    assert_eq!(server.tell(&["GETRANGE", "api#", "16", "64"]), before);
    other.batch(&[]).expect_err("a connection that is closed");
    assert_eq!(one(&mut other, take(1)), taken(3));

    // A machine that starts anew in an empty store makes another record: the others must not go on beside it.
    server.tell(&["FLUSHALL"]);
    let mut new = attach(&server.url());
    let error = connection.batch(&[take(1)]).expect_err("another record");
    assert_eq!(error.kind(), StoreErrorKind::Mismatch, "{error}");
    assert!(error.to_string().contains("another than at the beginning"), "{error}");
    assert_eq!(one(&mut new, take(5)), taken(1));
}
