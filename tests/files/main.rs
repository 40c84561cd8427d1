//! Regions in files: who may come when, what is left as it is, and how one goes on after a restart.
#![cfg(target_os = "linux")]

mod names;
mod readers;
mod restarts;
mod users;

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::thread;

use ratecell::{BuildError, Limiter, LimiterBuilder, Policy, RegionError};
use rustix::fs::{FlockOperation, flock};

fn builder() -> LimiterBuilder {
    Limiter::builder("3/h".parse::<Policy>().expect("a policy")).max_keys(1_000)
}

/// A path of this test alone, gone with it.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("ratecell-{name}-{}", std::process::id()));
        let _ = fs::remove_file(&path);
        Self(path)
    }

    fn file(&self) -> File {
        OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&self.0).expect("a file")
    }

    fn mode(&self) -> u32 {
        fs::metadata(&self.0).expect("a file").permissions().mode() & 0o777
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn refusal(path: &Path) -> RegionError {
    match builder().open(path) {
        Err(BuildError::File { path: told, error, .. }) => {
            assert_eq!(told, path);
            error
        }
        Err(error) => panic!("{error}: expected an error of the file"),
        Ok(_) => panic!("{}: expected an error", path.display()),
    }
}

#[test]
fn a_file_outlives_its_limiters() {
    let scratch = Scratch::new("outlives");
    let first = builder().open(&scratch.0).expect("made");
    let now = first.now_ns();
    assert!(first.check_at("key", 2, now).is_allowed());
    let epoch = first.epoch();
    drop(first);
    let second = builder().open(&scratch.0).expect("found");
    assert_eq!((second.epoch(), second.check_at("key", 1, now).remaining()), (epoch, 0));
    assert!(second.now_ns() >= now && second.now_ns() - now < 1_000_000_000_000);
    assert_eq!(scratch.mode(), 0o600);
    let len = fs::metadata(&scratch.0).expect("a file").len();
    // A file has room for what is given back.
    assert_eq!(len, builder().reservations().region_bytes().expect("bytes") as u64);
}

#[test]
fn a_file_without_a_byte_in_it_is_made_a_region_and_keeps_its_mode() {
    for len in [0, 77, 1 << 20] {
        let scratch = Scratch::new("blank");
        scratch.file().set_len(len).expect("zeros");
        fs::set_permissions(&scratch.0, Permissions::from_mode(0o640)).expect("a mode");
        assert!(builder().open(&scratch.0).expect("made").check("key").is_allowed());
        assert_eq!(scratch.mode(), 0o640);
        assert!(builder().open(&scratch.0).is_ok());
    }
}

#[test]
fn whatever_else_is_in_a_file_is_left_as_it_is() {
    let text = "ratecell".repeat(1_000).into_bytes();
    let mut late = vec![0; 1 << 20];
    late.push(1);
    for content in [text, late, b"RATECELL".to_vec()] {
        let scratch = Scratch::new("foreign");
        fs::write(&scratch.0, &content).expect("written");
        let error = refusal(&scratch.0);
        assert!(!matches!(error, RegionError::Io { .. }), "{error}");
        assert!(fs::read(&scratch.0).expect("read") == content);
    }
}

#[test]
fn a_file_that_was_cut_short_is_refused() {
    let scratch = Scratch::new("cut");
    drop(builder().open(&scratch.0).expect("made"));
    let whole = fs::metadata(&scratch.0).expect("a file").len();
    for len in [whole - 1, 2_560, 2_559, 512, 511, 8] {
        scratch.file().set_len(len).expect("cut");
        let error = refusal(&scratch.0);
        if len >= 512 {
            assert_eq!(error, RegionError::TooSmall { needed: whole as usize, len: len as usize });
        }
        assert_eq!(fs::metadata(&scratch.0).expect("a file").len(), len);
    }
}

/// As a version of the library left it that had no directory: what can be done is said.
#[test]
fn a_file_of_the_layout_before_is_refused_with_what_to_do() {
    let scratch = Scratch::new("layout");
    drop(builder().open(&scratch.0).expect("made"));
    scratch.file().write_all_at(&1_u64.to_ne_bytes(), 8).expect("written");
    let before = fs::read(&scratch.0).expect("read");
    let [opened, read] = [refusal(&scratch.0), readers::refusal(&scratch.0)];
    assert_eq!(opened, read);
    assert_eq!(
        opened.to_string(),
        "the region's layout: 1; expected 2: open it with the version of ratecell that made it, or delete the file or \
         make the memory a region anew, with which all limits begin anew"
    );
    assert!(fs::read(&scratch.0).expect("read") == before);
}

#[test]
fn what_the_system_refuses_is_told_in_its_words() {
    let folder = std::env::temp_dir();
    let absent = folder.join("ratecell-no-such-folder").join("file");
    for (path, expected) in [(folder, ErrorKind::IsADirectory), (absent, ErrorKind::NotFound)] {
        let error = refusal(&path);
        let told = builder().open(&path).expect_err("the same").to_string();
        assert_eq!(told, format!("{}: {error}", path.display()));
        let RegionError::Io { kind, errno: Some(errno), .. } = error else { panic!("{error}") };
        let system = io::Error::from_raw_os_error(errno);
        assert_eq!((kind, system.kind()), (expected, expected));
        assert_eq!(error.to_string(), format!("cannot be opened: {system}"));
    }
}

#[test]
fn a_link_to_nothing_is_followed() {
    let (scratch, target) = (Scratch::new("link"), Scratch::new("target"));
    symlink(&target.0, &scratch.0).expect("a link");
    let limiter = builder().open(&scratch.0).expect("made");
    assert_eq!(target.mode(), 0o600);
    assert!(limiter.check_at("key", 3, 0).is_allowed());
    assert!(!builder().open(&target.0).expect("found").check_at("key", 1, 0).is_allowed());
}

/// More than any file may be long, and no keys at all: of neither a file is left, nor of what is there a byte lost.
#[test]
fn a_file_that_cannot_be_made_is_as_before() {
    let scratch = Scratch::new("too-large");
    let error = builder().max_keys(0).open(&scratch.0).expect_err("no keys");
    assert_eq!(error, BuildError::ZeroKeys);
    assert!(!scratch.0.exists());
    let error = builder().max_keys(1 << 57).open(&scratch.0).expect_err("too many keys");
    let refused_by_the_system = matches!(&error, BuildError::File { error: RegionError::Io { .. }, .. });
    assert!(refused_by_the_system && error.to_string().contains("bytes long"), "{error}");
    assert_eq!(fs::metadata(&scratch.0).expect("a file").len(), 0);
    assert!(builder().open(&scratch.0).is_ok());
}

/// All who come at once find one region: what they are allowed together is one limit.
#[test]
fn many_may_come_first() {
    for round in 0..20 {
        let scratch = Scratch::new(&format!("race-{round}"));
        let allowed: usize = thread::scope(|scope| {
            let callers: Vec<_> = (0..8)
                .map(|_| {
                    scope.spawn(|| {
                        let limiter = builder().open(&scratch.0).expect("a region");
                        (0..3).filter(|_| limiter.check_at("key", 1, 0).is_allowed()).count()
                    })
                })
                .collect();
            callers.into_iter().map(|caller| caller.join().expect("no panic")).sum()
        });
        assert_eq!(allowed, 3);
    }
}

#[test]
fn who_has_made_a_file_does_not_keep_its_lock() {
    let scratch = Scratch::new("lock");
    let made = builder().open(&scratch.0).expect("made");
    flock(scratch.file(), FlockOperation::NonBlockingLockExclusive)
        .expect("whoever came second waits for it");
    drop(made);
}
