//! What machines that share a store must agree on.

use ratecell_sync::{Store, StoreErrorKind, Terms};

use super::support::{Server, TIMEOUT, attach, one, take, taken, terms};

#[test]
#[ignore = "needs a server: ci/store.sh"]
fn the_first_machine_decides_and_the_others_are_warned() {
    let server = Server::start(&[]);
    let named = Store::open(&server.url()).and_then(|store| store.named("api")).expect("a name");
    let error = named.attach(None, TIMEOUT).expect_err("nobody was here");
    assert_eq!(error.kind(), StoreErrorKind::NoRecord, "{error}");

    let first = named.attach(Some(&terms(2)), TIMEOUT).expect("the first");
    assert!(first.warnings.is_empty(), "{:?}", first.warnings);
    assert!(first.server.starts_with("Redis ") || first.server.starts_with("Valkey "), "{}", first.server);
    let week_ns = 604_800_000_000_000;
    assert_eq!(first.record.epoch_ns % week_ns, 345_600_000_000_000, "a Monday");

    let mut second = named.attach(Some(&terms(2)), TIMEOUT).expect("the second");
    assert_eq!(second.record, first.record);
    let reply = second.connection.batch(&[]).expect("a reply");
    let since_us = reply.now_us - first.record.epoch_ns / 1000;
    assert!(since_us < week_ns / 1000, "{since_us} us since the epoch");

    let faster = Terms { policy: "200/s".to_owned(), ..terms(2) };
    let third = named.attach(Some(&faster), TIMEOUT).expect("the third");
    assert_eq!(third.record, first.record);
    assert!(third.warnings[0].contains("\"100/s\" of version 1, which holds"), "{:?}", third.warnings);
    assert_eq!(named.attach(None, TIMEOUT).expect("one that follows").record, first.record);

    let error = named.attach(Some(&terms(1)), TIMEOUT).expect_err("other words");
    assert_eq!(error.kind(), StoreErrorKind::Mismatch, "{error}");
    assert!(error.to_string().contains("another policy takes another name"), "{error}");
}

#[test]
#[ignore = "needs a server: ci/store.sh"]
fn of_many_that_begin_at_once_one_makes_the_record() {
    let server = Server::start(&[]);
    let url = server.url();
    let machines: Vec<_> = (0..16)
        .map(|_| {
            let url = url.clone();
            std::thread::spawn(move || {
                let named = Store::open(&url).and_then(|store| store.named("api")).expect("a name");
                let mut attached = named.attach(Some(&terms(1)), TIMEOUT).expect("a store");
                (attached.record.clone(), one(&mut attached.connection, take(1)))
            })
        })
        .collect();
    let found: Vec<_> = machines.into_iter().map(|machine| machine.join().expect("no panic")).collect();
    assert!(found.windows(2).all(|pair| pair[0].0 == pair[1].0), "one record");
    for number in 1..=16 {
        assert!(found.iter().any(|(_, answer)| *answer == taken(number)), "{number} of {found:?}");
    }
}

#[test]
#[ignore = "needs a server: ci/store.sh"]
fn names_are_apart_and_so_are_databases() {
    let server = Server::start(&[]);
    let store = Store::open(&server.url()).expect("an address");
    for name in ["api", "ap", "api2", "api:v2"] {
        let named = store.named(name).expect("a name");
        let mut attached = named.attach(Some(&terms(1)), TIMEOUT).expect("a store");
        assert_eq!(one(&mut attached.connection, take(1)), taken(1), "{name}");
    }
    let path = server.url().trim_start_matches("unix:").to_owned();
    assert_eq!(one(&mut attach(&format!("redis+unix://{path}?db=3")), take(1)), taken(1));
}

#[test]
#[ignore = "needs a server: ci/store.sh"]
fn a_record_that_is_none_is_refused() {
    let server = Server::start(&[]);
    server.tell(&["SET", "api#", "by hand"]);
    let error = super::support::refused(&server.url(), &["under the name api was not written by ratecell"]);
    assert_eq!(error.kind(), StoreErrorKind::Mismatch, "{error}");
}
