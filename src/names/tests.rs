//! Names under many threads, and whatever their memory holds.

use std::collections::HashMap;
use std::thread;

use super::*;
use crate::sync::Ordering;

fn names() -> Names {
    let memory = Memory::private(Names::BYTES).expect("memory");
    Names::in_memory(&memory, 0, Secret::random().expect("random bytes")).expect("room")
}

impl Names {
    fn note_key(&self, part: usize, key: &str) {
        self.note_in(part, self.secret.hash(key.as_bytes()), Some(key.as_bytes()));
    }

    /// What is known of each name.
    fn counts(&self) -> HashMap<String, u64> {
        let mut counts = HashMap::new();
        for (_, entry) in self.entries() {
            let name = entry.name.as_ref().map_or("none".to_owned(), ToString::to_string);
            *counts.entry(name).or_default() += entry.count();
        }
        counts
    }
}

#[test]
fn nothing_is_named_at_first() {
    let names = names();
    assert_eq!((names.total(), names.entries().count()), (0, 0));
    assert_eq!(Names::BYTES, 256 << 10);
}

#[test]
fn a_denied_key_is_named_and_counted() {
    let names = names();
    for key in ["user:42", "", "user:42", "2001:db8:1:2::/64"] {
        names.note_key(3, key);
    }
    names.note(7, None);
    let expected = [("user:42", 2), ("", 1), ("2001:db8:1:2::/64", 1), ("none", 1)];
    assert_eq!(names.counts(), expected.map(|(name, count)| (name.to_owned(), count)).into());
    assert_eq!(names.total(), 5);
    let (_, entry) = names.entries().find(|(_, entry)| entry.name.is_none()).expect("a key without a name");
    assert_eq!(entry.hash, 7);
}

/// A key that is denied ten times as often as all others together keeps its line; one that is denied no more gives it up.
#[test]
fn who_is_denied_most_keeps_its_line() {
    let names = names();
    let hot: Vec<_> = (0..16).map(|number| format!("hot:{number}")).collect();
    let others = |from: usize| (from..from + 20_000).map(|number| format!("other:{number}"));
    for (number, other) in others(0).enumerate() {
        // About 80 others come to each line, and one hot key is denied ten times as often as they.
        names.note_key(0, &hot[number % 16]);
        if number % 160 == 0 {
            names.note_key(0, &other);
        }
    }
    let counts = names.counts();
    let kept = hot.iter().filter(|key| counts.get(*key).is_some_and(|count| *count > 1_000)).count();
    assert!(kept >= 14, "{kept} of 16");
    others(20_000).for_each(|other| names.note_key(0, &other));
    assert!(hot.iter().all(|key| !names.counts().contains_key(key)));
}

/// Keys that share a line in one part do not share one in all.
#[test]
fn parts_place_keys_apart() {
    let names = names();
    let keys: Vec<_> = (0..200).map(|number| format!("user:{number}")).collect();
    for part in 0..4 {
        keys.iter().for_each(|key| names.note_key(part, key));
    }
    assert!(names.counts().len() > 180, "{} of 200", names.counts().len());
}

/// All denials are in the total; those of one key are no more than there were.
#[test]
fn threads_lose_no_denial() {
    const EACH: usize = if cfg!(miri) { 100 } else { 50_000 };
    let names = names();
    thread::scope(|scope| {
        for thread in 0..4 {
            let names = &names;
            scope.spawn(move || {
                for number in 0..EACH {
                    // Half of them in one part, where two threads are.
                    names.note_key(thread / 2, &format!("user:{}", number * 7 % 900));
                }
            });
        }
    });
    assert_eq!(names.total(), 4 * EACH as u64);
    let counts = names.counts();
    assert!(!counts.is_empty() && counts.values().sum::<u64>() <= 4 * EACH as u64);
    for number in 0..900 {
        let asked = (0..EACH).filter(|at| at * 7 % 900 == number).count() as u64;
        let counted = counts.get(&format!("user:{number}")).copied().unwrap_or(0);
        assert!(counted <= 4 * asked, "user:{number}: {counted} of {}", 4 * asked);
    }
}

/// Each word of a line is anything: nothing is believed that is not proven, and its line is found again.
#[test]
fn whatever_the_words_are() {
    let names = names();
    let noise = (1_u64..).map(|number| {
        let mixed = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (mixed ^ mixed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9)
    });
    for (word, noise) in names.words.all().iter().zip(noise) {
        // Relaxed: nobody else is there.
        word.store(noise, Ordering::Relaxed);
    }
    assert_eq!(names.entries().count(), 0);
    let before = names.total();
    // A line gives way after 15 denials.
    (0..20).for_each(|_| names.note_key(0, "user:42"));
    assert!(names.counts()["user:42"] >= 4);
    assert_eq!(names.total().wrapping_sub(before), 20);
    for value in [u64::MAX, 1 << 51, (1 << 40) - 1] {
        // Relaxed: as above.
        names.words.all().iter().for_each(|word| word.store(value, Ordering::Relaxed));
        assert_eq!(names.entries().count(), 0);
        (0..20).for_each(|_| names.note_key(1, "user:43"));
        assert!(names.counts()["user:43"] >= 4);
    }
}
