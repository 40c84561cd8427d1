//! Files that are looked into by those who do not limit by them: nothing is written, and nothing need be known.

use std::fs::{self, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use ratecell::{BuildError, Decision, Limiter, Policy, Region, RegionError, WhenFull};

use super::{Scratch, builder};

pub(super) fn refusal(path: &Path) -> RegionError {
    match Region::read(path) {
        Err(BuildError::File { path: told, error, .. }) => {
            assert_eq!(told, path);
            error
        }
        other => panic!("{other:?}: expected an error of the file"),
    }
}

#[test]
fn a_reader_sees_what_the_region_is_and_what_others_do() {
    let scratch = Scratch::new("reader");
    let limiter = builder().when_full(WhenFull::Share).open(&scratch.0).expect("made");
    assert!(limiter.check_at("ann", 3, 0).is_allowed());
    let region = Region::read(&scratch.0).expect("a region");
    assert_eq!(region.policy().to_string(), "3/h");
    assert!(region.policy().resolved().eq(limiter.policy().resolved()));
    assert_eq!((region.max_keys(), region.when_full()), (1_000, WhenFull::Share));
    assert_eq!(region.epoch(), limiter.epoch());
    assert!(region.now_ns().abs_diff(limiter.now_ns()) < 60_000_000_000);
    assert_eq!(region.stats_at(0), limiter.stats_at(0));
    assert_eq!(region.stats_at(0).live, 1);
    // What comes later is seen, too.
    for key in 0..900_u32 {
        assert!(limiter.check_at(key.to_le_bytes(), 3, 0).is_allowed());
    }
    assert_eq!(region.stats_at(0), limiter.stats_at(0));
    assert_eq!((region.stats_at(0).live, region.stats_at(u64::MAX >> 2).live), (901, 0));
    for key in 0..9_000_u32 {
        let _ = limiter.check_at(key.to_be_bytes(), 3, 0);
    }
    assert!(region.stats_at(0).shared > 0);
    assert_eq!(region.stats_at(0), limiter.stats_at(0));
    drop(limiter);
    assert!(region.stats_exact_at(0).live > 0, "it stays");
}

#[test]
fn a_reader_writes_nothing() {
    let scratch = Scratch::new("reader-writes");
    drop(builder().open(&scratch.0).expect("made"));
    // As another boot left it, whose clock whoever opens it would carry over.
    scratch.file().write_all_at(&[7; 16], 50 * 8).expect("written");
    let before =
        (fs::read(&scratch.0).expect("read"), fs::metadata(&scratch.0).expect("a file").mtime_nsec());
    let region = Region::read(&scratch.0).expect("a region");
    let now = region.now_ns();
    let _ = (region.stats(), region.stats_exact());
    let after = (fs::read(&scratch.0).expect("read"), fs::metadata(&scratch.0).expect("a file").mtime_nsec());
    assert!(before == after);
    // By the wall clock, as it goes on for the next who opens it.
    let opened = builder().open(&scratch.0).expect("carried over");
    assert!(opened.now_ns().abs_diff(now) < Duration::from_secs(60).as_nanos() as u64);
}

/// Of every kind of word, of keys that were seen and of new ones, before a change of the policy and after it, in a table with
/// room, in a full one, and where newcomers share a cell.
#[test]
fn a_reader_peeks_as_a_limiter_does() {
    const POLICIES: [[&str; 2]; 7] = [
        ["30/h", "60/h burst=40"],
        ["token_bucket 5/10s capacity=10 mode=interval", "token_bucket 4/10s capacity=9 mode=interval"],
        ["leaky_queue 10/s queue=20", "leaky_queue 5/s queue=20"],
        ["sliding_window 20/1m", "sliding_window 30/1m"],
        ["fixed_window 20/1h", "fixed_window 10/1h"],
        ["in_flight 10 hold=60s & 30/h", "in_flight 5 hold=60s & 60/h"],
        ["calendar_window 20/day tz=Europe/Berlin", "calendar_window 30/day tz=Europe/Berlin"],
    ];
    for [text, changed] in POLICIES {
        for when_full in [WhenFull::Evict, WhenFull::Share, WhenFull::Deny] {
            for keys in [20_u32, 400] {
                let scratch = Scratch::new("reader-peeks");
                let policy = |text: &str| text.parse::<Policy>().expect(text);
                let limiter = Limiter::builder(policy(text)).max_keys(100).when_full(when_full);
                let limiter = limiter.open(&scratch.0).expect("made");
                let now = limiter.now_ns();
                for key in 0..keys {
                    let _ = limiter.check_at(key.to_le_bytes(), 1 + key % 9, now + u64::from(key));
                }
                let instants = [now, now + 1_000_000_000, now + 200_000_000_000];
                let peeks = |peek: &dyn Fn([u8; 4], u64) -> Decision| {
                    let all = (0..keys + 40).flat_map(|key| instants.map(|at| peek(key.to_le_bytes(), at)));
                    all.collect::<Vec<_>>()
                };
                let region = Region::read(&scratch.0).expect("a region");
                let seen = peeks(&|key, at| region.peek_at(key, at));
                assert!(
                    seen == peeks(&|key, at| limiter.check_at(key, 0, at)),
                    "{text} {when_full:?} {keys}"
                );

                // The words are still those of the policy before, and nothing is carried.
                limiter.change(policy(changed)).expect("of one kind");
                assert!(region.is_outdated());
                let before = fs::read(&scratch.0).expect("read");
                let region = Region::read(&scratch.0).expect("a region");
                let seen = peeks(&|key, at| region.peek_at(key, at));
                assert!(before == fs::read(&scratch.0).expect("read"), "{changed}: it writes nothing");
                assert!(
                    seen == peeks(&|key, at| limiter.check_at(key, 0, at)),
                    "{changed} {when_full:?} {keys}"
                );
            }
        }
    }
}

#[test]
fn what_is_no_region_is_refused_to_readers() {
    let scratch = Scratch::new("reader-refused");
    assert!(matches!(refusal(&scratch.0), RegionError::Io { kind: ErrorKind::NotFound, .. }));
    assert!(!scratch.0.exists());
    fs::write(&scratch.0, [0; 20_000]).expect("written");
    assert_eq!(refusal(&scratch.0), RegionError::NotARegion);
    fs::write(&scratch.0, "a text, and no region").expect("written");
    assert_eq!(refusal(&scratch.0), RegionError::NotARegion);
    fs::remove_file(&scratch.0).expect("removed");
    drop(builder().open(&scratch.0).expect("made"));
    let whole = fs::metadata(&scratch.0).expect("a file").len();
    scratch.file().set_len(whole - 1).expect("cut");
    let cut = RegionError::TooSmall { needed: whole as usize, len: whole as usize - 1 };
    assert_eq!(refusal(&scratch.0), cut);
    let folder = std::env::temp_dir();
    assert!(matches!(refusal(&folder), RegionError::Io { .. }));
    // A pipe that nobody writes to is not waited for.
    let pipe = Scratch::new("reader-pipe");
    assert!(Command::new("mkfifo").arg(&pipe.0).status().expect("mkfifo runs").success());
    assert!(matches!(refusal(&pipe.0), RegionError::Io { .. }));
}

/// A bit of any byte before the tables is changed: refused with a sentence, or the same as before.
#[test]
fn no_damage_passes_for_another_region() {
    let scratch = Scratch::new("reader-damage");
    drop(builder().open(&scratch.0).expect("made"));
    let made = fs::read(&scratch.0).expect("read");
    let file = OpenOptions::new().write(true).open(&scratch.0).expect("opened");
    let mut refused = 0;
    for at in (0..11_008).filter(|at| *at < 2_752 || at % 13 == 0) {
        let byte = made[at];
        file.write_all_at(&[byte ^ 1 << (at % 8)], at as u64).expect("written");
        match Region::read(&scratch.0) {
            Ok(region) => {
                assert_eq!(
                    (region.policy().to_string(), region.max_keys()),
                    ("3/h".to_owned(), 1_000),
                    "{at}"
                );
            }
            Err(BuildError::File { error, .. }) => {
                assert!(!error.to_string().is_empty());
                refused += 1;
            }
            Err(error) => panic!("byte {at}: {error}"),
        }
        file.write_all_at(&[byte], at as u64).expect("written");
    }
    assert!(refused > 2_500, "{refused}");
    assert!(Region::read(&scratch.0).is_ok());
}

#[test]
fn a_file_without_a_region_is_not_made_one_by_a_follower() {
    let scratch = Scratch::new("follower");
    let follow = || Limiter::following().open(&scratch.0);
    let absent = follow().expect_err("no file");
    assert!(absent.to_string().contains("cannot be opened"), "{absent}");
    assert!(!scratch.0.exists());
    fs::write(&scratch.0, [0; 77]).expect("written");
    let blank = follow().expect_err("a blank file");
    assert!(matches!(&blank, BuildError::File { error: RegionError::NotARegion, .. }), "{blank}");
    assert_eq!(fs::read(&scratch.0).expect("read"), [0; 77]);
    let made = builder().open(&scratch.0).expect("made");
    assert!(made.check_at("key", 2, 0).is_allowed());
    let follower = follow().expect("a region");
    assert_eq!(follower.policy(), made.policy());
    assert_eq!(follower.check_at("key", 1, 0).remaining(), 0);
    assert!(!made.check_at("key", 1, 0).is_allowed());
    // Of another boot, its clock goes on.
    drop((made, follower));
    scratch.file().write_all_at(&[7; 16], 50 * 8).expect("written");
    assert!(!follow().expect("carried over").check_at("key", 1, 0).is_allowed());
}
