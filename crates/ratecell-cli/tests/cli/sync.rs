//! `ratecell sync` without a store: what is wrong with its arguments, or that nobody answers.

use crate::support::{Files, arg, ratecell};

#[test]
fn what_is_wrong_is_named_before_a_store_is_asked() {
    for (args, expected) in [
        ("sync x redis://h", "the following required arguments were not provided: --name <NAME>"),
        (
            "sync x redis://h --name a --policy 10",
            "invalid value '10' for '--policy <POLICY>': syntax at column 1: `10`: expected LIMIT/PERIOD, such as 100/s or 5000/1h",
        ),
        (
            "sync x redis://h --name a --policy-version 2",
            "the following required arguments were not provided: --policy <POLICY>",
        ),
        (
            "sync x redis://h --name a --on-failure local:0",
            "invalid value 'local:0' for '--on-failure <local:N>': expected local:N with the number of machines, from 1",
        ),
        (
            "sync x redis://h --name a --on-failure open",
            "invalid value 'open' for '--on-failure <local:N>': expected local:N with the number of machines, from 1; open is a setting of each program that opens the file",
        ),
        (
            "sync x http://h --name a",
            "\"http://h\" is no address of a store: it cannot be read. Expected redis://[user:password@]host[:port][/database], rediss:// for TLS, redis+cluster://host:port,host:port or unix:/path",
        ),
        (
            "sync x redis://h --name a{b",
            "\"a{b\" is no name of a store: expected 1 to 64 of A-Z a-z 0-9 _ . : -",
        ),
    ] {
        let args: Vec<_> = args.split(' ').collect();
        assert_eq!(ratecell(&args).error(), format!("ratecell: {expected}"), "{args:?}");
    }
}

#[test]
fn a_store_that_does_not_answer_is_an_error_that_names_no_password() {
    let files = Files::new(&[]);
    let file = files.path("leases");
    // A socket that nobody has made.
    let store = format!("redis+unix://{}?user=u&pass=secret", arg(&files.path("socket")));
    let error = ratecell(&["sync", arg(&file), &store, "--name", "a", "--policy", "1/s"]).error();
    assert!(
        error.contains("cannot connect") && error.contains("socket") && !error.contains("secret"),
        "{error}"
    );
    assert!(!file.exists());
}
