//! The keys of clients.

use std::iter;
use std::net::IpAddr;

use proptest::prelude::*;
use ratecell_core::client_key::{ClientField, Clients, ClientsError, FieldKind, SearchEnd, Trust, Width};
use serde_json::{Value, json};

use crate::replay::{Row, array, assert_spoiled, number, optional, replay_file, string};

const REQUESTS: &str = include_str!("../../../../vectors/edges/client_keys.jsonl");
const ADDRESSES: &str = include_str!("../../../../vectors/edges/client_keys_addresses.jsonl");
const CONSTRUCT: &str = include_str!("../../../../vectors/edges/client_keys_construct.jsonl");
const RFC_5952: &str = include_str!("../../../../vectors/edges/rfc5952.jsonl");
const RFC_7239: &str = include_str!("../../../../vectors/edges/rfc7239.jsonl");

/// A character of a value is one byte; a text with others is taken as UTF-8.
fn bytes(text: &Value) -> Vec<u8> {
    let text = string(text);
    let bytes: Option<Vec<_>> = text.chars().map(|character| u8::try_from(character).ok()).collect();
    bytes.unwrap_or_else(|| text.into())
}

fn small(value: &Value) -> u32 {
    u32::try_from(number(value)).expect("a u32")
}

fn clients(configuration: &Value) -> Result<Clients, ClientsError> {
    let width = &configuration["width"];
    let width = Width::new(small(&width["v4"]), small(&width["v6"]))?;
    Ok(Clients::new(width, trust(&configuration["trust"])?))
}

fn trust(trust: &Value) -> Result<Option<Trust>, ClientsError> {
    if trust.is_null() {
        return Ok(None);
    }
    let text = |part: &str| trust[part].as_str().unwrap_or_default().to_owned();
    let kind = text("kind").parse()?;
    let hops = optional(&trust["hops"]).map(|hops| u32::try_from(hops).expect("a u32"));
    let networks = trust["networks"].as_array().map(|networks| networks.iter().map(string));
    ClientField::new(text("field"), kind)?.trusting(hops, networks).map(Some)
}

fn requests() -> impl FnMut(&Value) -> Row {
    let mut section = Clients::default();
    move |row| {
        if row.is_object() {
            section = clients(row).expect("a section's configuration");
            return Row::Section;
        }
        let lines: Vec<_> = array(&row[1]).iter().map(|line| (bytes(&line[0]), bytes(&line[1]))).collect();
        let (key, end) = section.search(&*bytes(&row[0]), lines);
        Row::Compared { computed: json!([key.as_str(), end.name()]), expected: json!([row[2], row[3]]) }
    }
}

fn addresses(row: &Value) -> Row {
    let read = |v6| {
        let clients = Clients::new(Width::new(32, v6).expect("a width"), None);
        let none: [(&str, &str); 0] = [];
        let key = clients.key(&*bytes(&row[0]), none).to_string();
        // A peer that is no address has a key, too.
        (!["unix", "unknown"].contains(&&*key)).then_some(key)
    };
    let computed = json!([read(128), read(64)]);
    Row::Compared { computed, expected: json!([row[1], row[2]]) }
}

fn construct(row: &Value) -> Row {
    let error = clients(row).err().map(|error| error.kind().code());
    Row::Compared { computed: json!(error), expected: row["error"].clone() }
}

#[test]
fn requests_as_published() {
    replay_file("client_keys.jsonl", REQUESTS, "client_keys", 5125, requests());
    replay_file("rfc7239.jsonl", RFC_7239, "client_keys", 33, requests());
}

#[test]
fn addresses_as_published() {
    let kind = "client_keys_addresses";
    replay_file("client_keys_addresses.jsonl", ADDRESSES, kind, 5000, addresses);
    replay_file("rfc5952.jsonl", RFC_5952, kind, 37, addresses);
}

#[test]
fn configurations_as_published() {
    replay_file("client_keys_construct.jsonl", CONSTRUCT, "client_keys_construct", 189, construct);
}

#[test]
fn a_changed_figure_fails() {
    let figures = [
        (r#"["@",[],"unix","end"]"#, r#"["@",[],"unknown","end"]"#),
        (r#"["@",[],"unix","end"]"#, r#"["@",[],"unix","short"]"#),
        (r#"["203.0.113.7",[],"203.0.113.7","end"]"#, r#"["203.0.113.7",[],"203.0.113.8","end"]"#),
    ];
    assert_spoiled(REQUESTS, "client_keys", &figures, || Box::new(requests()));
    let figures = [(r#"["127.1",null,null]"#, r#"["127.1","127.0.0.1",null]"#)];
    assert_spoiled(ADDRESSES, "client_keys_addresses", &figures, || Box::new(addresses));
    let figures = [(r#""v6":129},"error":"bad_width""#, r#""v6":129},"error":null"#)];
    assert_spoiled(CONSTRUCT, "client_keys_construct", &figures, || Box::new(construct));
}

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
