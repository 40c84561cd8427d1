//! Users, passwords, and what a user must be allowed.

use ratecell_sync::{Abilities, Answer, Operation, StoreErrorKind, acl_rules};

use super::support::{Server, attach, later, one, refused, take, taken, try_attach, value};

/// The commands of the rules for a single server of today.
const COMMANDS: [&str; 7] = ["time", "get", "getrange", "set", "del", "eval", "evalsha"];

/// Makes the user `limits` with these commands on the keys of this pattern.
fn allow(server: &Server, keys: &str, commands: &[&str]) {
    let rules: Vec<String> = commands.iter().map(|command| format!("+{command}")).collect();
    let mut words = vec!["ACL", "SETUSER", "limits", "reset", "on", ">word", keys];
    words.extend(rules.iter().map(String::as_str));
    server.tell(&words);
}

#[test]
#[ignore = "needs a server: ci/store.sh"]
fn the_rules_that_are_printed_are_enough() {
    let server = Server::start(&[]);
    allow(&server, "~api*", &COMMANDS);
    let rules = acl_rules("api");
    for word in COMMANDS.iter().map(|command| format!("+{command} ")).chain(["~api* ".to_owned()]) {
        assert!(rules.contains(&word), "{word} in {rules}");
    }
    let mut connection = attach(&server.url_of("limits", "word"));
    let can = connection.abilities();
    for (h, can) in [(1, can), (2, Abilities { ifeq: false, nx_get: false, ..can })] {
        connection.set_abilities(can);
        let swap = |old, new| Operation::Swap { h, old, new: value(0, &[new]), expires_ms: later() };
        let operations = [
            swap(None, 4),
            swap(Some(value(0, &[4])), 5),
            take(h),
            Operation::Read { h },
            Operation::Forget { h },
        ];
        let answers = operations.map(|operation| one(&mut connection, operation));
        let swapped = Answer::Swapped;
        let read = Answer::Value(Some(value(0, &[6])));
        assert_eq!(answers, [swapped.clone(), swapped, taken(6), read, Answer::Forgotten(true)]);
    }
}

#[test]
#[ignore = "needs a server: ci/store.sh"]
fn each_right_that_is_missing_is_named_at_the_beginning() {
    let server = Server::start(&[]);
    attach(&server.url());
    for missing in COMMANDS {
        let others: Vec<_> = COMMANDS.into_iter().filter(|command| *command != missing).collect();
        allow(&server, "~api*", &others);
        let error = refused(&server.url_of("limits", "word"), &[&format!("'{missing}'"), &acl_rules("api")]);
        assert_eq!(error.kind(), StoreErrorKind::Denied, "{error}");
    }
    allow(&server, "~other*", &COMMANDS);
    let error = refused(&server.url_of("limits", "word"), &["key", "~api* "]);
    assert_eq!(error.kind(), StoreErrorKind::Denied, "{error}");
}

#[test]
#[ignore = "needs a server: ci/store.sh"]
fn a_right_that_is_taken_away_later_fails_the_operation() {
    let server = Server::start(&[]);
    allow(&server, "~api*", &COMMANDS);
    let mut connection = attach(&server.url_of("limits", "word"));
    assert_eq!(one(&mut connection, take(1)), taken(1));
    server.tell(&["ACL", "SETUSER", "limits", "-set"]);
    let Answer::Failed(error) = one(&mut connection, take(1)) else { panic!("a failure") };
    assert_eq!(error.kind(), StoreErrorKind::Denied, "{error}");
    server.tell(&["ACL", "SETUSER", "limits", "-time"]);
    let error = connection.batch(&[take(1)]).expect_err("no clock");
    assert_eq!(error.kind(), StoreErrorKind::Denied, "{error}");
}

#[test]
#[ignore = "needs a server: ci/store.sh"]
fn a_password_is_asked_for_and_never_shown() {
    let server = Server::start(&["--requirepass", "secret"]);
    let path = server.url();
    let error = refused(&path, &["password"]);
    assert_eq!(error.kind(), StoreErrorKind::Password, "{error}");
    let wrong = format!("redis+unix://{}?pass=mistaken", path.trim_start_matches("unix:"));
    let error = refused(&wrong, &["password"]);
    assert_eq!(error.kind(), StoreErrorKind::Password, "{error}");
    assert!(!error.to_string().contains("mistaken"), "{error}");
    let right = format!("redis+unix://{}?pass=secret", path.trim_start_matches("unix:"));
    assert_eq!(one(&mut attach(&right), take(1)), taken(1));
}

#[test]
#[ignore = "needs a server: ci/store.sh"]
fn a_server_that_may_forget_is_warned_of() {
    let server = Server::start(&["--maxmemory-policy", "allkeys-lru"]);
    let warnings = |url: &str| try_attach(url).expect("a store").warnings;
    let all = warnings(&server.url());
    assert!(all.len() == 1 && all[0].contains("maxmemory-policy allkeys-lru"), "{all:?}");
    allow(&server, "~api*", &COMMANDS);
    assert!(warnings(&server.url_of("limits", "word")).is_empty(), "nothing is known");
    allow(&server, "~api*", &[COMMANDS.as_slice(), &["info"]].concat());
    assert_eq!(warnings(&server.url_of("limits", "word")).len(), 1);
    server.tell(&["CONFIG", "SET", "maxmemory-policy", "volatile-ttl"]);
    assert!(warnings(&server.url()).is_empty());
}
