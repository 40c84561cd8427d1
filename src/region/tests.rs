//! A region with a board, and on which terms it is attached to.

use super::*;
use crate::board::{Board, State};
use ratecell_core::Policy;
use ratecell_core::algorithm::{Algorithm, LayoutChoice, Plan};
use ratecell_core::with_kernel;

const SECRET: [u64; 2] = [3, 4];

pub(super) fn terms(store: Option<(&str, [u64; 2])>) -> Terms {
    terms_of("10/s", store)
}

fn terms_of(policy: &str, store: Option<(&str, [u64; 2])>) -> Terms {
    let policy: Policy = policy.parse().expect("a policy");
    let wide = policy.repacked(|_| LayoutChoice::WIDE).expect("a policy");
    let packings = wide.layers().iter().map(|layer| match layer.plan() {
        Plan::Word(kernel) => with_kernel!(&kernel, algorithm => algorithm.packing()),
        Plan::Log(_) => unreachable!("a policy of words"),
    });
    let board =
        store.map(|(name, secret)| BoardTerms { name: name.to_owned(), secret: Secret::of_words(secret) });
    Terms {
        packings: packings.collect(),
        policy: policy.to_string(),
        reach: policy.layers().iter().map(|layer| layer.capacity() as u32).collect(),
        max_keys: Some(100),
        when_full: None,
        reservations: false,
        numbers: None,
        names: false,
        board,
    }
}

/// A region of these terms, in memory that is as long as it has to be and holds anything.
fn made(terms: Terms) -> (Memory, Header) {
    let memory = Memory::private(size(&terms).expect("a size")).expect("memory");
    store(&memory, 0, &vec![u64::MAX; memory.len() / 8]).expect("room");
    let header = init(&memory, terms).expect("a region");
    (memory, header)
}

fn found(memory: &Memory) -> Header {
    attach(memory, Medium::Memory).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_board_is_where_it_was_made() {
    let (memory, header) = made(terms(Some(("api", SECRET))));
    let (at, name) = header.board.expect("a board");
    assert_eq!((at % 128, at + Board::BYTES, name.as_str()), (0, memory.len(), "api"));
    let header = found(&memory);
    assert_eq!((header.board.as_ref(), header.secret.words()), (Some(&(at, name)), SECRET));
    let board = || Board::in_memory(&memory, at).expect("a processor").expect("room");
    assert_eq!((board().name().as_deref(), board().state()), (Some("api"), State::NoAgent));
    assert!(board().post(7, 3));
    let mut taken = Vec::new();
    board().take(|h, units| taken.push((h, units)));
    assert_eq!(taken, [(7, 3)]);
}

#[test]
fn a_region_without_a_store_is_as_it_was() {
    let (memory, header) = made(terms(None));
    assert_eq!((header.board, header.directory.board_at), (None, None));
    assert_eq!(found(&memory).board, None);
    let with = size(&terms(Some(("api", SECRET)))).expect("a size");
    assert_eq!(with, memory.len().next_multiple_of(128) + Board::BYTES);
    assert_eq!(Some(memory.len()), bytes(&terms(None), header.directory.buckets()));
    // Where as many keys as fit are asked for, the board takes its part of the memory.
    let (mut few, mut more) = (terms(Some(("api", SECRET))), terms(None));
    (few.max_keys, more.max_keys) = (None, None);
    let memory = Memory::private(100_000).expect("memory");
    let [few, more] =
        [few, more].map(|terms| init(&memory, terms).expect("a region").directory.buckets() * 128);
    assert!((Board::BYTES..Board::BYTES + 256).contains(&(more - few)), "{few} {more}");
}

#[test]
fn a_region_of_another_store_is_refused() {
    let with = made(terms(Some(("api", SECRET)))).1;
    let without = made(terms(None)).1;
    let refused = |header: &Header, store| match header.agrees(&terms(store)) {
        Err(BuildError::Region(error @ RegionError::Differs { field: RegionField::Store, .. })) => {
            Some(error.to_string())
        }
        Err(error) => panic!("{error}"),
        Ok(()) => None,
    };
    for store in [None, Some(("api", SECRET))] {
        assert_eq!(refused(&with, store), None);
    }
    assert_eq!(refused(&without, None), None);
    for (header, store, sentence) in [
        (&without, ("api", SECRET), "the region's store: none; expected api"),
        (&with, ("web", SECRET), "the region's store: api; expected web"),
        (&with, ("api", [3, 5]), "the region's store: api, with another secret; expected the secret of api"),
    ] {
        assert_eq!(refused(header, Some(store)).as_deref(), Some(sentence));
    }
}

#[test]
fn other_rules_of_a_zone_are_seen() {
    for (policy, has_calendar) in [
        ("10/s", false),
        ("calendar_window 9/day tz=UTC", true),
        ("5/s & calendar_window 9/week tz=+01:00", true),
    ] {
        let (memory, header) = made(terms_of(policy, None));
        assert_eq!((header.zone_rules != 0, found(&memory).zone_rules), (has_calendar, header.zone_rules));
        assert!(!found(&memory).has_other_zone_rules(), "{policy}");
        let at = header.directory.policy_at + 80;
        let other = if has_calendar { header.zone_rules ^ 1 } else { 0 };
        store(&memory, at, &[other]).expect("room");
        assert_eq!(found(&memory).has_other_zone_rules(), has_calendar, "{policy}");
        store(&memory, at, &[0]).expect("room");
        assert!(!found(&memory).has_other_zone_rules(), "{policy}");
    }
}

#[test]
fn a_name_that_no_store_has_is_refused() {
    let memory = Memory::private(1 << 20).expect("memory");
    let error = init(&memory, terms(Some(("a\nb", SECRET)))).err().expect("a name in two lines").to_string();
    assert!(error.contains(r#"board: the store's name "a\nb"; expected 1 to 120 characters"#), "{error}");
    let (memory, header) = made(terms(Some(("api", SECRET))));
    let (at, _) = header.board.expect("a board");
    for damage in [0, 121, u64::MAX] {
        store(&memory, at + Board::BYTES - 128, &[damage]).expect("room");
        let error = attach(&memory, Medium::Memory).err().expect("no name").to_string();
        assert!(error.contains("the region's section board: no name of a store"), "{error}");
    }
}
