//! Each refusal of a directory, with its sentence.

use super::*;

/// What docs/DESIGN.md and the module's own table say of the layout.
#[test]
fn the_documents_have_the_numbers_of_the_code() {
    let design = include_str!("../../../docs/DESIGN.md");
    let chapter =
        design.split("## Regions\n").nth(1).and_then(|rest| rest.split("\n## ").next()).expect("a chapter");
    let grouped = |number: usize| format!("{},{:03}", number / 1_000, number % 1_000);
    let whole =
        |number: usize| format!("{},{:03},{:03}", number / 1_000_000, number / 1_000 % 1_000, number % 1_000);
    let entry = ENTRY_WORDS * size_of::<u64>();
    for row in [
        format!("| header | {} |", crate::region::header::BYTES),
        format!("| directory | {ENTRIES} entries of {entry} |"),
        format!("| packings | {} a layer |", packings::BYTES),
        format!("| policy | {} |", grouped(policy::BYTES)),
        format!("| table, one a layer | {} a bucket |", <Table>::BUCKET_BYTES),
        format!("| counters, one a layer | {COUNTER_LINE} a line |"),
        format!("| board | {} |", grouped(Board::BYTES)),
        format!("| numbers | {} |", whole(numbers::BYTES)),
        format!("of form {}", Kind::Table.form(true)),
        format!("| names | {} a line |", Names::LINE),
        format!("at a multiple of {ALIGNMENT} bytes"),
        format!("a text of at most {}", grouped(policy::MAX_TEXT)),
    ] {
        assert!(chapter.contains(&row), "docs/DESIGN.md: expected {row}");
    }
    let listed: Vec<_> = chapter.lines().skip_while(|line| !line.starts_with("| kind |")).skip(2).collect();
    let rows = Kind::ALL.map(|kind| format!("| {} | {} | {} |", kind as u64, kind.name(), kind.form(false)));
    assert_eq!(listed[..rows.len()], rows);
    assert_eq!(listed[rows.len()], "");
    let module = include_str!("../../region.rs");
    let (header, sections) = (crate::region::header::BYTES, grouped(SECTIONS_AT));
    for row in [
        format!("| 0 to {} |", header - 1),
        format!("| {header} to {} |", grouped(SECTIONS_AT - 1)),
        format!("| {sections} on |"),
    ] {
        assert!(module.contains(&row), "src/region.rs: expected {row}");
    }
}

/// The longest text that a policy prints has room.
#[test]
fn every_policy_has_room_for_its_text() {
    let (units, most) = (u32::MAX, "4611686018427387903ns");
    let layer = format!(
        "token_bucket {units}/{most} capacity={units} mode=interval_first heal={most} horizon={most}"
    );
    let longest = [layer.as_str(); MAX_LAYERS].join(" & ");
    assert!(longest.len() <= policy::MAX_TEXT, "{} bytes", longest.len());
}

/// Of so many layers that count nothing that is given back.
fn sections(layers: usize, board: bool) -> Sections {
    Sections { counts_given: vec![false; layers], board, numbers: false, names: false }
}

/// Names at the end, as section 6 of two layers.
#[test]
fn whatever_is_wrong_with_names_is_said() {
    let made = Directory::new(&Sections { names: true, ..sections(2, false) }, 100).expect("a directory");
    let at = made.names_at.expect("names") as u64;
    assert_eq!(made.words()[6 * ENTRY_WORDS..][..ENTRY_WORDS], [8, 1, at, 262_144]);
    assert_eq!((made.bytes as u64, Names::BYTES), (at + 262_144, 262_144));
    assert_eq!(Directory::of_words(&made.words(), made.bytes), Ok(made.clone()));
    let without = Directory::new(&sections(2, false), 100).expect("a directory");
    assert_eq!((without.names_at, without.bytes.next_multiple_of(ALIGNMENT) as u64), (None, at));
    for (change, value, sentence) in [
        (0, 8 | 1 << 32, "section 6 (names): of layer 1; expected one below 1".to_owned()),
        (1, 2, layout(1, "section 6 (names) of form 2")),
        (2, at - 128, "section 6 (names): in section 5; expected bytes of its own".into()),
        (3, 262_080, "section 6 (names): 262080 bytes; expected 262144".into()),
        (3, 262_100, "section 6 (names): 262100 bytes; expected a multiple of 64".into()),
    ] {
        let mut words = made.words();
        words[6 * ENTRY_WORDS + change] = value;
        let error = Directory::of_words(&words, made.bytes).expect_err("names").to_string();
        assert!(error.contains(&sentence), "{error}; expected {sentence}");
    }
}

/// Layer 1 of two counts what is given back: section 6, of 100 buckets.
#[test]
fn whatever_is_wrong_with_totals_is_said() {
    let sections = Sections { counts_given: vec![false, true], ..sections(0, false) };
    let made = Directory::new(&sections, 100).expect("a directory");
    let at = made.tables[1].given_at.expect("totals") as u64;
    assert_eq!(made.words()[6 * ENTRY_WORDS..][..ENTRY_WORDS], [6 | 1 << 32, 1, at, 800]);
    assert_eq!((made.tables[0].given_at, made.bytes as u64), (None, at + 896));
    assert_eq!(Directory::of_words(&made.words(), made.bytes), Ok(made.clone()));
    for (change, value, sentence) in [
        (0, 6 | 2 << 32, "section 6 (given): of layer 2; expected one below 2".to_owned()),
        (1, 2, layout(1, "section 6 (given) of form 2")),
        (2, at - 128, "section 6 (given): in section 5; expected bytes of its own".into()),
        (3, 792, "section 6 (given): 792 bytes; expected 800".into()),
        (3, 796, "section 6 (given): 796 bytes; expected a multiple of 8".into()),
    ] {
        let mut words = made.words();
        words[6 * ENTRY_WORDS + change] = value;
        let error = Directory::of_words(&words, made.bytes).expect_err("totals").to_string();
        assert!(error.contains(&sentence), "{error}; expected {sentence}");
    }
}

/// A board at the end, as section 6 of two layers of 100 buckets.
#[test]
fn whatever_is_wrong_with_a_board_is_said() {
    let made = Directory::new(&sections(2, true), 100).expect("a directory");
    let at = made.board_at.expect("a board") as u64;
    assert_eq!(made.words()[6 * ENTRY_WORDS..][..ENTRY_WORDS], [5, 1, at, Board::BYTES as u64]);
    let changed = |changes: &[(usize, u64)]| {
        let mut words = made.words();
        for (word, value) in changes {
            words[6 * ENTRY_WORDS + word] = *value;
        }
        Directory::of_words(&words, made.bytes).expect_err("a board").to_string()
    };
    for (changes, sentence) in [
        (vec![(0, 5 | 1 << 32)], "section 6 (board): of layer 1; expected one below 1".to_owned()),
        (vec![(1, 2)], layout(1, "section 6 (board) of form 2")),
        (vec![(2, at - 128)], "section 6 (board): in section 5; expected bytes of its own".into()),
        (vec![(2, at + 128)], format!("section 6 (board): 16960 bytes from byte {} on", at + 128)),
        (vec![(3, 16_959)], "section 6 (board): 16959 bytes; expected a multiple of 16960".into()),
        (
            vec![(4, 5), (5, 1), (6, at + 128), (7, 64), (3, 64)],
            "section 7 (board): there already, as section 6; expected one".into(),
        ),
    ] {
        let error = changed(&changes);
        assert!(error.contains(&sentence), "{error}; expected {sentence}");
    }
    // Two boards long.
    let mut words = made.words();
    words[6 * ENTRY_WORDS + 3] = 2 * Board::BYTES as u64;
    let error = Directory::of_words(&words, made.bytes + Board::BYTES).expect_err("two boards").to_string();
    assert!(error.contains("section 6 (board): 33920 bytes; expected 16960"), "{error}");
}

/// The numbers before the table of 100 buckets, as section 2.
#[test]
fn whatever_is_wrong_with_numbers_is_said() {
    let made = Directory::new(&Sections::of_several_policies(false), 100).expect("a directory");
    let at = made.numbers_at.expect("numbers") as u64;
    let length = numbers::BYTES as u64;
    assert_eq!(made.words()[2 * ENTRY_WORDS..][..ENTRY_WORDS], [7, 1, at, length]);
    assert!(made.tables[0].given_at.is_some());
    assert_eq!(Directory::of_words(&made.words(), made.bytes), Ok(made.clone()));
    for (change, value, sentence) in [
        (8, 7 | 1 << 32, "section 2 (numbers): of layer 1; expected one below 1".to_owned()),
        (9, 2, layout(1, "section 2 (numbers) of form 2")),
        (10, at - 128, "section 2 (numbers): in section 1; expected bytes of its own".into()),
        (
            11,
            length - 1,
            format!("section 2 (numbers): {} bytes; expected a multiple of {length}", length - 1),
        ),
        // A table of several policies, and one of one, are not taken for each other.
        (13, 3, layout(4, "section 3 (table) of form 3")),
        (8, 70, layout(3, "section 3 (table) of form 4")),
        (3, 128, "section 0 (packings): 2 layers; expected 1 to 1".into()),
    ] {
        let mut words = made.words();
        words[change] = value;
        let error = Directory::of_words(&words, made.bytes).expect_err("numbers").to_string();
        assert!(error.contains(&sentence), "{error}; expected {sentence}");
    }
}

/// Two layers of 100 buckets: sections 0 packings, 1 policy, 2 and 4 tables, 3 and 5 their counters.
fn directory() -> Directory {
    Directory::new(&sections(2, false), 100).expect("a directory")
}

fn layout(form: u64, held: &str) -> String {
    let (held, asked) = (held.to_owned(), format!("form {form}"));
    RegionError::Differs { field: RegionField::Layout, held, asked }.to_string()
}

#[test]
fn a_directory_is_read_as_it_was_written() {
    for layers in 1..=MAX_LAYERS {
        for buckets in [1, 2, 7, 4_096, 1 << 40] {
            for board in [false, true] {
                let made = Directory::new(&sections(layers, board), buckets).expect("a directory");
                assert_eq!(Directory::of_words(&made.words(), made.bytes), Ok(made.clone()));
                assert_eq!((made.layers(), made.buckets()), (layers, buckets));
                assert_eq!(made.board_at.is_some(), board);
            }
        }
    }
    assert_eq!(Directory::new(&sections(8, false), usize::MAX / 128), None);
}

/// An entry's number, the number of a word in it, and what stands there.
type Change = (usize, usize, u64);

/// Each field of each kind of section, and each sentence.
#[test]
fn whatever_is_wrong_with_a_section_is_said() {
    const KIND: usize = 0;
    const FORM: usize = 1;
    const OFFSET: usize = 2;
    const LENGTH: usize = 3;
    let made = directory();
    let (bytes, policy_at) = (made.bytes as u64, made.policy_at as u64);
    let table_at = made.tables[0].buckets_at as u64;
    let within = format!("expected within bytes 2560 to {bytes}");
    let cases: Vec<(&str, Vec<Change>, String)> = vec![
        (
            "no kind",
            vec![(0, KIND, 0)],
            "section 0 (a kind that is not known): no kind; expected one, or zeros".into(),
        ),
        (
            "no kind of a layer",
            vec![(5, KIND, 1 << 32)],
            "section 5 (a kind that is not known): no kind".into(),
        ),
        ("packings gone", vec![(0, KIND, 99)], "section packings: not there; expected one".into()),
        ("policy gone", vec![(1, KIND, 99)], "section policy: not there; expected one".into()),
        ("a table gone", vec![(4, KIND, 99)], "section table: not there of layer 1, counted from 0".into()),
        ("counters gone", vec![(3, KIND, 99)], "section counters: not there of layer 0".into()),
        ("packings twice", vec![(1, KIND, 1)], "section 1 (packings): there already, as section 0".into()),
        ("a policy twice", vec![(2, KIND, 2)], "section 2 (policy): there already, as section 1".into()),
        ("a table twice", vec![(4, KIND, 3)], "section 4 (table): there already, as section 2".into()),
        ("counters twice", vec![(5, KIND, 4)], "section 5 (counters): there already, as section 3".into()),
        (
            "a table of no layer",
            vec![
                (6, KIND, 3 | 2 << 32),
                (6, FORM, 1),
                (6, OFFSET, bytes - 128),
                (6, LENGTH, 128),
                (5, KIND, 99),
                (5, LENGTH, 1),
            ],
            "section 6 (table): of layer 2; expected one below 2, counted from 0".into(),
        ),
        (
            "a policy of a layer",
            vec![
                (6, KIND, 2 | 1 << 32),
                (6, FORM, 1),
                (6, OFFSET, bytes - 128),
                (6, LENGTH, 128),
                (5, LENGTH, 1),
            ],
            "section 6 (policy): of layer 1; expected one below 1, counted from 0".into(),
        ),
        ("packings of a form", vec![(0, FORM, 2)], layout(1, "section 0 (packings) of form 2")),
        ("a policy of a form", vec![(1, FORM, 0)], layout(1, "section 1 (policy) of form 0")),
        ("a table of a form", vec![(2, FORM, 2)], layout(3, "section 2 (table) of form 2")),
        (
            "counters of a form",
            vec![(5, FORM, u64::MAX)],
            layout(1, &format!("section 5 (counters) of form {}", u64::MAX)),
        ),
        (
            "in the header",
            vec![(0, OFFSET, 0)],
            format!("section 0 (packings): 128 bytes from byte 0 on; {within}"),
        ),
        (
            "in the directory",
            vec![(0, OFFSET, 2_432)],
            format!("section 0 (packings): 128 bytes from byte 2432 on; {within}"),
        ),
        (
            "beyond the end",
            vec![(5, LENGTH, 513)],
            format!("section 5 (counters): 513 bytes from byte {} on; {within}", bytes - 512),
        ),
        (
            "at the end",
            vec![(5, OFFSET, bytes)],
            format!("section 5 (counters): 512 bytes from byte {bytes} on; {within}"),
        ),
        (
            "beyond all memory",
            vec![(2, LENGTH, u64::MAX)],
            format!("section 2 (table): {} bytes from", u64::MAX),
        ),
        (
            "around",
            vec![(2, OFFSET, u64::MAX - 127), (2, LENGTH, 4_096)],
            format!("from byte {} on", u64::MAX - 127),
        ),
        (
            "of no length",
            vec![(3, LENGTH, 0)],
            "section 3 (counters): no bytes; expected at least one".into(),
        ),
        (
            "not aligned",
            vec![(2, OFFSET, table_at + 64), (2, LENGTH, 128)],
            format!("section 2 (table): at byte {}; expected a multiple of 128", table_at + 64),
        ),
        (
            "not aligned for a word",
            vec![(2, OFFSET, table_at + 1), (2, LENGTH, 128)],
            format!("section 2 (table): at byte {}; expected a multiple of 128", table_at + 1),
        ),
        (
            "in another",
            vec![(2, OFFSET, policy_at)],
            "section 2 (table): in section 1; expected bytes of its own".into(),
        ),
        (
            "around another",
            vec![(1, LENGTH, bytes - policy_at)],
            "section 2 (table): in section 1; expected bytes of its own".into(),
        ),
        (
            "unknown, in another",
            vec![(6, KIND, 99), (6, OFFSET, table_at), (6, LENGTH, 1)],
            "in section".into(),
        ),
        (
            "unknown, outside",
            vec![(6, KIND, 99), (6, OFFSET, bytes), (6, LENGTH, 1)],
            "section 6 (a kind that is not known): 1 bytes from".into(),
        ),
        (
            "no whole layer",
            vec![(0, LENGTH, 127)],
            "section 0 (packings): 127 bytes; expected a multiple of 64".into(),
        ),
        (
            "half a policy",
            vec![(1, LENGTH, 4_160)],
            "section 1 (policy): 4160 bytes; expected a multiple of 8320".into(),
        ),
        (
            "no whole bucket",
            vec![(2, LENGTH, 100)],
            "section 2 (table): 100 bytes; expected a multiple of 128".into(),
        ),
        (
            "no whole line",
            vec![(3, LENGTH, 65)],
            "section 3 (counters): 65 bytes; expected a multiple of 64".into(),
        ),
        (
            "a smaller table",
            vec![(4, LENGTH, 99 * 128)],
            "section 4 (table): 99 buckets; expected 100, as in layer 0".into(),
        ),
        (
            "a layer more",
            vec![(4, LENGTH, 128), (0, LENGTH, 64)],
            "section 4 (table): of layer 1; expected one below 1, counted from 0".into(),
        ),
    ];
    for (name, changes, sentence) in cases {
        let mut words = made.words();
        for (section, field, value) in changes {
            words[section * ENTRY_WORDS + field] = value;
        }
        let error = Directory::of_words(&words, made.bytes).expect_err(name).to_string();
        assert!(error.contains(&sentence), "{name}: {error}; expected {sentence}");
    }
}

#[test]
fn more_layers_than_a_policy_has_are_refused() {
    let many = Directory::new(&sections(9, false), 1).expect("a directory");
    let error = Directory::of_words(&many.words(), many.bytes).expect_err("nine layers").to_string();
    assert!(error.contains("section 0 (packings): 9 layers; expected 1 to 8"), "{error}");
}

#[test]
fn a_policy_section_has_one_length() {
    let mut made = directory();
    let mut words = made.words();
    // Moved to the end, and twice as long.
    made.bytes = made.bytes.next_multiple_of(ALIGNMENT);
    words[ENTRY_WORDS + 2] = made.bytes as u64;
    words[ENTRY_WORDS + 3] = 2 * policy::BYTES as u64;
    let bytes = made.bytes + 2 * policy::BYTES;
    let error = Directory::of_words(&words, bytes).expect_err("two policies").to_string();
    assert!(error.contains("section 1 (policy): 16640 bytes; expected 8320"), "{error}");
}

/// Whatever a section of another kind is, it is passed over; and so is where the known ones stand in the directory.
#[test]
fn sections_of_other_kinds_are_passed_over() {
    let made = directory();
    let end = made.bytes.next_multiple_of(ALIGNMENT);
    for kind in [97, 99, u64::from(u32::MAX), 98 | 9 << 32] {
        let mut words = made.words();
        let (known, rest) = words.split_at_mut(6 * ENTRY_WORDS);
        known.as_chunks_mut::<ENTRY_WORDS>().0.reverse();
        // Two of them, of any form, the second in the last entry.
        rest[..ENTRY_WORDS].copy_from_slice(&[kind, 77, end as u64, 1]);
        let last = rest.len() - ENTRY_WORDS;
        rest[last..].copy_from_slice(&[kind, 0, (end + ALIGNMENT) as u64, 4_096]);
        let bytes = end + ALIGNMENT + 4_096;
        let found = Directory::of_words(&words, bytes).expect("as many sections as there are kinds");
        assert_eq!(found, Directory { bytes, ..made.clone() });
    }
}

/// No words lead outside the region, or one section into another.
#[test]
fn whatever_the_words_are_the_sections_are_apart() {
    let all = Sections { names: true, ..sections(2, true) };
    let made = Directory::new(&all, 100).expect("a directory");
    let values = [0, 1, 2, 5, 63, 64, 127, 128, 256, 2_560, 8_320, 1 << 32, 1 << 63, u64::MAX - 1, u64::MAX];
    for at in 0..9 * ENTRY_WORDS {
        let own = made.words()[at];
        let near = [own.wrapping_sub(128), own.wrapping_sub(1), own.wrapping_add(1), own.wrapping_add(128)];
        for value in values.into_iter().chain(near) {
            let mut words = made.words();
            words[at] = value;
            let Ok(found) = Directory::of_words(&words, made.bytes) else { continue };
            let mut ranges =
                vec![(found.packings_at, found.layers() * packings::BYTES), (found.policy_at, policy::BYTES)];
            for parts in &found.tables {
                ranges.push((parts.buckets_at, parts.buckets * <Table>::BUCKET_BYTES));
                ranges.push((parts.counters_at, parts.counter_lines * COUNTER_LINE));
            }
            ranges.extend(found.board_at.map(|at| (at, Board::BYTES)));
            ranges.extend(found.numbers_at.map(|at| (at, numbers::BYTES)));
            ranges.extend(found.names_at.map(|at| (at, Names::BYTES)));
            ranges.sort_unstable();
            let mut end = SECTIONS_AT;
            for (offset, length) in ranges {
                assert!(offset >= end && length > 0, "word {at} is {value}: {found:?}");
                end = offset + length;
            }
            assert!(end <= made.bytes, "word {at} is {value}: {found:?}");
        }
    }
}
