//! How a file goes on after the machine has started anew, and what is another clock.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use ratecell::{RegionError, RegionField};

use super::{Scratch, builder, refusal};

const CLOCK: u64 = 48 * 8;

/// The words of the clock that counts, as the header has them: offset, boot, namespace.
fn clock(file: &File) -> (u64, [u64; 4]) {
    let word = |at: u64| {
        let mut bytes = [0; 8];
        file.read_exact_at(&mut bytes, at).expect("a word");
        u64::from_ne_bytes(bytes)
    };
    let copy = CLOCK + 8 + (word(CLOCK) & 1) * 32;
    (copy, [0, 1, 2, 3].map(|number| word(copy + number * 8)))
}

fn forge(file: &File, word: u64, value: u64) {
    let (copy, _) = clock(file);
    file.write_all_at(&value.to_ne_bytes(), copy + word * 8).expect("written");
}

#[test]
fn after_the_machine_has_started_anew_the_clock_goes_on_by_the_wall() {
    let scratch = Scratch::new("boot");
    let before = builder().open(&scratch.0).expect("made");
    assert!(before.check("key").is_allowed());
    let (epoch, here) = (before.epoch(), clock(&scratch.file()).1);
    drop(before);
    // As another boot left it: its monotonic clock had run for another time.
    forge(&scratch.file(), 1, !here[1]);
    forge(&scratch.file(), 0, here[0].wrapping_add(1 << 50));
    let after = builder().open(&scratch.0).expect("carried over");
    assert_eq!(after.epoch(), epoch);
    let wall = SystemTime::now().duration_since(epoch).expect("past");
    let now = Duration::from_nanos(after.now_ns());
    assert!(wall.abs_diff(now) < Duration::from_secs(5), "{wall:?} {now:?}");
    assert_eq!(after.peek("key").remaining(), 2, "keys are kept");
    // Whoever comes next finds it as it is now.
    let carried = clock(&scratch.file());
    assert_eq!(carried.1[1..], here[1..]);
    assert!(builder().open(&scratch.0).is_ok());
    assert_eq!(clock(&scratch.file()), carried);
}

#[test]
fn a_clock_of_another_time_namespace_is_refused_where_it_tells_another_time() {
    let scratch = Scratch::new("namespace");
    drop(builder().open(&scratch.0).expect("made"));
    let here = clock(&scratch.file()).1;
    forge(&scratch.file(), 3, here[3] + 1);
    assert!(builder().open(&scratch.0).is_ok(), "another namespace with the same clock");
    forge(&scratch.file(), 0, here[0].wrapping_add(100_000_000_000_000));
    let error = refusal(&scratch.0);
    assert!(matches!(error, RegionError::Differs { field: RegionField::TimeNamespace, .. }), "{error}");
    // In one namespace the wall clock may have been set: that is no reason.
    forge(&scratch.file(), 3, here[3]);
    assert!(builder().open(&scratch.0).is_ok());
}

/// A region whose spare words are zeros, as one that was made before anything was noted in them.
#[test]
fn a_file_that_has_noted_nothing_is_found() {
    let scratch = Scratch::new("spare");
    drop(builder().open(&scratch.0).expect("made"));
    let made = clock(&scratch.file());
    scratch.file().write_all_at(&[0; 56], 57 * 8).expect("written");
    assert!(builder().open(&scratch.0).is_ok());
    assert_eq!(clock(&scratch.file()), made);
}

const PATH: &str = "RATECELL_PATH";
const TASK: &str = "RATECELL_TASK";

/// What the tests below run in other namespaces; as a test it does nothing.
#[test]
fn elsewhere() {
    let (Some(path), Ok(task)) = (std::env::var_os(PATH), std::env::var(TASK)) else { return };
    let path = Path::new(&path);
    match task.as_str() {
        "refused" => {
            let error = refusal(path);
            assert!(
                matches!(error, RegionError::Differs { field: RegionField::TimeNamespace, .. }),
                "{error}"
            );
        }
        "use up" => {
            let limiter = builder().open(path).expect("a region");
            assert!(limiter.check_n("key", 3).is_allowed());
        }
        "used up" => {
            // 3/h: the next unit comes within 20 minutes, of which next to nothing has passed.
            let denied = builder().open(path).expect("a region").check("key");
            let wait = denied.retry_after().expect("a wait");
            assert!(!denied.is_allowed(), "{denied:?}");
            assert!(wait <= Duration::from_secs(1_200) && wait > Duration::from_secs(900), "{wait:?}");
        }
        task => panic!("{task}: a task"),
    }
}

/// Seconds by which CLOCK_MONOTONIC and CLOCK_BOOTTIME are ahead of this process's.
#[derive(Clone, Copy)]
struct Ahead(u32);

/// Runs a task in a time namespace, with nothing to be seen in the folders `hidden`. Says whether it can be.
fn run(task: &str, path: &Path, Ahead(ahead): Ahead, hidden: &[&str]) -> bool {
    let unshare = || {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--fork"]);
        if ahead > 0 {
            let clocks = ["monotonic", "boottime"].map(|clock| format!("--{clock}={ahead}"));
            command.arg("--time").args(clocks);
        }
        let hide: String = hidden.iter().map(|folder| format!("mount -t tmpfs none {folder} && ")).collect();
        command.args(["sh", "-c", &format!("{hide} exec \"$@\""), "sh"]);
        command
    };
    if !unshare().arg("true").output().is_ok_and(|output| output.status.success()) {
        println!("left out: no namespace can be made here, or nothing be hidden in it");
        return false;
    }
    let program = std::env::current_exe().expect("this program");
    let mut command = unshare();
    command.arg(program).args(["--exact", "restarts::elsewhere"]).env(PATH, path).env(TASK, task);
    let output = command.output().expect("unshare runs");
    let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(output.status.success(), "{task}, {ahead} s ahead, without {hidden:?}: {}", said.concat());
    assert!(said[0].contains("1 passed"), "{}", said[0]);
    true
}

const HERE: Ahead = Ahead(0);
const THERE: Ahead = Ahead(100_000);

#[test]
fn a_real_time_namespace() {
    let scratch = Scratch::new("unshare");
    drop(builder().open(&scratch.0).expect("made"));
    run("refused", &scratch.0, THERE, &[]);
}

/// By a monotonic clock that is behind, as after a restart, and by one that is ahead, as of a file from another machine:
/// what was used up stays so, until its time.
#[test]
fn a_restart_is_seen_where_the_boot_id_is_hidden() {
    for hidden in ["/proc/sys", "/proc"] {
        for [before, after] in [[THERE, HERE], [HERE, THERE]] {
            let scratch = Scratch::new("hidden");
            if run("use up", &scratch.0, before, &[hidden]) {
                run("used up", &scratch.0, after, &[hidden]);
            }
        }
    }
}

/// Nothing is carried over within a boot, whoever sees its id.
#[test]
fn one_boot_is_one_where_its_id_is_hidden() {
    for [before, after] in [[&["/proc"][..], &[]], [&[], &["/proc"]], [&["/proc"], &["/proc"]]] {
        let scratch = Scratch::new("one-boot");
        if run("use up", &scratch.0, HERE, before) {
            let made = fs::read(&scratch.0).expect("a file")[..57 * 8].to_vec();
            run("used up", &scratch.0, HERE, after);
            assert!(fs::read(&scratch.0).expect("a file")[..57 * 8] == made);
        }
    }
}
