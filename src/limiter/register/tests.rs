//! Texts of registers, and what follows what.

use super::*;

fn policy(text: &str) -> Policy {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn limits(name: &str, text: &str) -> Limits {
    Limits::new(vec![Limit::new(name, false, None, policy(text))])
}

fn first(asked: &[Limits]) -> Register {
    Register::first(asked, 0).expect("room")
}

/// A register in each of the generations from the first on.
fn dated(registers: &[&Register]) -> Vec<Dated> {
    let dated = registers.iter().enumerate().map(|(number, register)| {
        let (number, register) = (number as u64, Arc::new((*register).clone()));
        Dated { number, at_ns: 10 * number, register }
    });
    dated.collect()
}

/// The register that follows the last of these, in which each limit is changed.
fn next(registers: &[&Register], asked: &[Limits]) -> Option<Register> {
    let lineages = lineages(&dated(registers), 0, None).expect("policies");
    let last = registers.last().expect("a register");
    last.followed_by(&lineages, asked, Differing::Changed, 0, 0).expect("they follow")
}

#[test]
fn a_register_is_read_as_it_was_written() {
    let shared = |value, text| Limit::new("quota", true, value, policy(text));
    let register = first(&[
        limits("site", "200/s burst=400"),
        Limits::new(vec![Limit::new("api", false, Some("a b;%é"), policy("60/m & fixed_window 1000/1d"))]),
        Limits::new(vec![shared(Some("pro"), "fixed_window 9/1d"), shared(None, "fixed_window 5/1d")]),
    ]);
    let text = "1 400 site 200/s burst=400\n2,3 60,1000 api;limit=a%20b%3B%25%C3%A9 60/m & fixed_window 1000/d\n\
        4 9 quota;shared fixed_window 5/d\n4 9 quota;shared;limit=pro fixed_window 9/d\n";
    assert_eq!(register.text(), text);
    assert_eq!(Register::of_text(text, None).as_ref(), Ok(&register));
    assert_eq!(Register::of_text("", Some(&register)), Ok(Register::default()));
}

#[test]
fn a_line_that_nobody_wrote_is_refused() {
    let held = "7 9 held fixed_window 9/d\n8 9 quota;shared fixed_window 9/d\n";
    for (line, expected) in [
        ("1 3 name", "numbers, capacities, a name and a policy"),
        ("1 3 name 3/x", "a policy"),
        ("1 3 name sliding_log 3/h", "layers that are kept in words"),
        ("1 2 name 3/h", "no smaller capacities"),
        ("1 4294967296 name 3/h", "capacities"),
        ("1,2 3,3 name 3/h", "a number and a capacity for each layer"),
        ("1 3,3 name 3/h & 4/d", "a number and a capacity for each layer"),
        ("1 3  3/h", "a number and a capacity for each layer, and a name"),
        ("1 3 na\u{1}me 3/h", "and a name"),
        ("-1 3 name 3/h", "numbers"),
        ("0 3 name 3/h", "numbers of its own"),
        ("4095 3 name 3/h", "numbers of its own"),
        ("99999999999999999999 3 name 3/h", "numbers"),
        ("7 9 name 9/h", "numbers of its own"),
        ("1,1 3,4 name 3/h & 4/d", "numbers of its own"),
        ("1 9 held 9/h", "a name of its own"),
        ("8 9 quota;shared;limit=pro 9/h", "a limit of the set before"),
        ("8 9 other;shared;limit=pro fixed_window 9/d", "a limit of the set before"),
        ("8 9 quota;shared;limit=pro fixed_window 9/h", "a limit of the set before"),
        ("8 8 quota;shared;limit=pro fixed_window 8/d", "a limit of the set before"),
        ("8 9 quota;shared fixed_window 9/d", "a limit of the set before"),
    ] {
        let error = Register::of_text(&format!("{held}{line}\n"), None).expect_err(line).to_string();
        assert!(error.starts_with("the region's section numbers: `"), "{error}");
        assert!(error.contains(expected), "{line}: {error}; expected {expected}");
    }
    assert!(Register::of_text(held, None).is_ok());
}

#[test]
fn numbers_stay_with_the_name_and_the_kind() {
    let held = first(&[limits("a", "10/s"), limits("b", "fixed_window 5/1d"), limits("c", "3/h & 4/d")]);
    assert_eq!(next(&[&held], &[limits("b", "fixed_window 5/1d"), limits("a", "gcra 10/s burst=10")]), None);
    // Other numbers of a limit; another kind; another name; and one that is not asked for.
    let asked = [limits("a", "7/s burst=9"), limits("b", "fixed_window 5/1h"), limits("d", "1/s")];
    let after = next(&[&held], &asked).expect("others");
    let text = "1 10 a 7/s burst=9\n3,4 3,4 c 3/h & 4/d\n5 5 b fixed_window 5/h\n6 1 d 1/s\n";
    assert_eq!(after.text(), text);
    // The number that has come free is given by the next change.
    let last = next(&[&held, &after], &[limits("e", "1/s")]).expect("another");
    assert_eq!(last.text(), format!("{text}2 1 e 1/s\n"));
}

#[test]
fn a_lineage_begins_where_the_numbers_were_given() {
    let one = first(&[limits("a", "10/s"), limits("b", "fixed_window 5/1d")]);
    let two = next(&[&one], &[limits("a", "5/s burst=20")]).expect("another");
    let three = next(&[&one, &two], &[limits("b", "sliding_window 5/1d")]).expect("another");
    let four =
        next(&[&one, &two, &three], &[limits("a", "6/s burst=7"), limits("c", "1/s")]).expect("another");
    let made = lineages(&dated(&[&one, &two, &three, &four]), 0, None).expect("policies");
    let numbers = |lineage: &Lineage| {
        lineage.iter().map(|one| (one.number(), one.reach().to_vec(), one.at_ns())).collect::<Vec<_>>()
    };
    assert_eq!(
        numbers(&made[0]),
        [(0, vec![10], 0), (1, vec![20], 10), (2, vec![20], 10), (3, vec![20], 30)]
    );
    assert_eq!(numbers(&made[1]), [(2, vec![5], 20), (3, vec![5], 20)]);
    assert_eq!(numbers(&made[2]), [(3, vec![1], 30)]);
    // A word of a generation in which the limit stayed is as it was; another is carried in units.
    assert_eq!(made[0][1].changed(&made[0][2], 0, 77), 77);
    assert_ne!(made[0][2].changed(&made[0][3], 0, 1 << 60), 1 << 60);
}

/// Whatever a list says, it is a register that has its numbers, or is refused with a reason.
#[test]
fn no_text_leads_astray() {
    const PARTS: [&str; 24] = [
        "1",
        "2,3",
        "4094",
        "4095",
        "0",
        ",",
        " ",
        "\n",
        "9",
        "4294967295",
        "a",
        "b;shared",
        ";limit=",
        "10/s",
        " & ",
        "fixed_window 9/d",
        "sliding_window 9/m strict=true",
        "calendar_window 9/day tz=Europe/Berlin",
        "in_flight 3 hold=1s",
        "leaky_queue 1/s queue=9",
        "token_bucket 4/h capacity=8 mode=interval_first",
        "sliding_log 3/h",
        "burst=4000000000",
        "horizon=1000d",
    ];
    let seed = first(&[
        limits("a", "10/s burst=20"),
        limits("b", "calendar_window 9/day tz=Europe/Berlin & 3/m"),
        Limits::new(vec![
            Limit::new("c", true, Some("x"), policy("fixed_window 9/1d")),
            Limit::new("c", true, None, policy("fixed_window 5/1d")),
        ]),
    ]);
    let mut random = 88_172_645_463_325_252_u64;
    let mut random = |below: usize| {
        // Of Marsaglia.
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random as usize % below
    };
    let (mut read, mut refused) = (0, 0);
    for _ in 0..20_000 {
        let mut text = seed.text();
        for _ in 0..1 + random(3) {
            let from = random(text.len() + 1);
            let to = from + random(1 + (text.len() - from).min(9));
            text.replace_range(from..to, PARTS[random(PARTS.len())]);
        }
        let Ok(register) = Register::of_text(&text, None) else {
            refused += 1;
            continue;
        };
        read += 1;
        // Whichever register was before.
        for before in [None, Some(&seed), Some(&register)] {
            assert_eq!(Register::of_text(&register.text(), before).as_ref(), Ok(&register), "{text}");
        }
        for registers in [[&seed, &register], [&register, &seed]] {
            let Ok(made) = lineages(&dated(&registers), 0, None) else { continue };
            assert_eq!(made.len(), registers[1].numbers().count());
            for (lineage, numbers) in made.iter().zip(registers[1].numbers()) {
                for layer in 0..numbers.len() {
                    for pair in lineage.windows(2) {
                        let _ = pair[0].changed(&pair[1], layer, random(usize::MAX) as u64);
                    }
                }
            }
        }
    }
    assert!(read > 100 && refused > 100, "{read} were read, {refused} refused");
}

/// What was made of the registers before is what would be made of them now, also where a process lags behind.
#[test]
fn known_lineages_are_those_that_would_be_made() {
    let with = |before: &[&Register], asked: &[Limits]| next(before, asked).expect("another");
    let one = first(&[limits("stays", "3/h"), limits("other", "10/s"), limits("kind", "5/h")]);
    let two = with(&[&one], &[limits("other", "20/s"), limits("kind", "fixed_window 5/1h")]);
    let three = with(&[&one, &two], &[limits("new", "7/h"), limits("kind", "9/h")]);
    let four = with(&[&one, &two, &three], &[limits("other", "10/m"), limits("kind", "fixed_window 6/1h")]);
    let five = with(&[&one, &two, &three, &four], &[limits("kind", "fixed_window 7/1h")]);
    let all = dated(&[&one, &two, &three, &four, &five]);
    let text = |made: Vec<Lineage>, words: &[u64]| -> Vec<String> {
        let one = |lineage: &Lineage| {
            let carried =
                |word: &u64| lineage.windows(2).fold(*word, |word, pair| pair[0].changed(&pair[1], 0, word));
            let generations: Vec<_> = lineage
                .iter()
                .map(|one| (one.number(), one.policy().to_string(), one.reach().to_vec()))
                .collect();
            format!("{generations:?} {:?}", words.iter().map(carried).collect::<Vec<_>>())
        };
        made.iter().map(one).collect()
    };
    let words = [0, 1, 1 << 20, 1 << 40, 3_600_000_000_000, u64::MAX >> 8];
    for last in 1..all.len() {
        let registers = &all[last.saturating_sub(3)..=last];
        let expected = text(lineages(registers, 0, None).expect("policies"), &words);
        for seen in 0..=last {
            let before = &all[seen.saturating_sub(3)..=seen];
            let known = lineages(before, 0, None).expect("policies");
            let made = lineages(registers, 0, Some((&all[seen].register, &known))).expect("policies");
            assert_eq!(text(made, &words), expected, "{last} after {seen}");
        }
    }
}
