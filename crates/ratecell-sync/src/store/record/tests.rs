use super::*;

const GCRA: WordLayout = WordLayout { word: *b"gcra    ", unit: 3, grain: 9, count_bits: 0 };
const FIXED: WordLayout = WordLayout { word: *b"fixed   ", unit: 60_000_000_000, grain: 0, count_bits: 20 };

fn terms(policy: &str) -> Terms {
    Terms { layouts: vec![GCRA, FIXED], reach: vec![10, 20], policy: policy.to_owned(), version: 4 }
}

fn record() -> Record {
    let record = terms("100/s").begin(1_800_000_000_123_456, [5, 6]).expect("a record");
    Record { generation: 258, at: 77, swept: 257, ..record }
}

#[test]
fn the_epoch_is_the_monday_before() {
    // 2024-01-01 was a Monday.
    let monday = 1_704_067_200;
    for (now, expected) in [(monday, monday), (monday + WEEK - 1, monday), (monday + WEEK, monday + WEEK)] {
        let record = terms("1/s").begin(now * 1_000_000 + 999_999, [0; 2]).expect("a record");
        assert_eq!(record.epoch_ns, expected * 1_000_000_000);
        assert_eq!((record.generation, record.at, record.swept, record.version), (0, 1, 0, 4));
    }
    let error = terms("1/s").begin(9_000_000, [0; 2]).expect_err("no clock");
    assert!(error.to_string().contains("second 9 of 1970"), "{error}");
}

#[test]
fn a_record_is_read_as_it_was_written() {
    let record = record();
    let bytes = record.bytes();
    assert_eq!(Record::parse(&bytes, "store"), Ok(record.clone()));
    assert_eq!(Head::parse(&bytes[HEAD]), Some(Head { generation: 258, at: 77, secret: [5, 6] }));
    assert_eq!(Head::parse(&bytes[HEAD.start..HEAD.end - 1]), None);
}

#[test]
fn the_bytes_of_a_record_are_fixed() {
    let record = Record { layouts: vec![GCRA], policy: "1/s".to_owned(), reach: vec![10], ..record() };
    let numbers = |of: &[u64]| numbers(of).collect::<Vec<_>>();
    let head = numbers(&[2, 258, 77, 5, 6, record.epoch_ns, 4, 257, 1]);
    let (layout, policy) = (numbers(&[3, 9, 0]), numbers(&[1, 258, 77, 10, 3]));
    let expected = [b"ratecell".as_slice(), &head, b"gcra    ", &layout, &policy, b"1/s"].concat();
    assert_eq!(record.bytes(), expected);
}

#[test]
fn no_damaged_record_is_read() {
    let bytes = record().bytes();
    for length in 0..bytes.len() {
        let error = Record::parse(&bytes[..length], "store").expect_err("cut");
        assert_eq!(error.kind(), StoreErrorKind::Mismatch, "{length}");
    }
    assert!(Record::parse(&[bytes.as_slice(), &[0]].concat(), "store").is_err());
    let changed = |at: usize| {
        let mut bytes = bytes.clone();
        bytes[at] ^= 1;
        Record::parse(&bytes, "redis://host").expect_err("changed").to_string()
    };
    assert_eq!(changed(0), "the record of redis://host was not written by ratecell");
    assert_eq!(changed(15), "the record of redis://host has format 3: expected 2");
    assert!(changed(23).contains("damaged"), "a head that is not the last policy's: {}", changed(23));
    assert!(changed(55).contains("Monday"), "{}", changed(55));
}

#[test]
fn of_several_policies_the_last_is_in_force() {
    let stated = |generation, at| Stated { generation, at, reach: vec![9, 30], policy: "10/m".to_owned() };
    let record = Record { earlier: vec![stated(256, 60), stated(257, 70)], ..record() };
    assert_eq!(Record::parse(&record.bytes(), "store"), Ok(record.clone()));
    // Values are carried through each generation, from an instant that is known.
    for earlier in [vec![stated(255, 60), stated(257, 70)], vec![stated(257, 0)], vec![stated(258, 70)]] {
        let broken = Record { earlier, ..record.clone() };
        assert!(Record::parse(&broken.bytes(), "store").is_err(), "{broken:?}");
    }
    let five = Record { earlier: (254..258).map(|number| stated(number, 1)).collect(), ..record };
    assert!(Record::parse(&five.bytes(), "store").is_err(), "more than a value can be of");
}

#[test]
fn only_words_that_mean_the_same_are_shared() {
    let record = record();
    assert_eq!(terms("100/s").compare(&record, "store"), Ok(Vec::new()));
    let warnings = terms("200/s").compare(&record, "store").expect("other rates");
    assert!(
        warnings[0].contains("\"100/s\" of version 4, which holds: \"200/s\" of version 4 does not"),
        "{warnings:?}"
    );
    let other = Terms { layouts: vec![FIXED], ..terms("60/m") };
    let error = other.compare(&record, "redis://host").expect_err("another layout");
    assert_eq!(error.kind(), StoreErrorKind::Mismatch);
    for part in ["redis://host", "\"100/s\"", "\"60/m\"", "gcra (unit 3", "fixed (unit 60000000000"] {
        assert!(error.to_string().contains(part), "{part}: {error}");
    }
    assert!(Terms { layouts: Vec::new(), ..terms("") }.check().is_err());
    assert!(Terms { layouts: vec![GCRA; 9], ..terms("") }.check().is_err());
}
