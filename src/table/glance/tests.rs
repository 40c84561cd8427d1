use super::*;
use crate::table::{Lookup, WhenFull, spread};
use crate::tests::kernels::kernel;
use ratecell_core::algorithm::{Gcra, Kernel};

fn gcra() -> Gcra {
    match kernel("1/s burst=50") {
        Kernel::Gcra(gcra) => gcra,
        _ => panic!("1/s is another"),
    }
}

fn charge(table: &Table, key: u64, cost: u32) {
    assert!(table.check(&gcra(), spread(key), 0, cost, Lookup::NotYet).is_allowed());
}

/// What a look hands out, and the sum of what it found changed.
fn changes(table: &Table, slots: &mut Slots) -> (usize, Vec<(Option<u64>, u64)>) {
    let (mut found, mut changed) = (0, Vec::new());
    table.look(slots, |Sighting { before, word, .. }| {
        found += 1;
        if before != Some(word) {
            changed.push((before, word));
        }
        found
    });
    (found as usize, changed)
}

#[test]
fn a_look_says_what_has_changed_since_the_one_before() {
    let table = <Table>::alone(64, WhenFull::Deny);
    let mut slots = Slots::default();
    assert_eq!(changes(&table, &mut slots), (0, vec![]));
    for key in 0..100 {
        charge(&table, key, 1);
    }
    let one = table.glance(spread(0)).expect("a word");
    assert_eq!(changes(&table, &mut slots), (100, vec![(Some(0), one); 100]));
    assert_eq!(changes(&table, &mut slots), (100, vec![]));
    charge(&table, 7, 2);
    let three = table.glance(spread(7)).expect("a word");
    assert_eq!(changes(&table, &mut slots), (100, vec![(Some(one), three)]));

    // Another tenure begins with nothing.
    assert!(table.forget(spread(7)));
    charge(&table, 7, 1);
    assert_eq!(changes(&table, &mut slots), (100, vec![(Some(0), one)]));
    // What was there before the first look is not known to have come.
    assert_eq!(changes(&table, &mut Slots::default()), (100, vec![(None, one); 100]));
}

#[test]
fn what_is_known_leads_to_the_keys() {
    let table = <Table>::alone(1_000, WhenFull::Deny);
    let mut slots = Slots::default();
    for key in 0..2_000 {
        charge(&table, key, 1 + key as u32 % 50);
    }
    table.look(&mut slots, |Sighting { word, .. }| word as u32);
    let mut known = 0;
    for key in table.known(&slots) {
        let hash = key.hash();
        assert_eq!((table.glance(hash), key.note), (Some(key.word), key.word as u32));
        assert_eq!(key.low_bits(), hash & ((1 << 40) - 1));
        known += 1;
    }
    assert_eq!((known, table.sampled(), table.runs()), (2_000, (1_000, 1_000), 1));
    assert_eq!(table.glance(spread(2_000)), None);
}

#[test]
fn of_a_large_table_a_part_is_looked_at() {
    let table = <Table>::alone(100_000, WhenFull::Deny);
    let mut slots = Slots::default();
    table.look(&mut slots, |_| 0);
    for key in 0..100_000 {
        charge(&table, key, 1);
    }
    let mut by_run = vec![0; table.runs()];
    table.look(&mut slots, |Sighting { run, .. }| {
        by_run[run] += 1;
        0
    });
    assert_eq!((table.sampled(), by_run.len()), ((32_768, 100_000), 256));
    let found = crate::table::count(100_000, &by_run);
    assert!(found.number.abs_diff(100_000) <= found.error && found.error < 10_000, "{found:?}");
    assert_eq!(table.known(&slots).count(), by_run.iter().sum());
}
