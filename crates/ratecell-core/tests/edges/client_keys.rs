//! The keys of clients.

use std::iter;
use std::net::IpAddr;

use proptest::prelude::*;
use ratecell_core::client_key::{ClientField, Clients, FieldKind, SearchEnd, Trust, Width};

fn trusts(kinds: Vec<FieldKind>) -> impl Strategy<Value = Trust> {
    let kinds = prop::sample::select(kinds);
    (kinds, prop::option::of(1u32..=3)).prop_map(move |(kind, hops)| {
        let hops = if kind == FieldKind::Single { hops.map(|_| 1) } else { hops };
        let networks = hops.is_none().then_some(["10.0.0.0/8", "2001:db8::/32", "unix"]);
        ClientField::new("F", kind).and_then(|field| field.trusting(hops, networks)).expect("a trust")
    })
}

/// Configurations of every form.
fn configurations() -> impl Strategy<Value = Clients> {
    (8u32..=32, 32u32..=128, prop::option::of(trusts(FieldKind::ALL.to_vec())))
        .prop_map(|(v4, v6, trust)| Clients::new(Width::new(v4, v6).expect("widths"), trust))
}

/// Texts that look like the parts of a field, and any bytes.
fn texts() -> impl Strategy<Value = Vec<u8>> {
    let pieces = [
        "10.0.0.1",
        "203.0.113.7",
        "2001:db8::1",
        "2001:db8:1:2:3:4:5:6",
        "::ffff:10.1.2.3",
        "64:ff9b::cb00:7107",
        "unknown",
        "_hidden",
        "for=",
        "For=",
        "by=",
        "\"",
        "\\",
        ";",
        ",",
        ", ",
        " ",
        "\t",
        "[",
        "]",
        ":",
        ":80",
        "%e0",
        "@",
        "unix:",
        "/x",
        "256.1.1.1",
        "fe80::1",
    ];
    let looking = prop::collection::vec(prop::sample::select(pieces.to_vec()), 0..8);
    prop_oneof![
        4 => looking.prop_map(|pieces| pieces.concat().into_bytes()),
        1 => prop::collection::vec(any::<u8>(), 0..400),
    ]
}

fn lines() -> impl Strategy<Value = Vec<Vec<u8>>> {
    prop::collection::vec(texts(), 0..5)
}

fn named(lines: &[Vec<u8>]) -> Vec<(&str, &[u8])> {
    lines.iter().map(|line| ("f", &**line)).collect()
}

/// Lines of a field of that kind, such as proxies add them: a search of at most three hops ends at a client.
fn good_lines(kind: FieldKind) -> impl Strategy<Value = Vec<Vec<u8>>> {
    let plain =
        ["10.0.0.1", "203.0.113.7:80", "[2001:db8::1]", "2001:db8:1:2:3:4:5:6", " ::ffff:10.1.2.3\t", ""];
    let forwarded = [
        "for=10.0.0.1",
        "by=x;for=203.0.113.7",
        "for=\"[2001:db8::1]:80\";a=\",\\\"\"",
        "b=\"\\\\\" ; for=10.2.3.4",
        " FOR=\"\\1.2.3.4\"",
        "",
    ];
    let elements = if kind == FieldKind::Forwarded { forwarded } else { plain };
    let client = if kind == FieldKind::Forwarded { "for=198.51.100.1" } else { "198.51.100.1" };
    let clients = [client; 3].join(",").into_bytes();
    let element = prop::sample::select(elements.to_vec());
    let others = prop::collection::vec(prop::collection::vec(element, 1..4), 0..3);
    others.prop_map(move |lines| {
        let lines = lines.into_iter().map(|elements| elements.join(",").into_bytes());
        iter::once(clients.clone()).chain(lines).collect()
    })
}

proptest! {
    /// Any bytes have a key, and it is an address with its width, `unix` or `unknown`.
    #[test]
    fn there_is_always_a_key(clients in configurations(), peer in texts(), lines in lines()) {
        let key = clients.key(&*peer, named(&lines));
        prop_assert!((4..=43).contains(&key.as_str().len()));
        let (address, width) = key.as_str().split_once('/').unwrap_or((key.as_str(), "128"));
        prop_assert!(
            ["unix", "unknown"].contains(&key.as_str())
                || address.parse::<IpAddr>().is_ok() && width.parse::<u8>().is_ok_and(|width| width <= 128)
        );
    }

    /// The address in a key, as a peer, has the same key.
    #[test]
    fn a_key_is_its_own_clients(v4 in 8u32..=32, v6 in 32u32..=128, bits: u128, is_v4: bool) {
        let clients = Clients::new(Width::new(v4, v6).expect("widths"), None);
        let peer = if is_v4 { IpAddr::from((bits as u32).to_be_bytes()) } else { IpAddr::from(bits.to_be_bytes()) };
        let none: [(&str, &str); 0] = [];
        let key = clients.key(peer, none);
        prop_assert_eq!(clients.key(&*peer.to_string(), none), key);
        let address = key.as_str().split_once('/').map_or(key.as_str(), |(address, _)| address);
        prop_assert_eq!(clients.key(address, none), key);
    }

    /// What is written to the left of the elements that end a search at a client changes nothing.
    #[test]
    fn the_left_changes_nothing(
        (trust, lines) in prop::sample::select(vec![FieldKind::List, FieldKind::Forwarded])
            .prop_flat_map(|kind| (trusts(vec![kind]), good_lines(kind))),
        peer in prop::sample::select(vec!["10.9.9.9", "unix:"]), left in texts(), is_joined: bool,
    ) {
        let clients = Clients::new(Width::default(), Some(trust));
        let found = clients.search(peer, named(&lines));
        prop_assert_eq!(found.1, SearchEnd::Client);
        let mut longer = lines;
        if is_joined {
            longer[0] = [&*left, &*longer[0]].join(&b',');
        } else {
            longer.insert(0, left);
        }
        prop_assert_eq!(clients.search(peer, named(&longer)), found);
    }

    /// Outside of strings, a comma between two elements is as good as two lines.
    #[test]
    fn lines_may_be_joined(
        clients in configurations(), peer in texts(), lines in prop::collection::vec(texts(), 2..5),
    ) {
        // An element's white space counts, a line's does not: short ones are not too long either way.
        let plain = |line: Vec<u8>| line.into_iter().filter(|byte| *byte != b'"').take(200).collect();
        let lines: Vec<Vec<u8>> = lines.into_iter().map(plain).collect();
        let joined = [lines.join(&b',')];
        prop_assert_eq!(clients.search(&*peer, named(&joined)), clients.search(&*peer, named(&lines)));
    }

    /// A field of another name is never looked at.
    #[test]
    fn other_fields_are_passed_over(clients in configurations(), peer in texts(), lines in lines(), other in lines()) {
        let mixed: Vec<_> = named(&lines).into_iter().chain(other.iter().map(|line| ("g", &**line))).collect();
        prop_assert_eq!(clients.search(&*peer, mixed), clients.search(&*peer, named(&lines)));
    }
}

#[test]
fn an_error_names_what_was_wrong() {
    let field = |kind| ClientField::new("X-Forwarded-For", kind).expect("a field");
    let none = None::<[&str; 0]>;
    let errors = [
        (Width::new(7, 64).err(), "bad_width: the width of IPv4 is 7: expected 8 to 32"),
        (
            ClientField::new("X Forwarded", FieldKind::List).err(),
            "bad_field: the field is `X Forwarded`: expected a token of 1 to 128 characters",
        ),
        (
            "List".parse::<FieldKind>().err(),
            "bad_field: the kind is `List`: expected list, forwarded or single",
        ),
        (field(FieldKind::List).hops(17).err(), "bad_hops: 17 hops of a list field: expected 1 to 16"),
        (field(FieldKind::Single).hops(2).err(), "bad_hops: 2 hops of a single field: expected 1 to 1"),
        (
            field(FieldKind::List).trusting(None, none).err(),
            "bad_trust: neither hops nor networks are given: expected one of them",
        ),
        (
            field(FieldKind::List).networks(["10.0.0.1/8"]).err(),
            "bad_network: the network `10.0.0.1/8` has bits beyond its length: expected the network's first address",
        ),
        (
            field(FieldKind::List).networks(["10.0.0.0/08"]).err(),
            "bad_network: the network `10.0.0.0/08` has no length: expected 0 to 32 behind the `/`",
        ),
        (
            field(FieldKind::List).networks(["::ffff:10.0.0.0/104"]).err(),
            "bad_network: the network `::ffff:10.0.0.0/104` would never match, its addresses are compared as IPv4: \
             expected it as IPv4",
        ),
        (field(FieldKind::List).networks([""; 0]).err(), "bad_network: none: expected 1 to 256 networks"),
    ];
    for (error, message) in errors {
        assert_eq!(error.expect(message).to_string(), message);
    }
}
