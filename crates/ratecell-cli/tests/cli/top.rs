//! `ratecell top`: on a pipe, and on a real terminal that is driven by keys.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{JoinHandle, sleep};
use std::time::{Duration, Instant};

use pty_process::Size;
use pty_process::blocking::{Command, open};
use ratecell::{Limiter, Policy};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::support::{Files, arg, ratecell};

const POLICY: &str = "1000/1h & 100000/1d";
/// How long the program may take to show something, on a machine with much else to do.
const PATIENCE: Duration = Duration::from_secs(60);

fn limiter(path: &Path, policy: &str) -> Limiter {
    Limiter::builder(policy.parse::<Policy>().unwrap()).max_keys(600).open(path).unwrap()
}

/// A file with two keys, of which one has used half of its limit.
fn region(files: &Files) -> (PathBuf, Limiter) {
    let path = files.path("region");
    let limiter = limiter(&path, POLICY);
    assert!(limiter.check_n("user:42", 500).is_allowed());
    assert!(limiter.check_n("user:43", 1).is_allowed());
    (path, limiter)
}

/// A limiter that is used until this is dropped.
struct Traffic(Arc<AtomicBool>, Option<JoinHandle<()>>);

impl Traffic {
    fn on(limiter: Limiter) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        let thread = std::thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                let _ = limiter.check("user:43");
                sleep(Duration::from_millis(5));
            }
        });
        Self(is_over, Some(thread))
    }
}

impl Drop for Traffic {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
        self.1.take().unwrap().join().unwrap();
    }
}

/// The program on a terminal of 24 lines and 80 columns.
struct Terminal {
    child: Child,
    keys: pty_process::blocking::Pty,
    screen: Arc<Mutex<vt100::Parser>>,
    reader: JoinHandle<()>,
}

impl Terminal {
    fn new(path: &Path, environment: &[(&str, &str)]) -> Self {
        let (pty, pts) = open().unwrap();
        pty.resize(Size::new(24, 80)).unwrap();
        let command = Command::new(env!("CARGO_BIN_EXE_ratecell")).args(["top", arg(path)]);
        let command = command.env("TERM", "xterm-256color").env_remove("NO_COLOR");
        let child = command.envs(environment.iter().copied()).spawn(pts).unwrap();
        let screen = Arc::new(Mutex::new(vt100::Parser::new(24, 80, 0)));
        let (shown, mut output) = (Arc::clone(&screen), std::fs::File::from(rustix::io::dup(&pty).unwrap()));
        let reader = std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // Reading fails once the last process has closed the terminal.
            while let Ok(read @ 1..) = output.read(&mut bytes) {
                shown.lock().unwrap().process(&bytes[..read]);
            }
        });
        Self { child, keys: pty, screen, reader }
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    fn text(&self) -> String {
        self.screen.lock().unwrap().screen().contents()
    }

    /// The screen, once it is as wanted.
    fn until(&self, what: &str, is_so: impl Fn(&str) -> bool) -> String {
        let started = Instant::now();
        loop {
            let text = self.text();
            if is_so(&text) {
                return text;
            }
            assert!(started.elapsed() < PATIENCE, "no {what}:\n{text}");
            sleep(Duration::from_millis(20));
        }
    }

    fn shows(&self, text: &str) -> String {
        self.until(text, |screen| screen.contains(text))
    }

    /// How it ended. The terminal is then as it was: no other screen, a cursor, lines and echo.
    fn ended(mut self) -> ExitStatus {
        let status = self.child.wait().unwrap();
        let modes = rustix::termios::tcgetattr(&self.keys).unwrap().local_modes;
        drop(self.keys);
        self.reader.join().unwrap();
        let parser = self.screen.lock().unwrap();
        let screen = parser.screen();
        assert!(!screen.alternate_screen() && !screen.hide_cursor());
        use rustix::termios::LocalModes;
        assert!(modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG));
        status
    }
}

/// The program is not the leader of the terminal's session, which the system would send a signal.
#[test]
fn a_terminal_that_goes_ends_it() {
    let files = Files::new(&[]);
    let (path, _limiter) = region(&files);
    let (pty, pts) = open().unwrap();
    let terminal = || std::process::Stdio::from(rustix::io::dup(&pts).unwrap());
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_ratecell"));
    command.args(["top", arg(&path)]).env("TERM", "xterm-256color");
    let mut child = command.stdin(terminal()).stdout(terminal()).stderr(terminal()).spawn().unwrap();
    let mut screen = std::fs::File::from(rustix::io::dup(&pty).unwrap());
    assert!(screen.read(&mut [0; 4096]).unwrap() > 0, "expected it to draw");
    drop((screen, pty));
    let started = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if started.elapsed() > PATIENCE {
            child.kill().unwrap();
            panic!("expected it to end");
        }
        sleep(Duration::from_millis(20));
    }
}

#[test]
fn on_a_pipe_it_prints_once_and_ends() {
    let files = Files::new(&[]);
    let (path, limiter) = region(&files);
    let text = ratecell(&["top", arg(&path)]).quiet_success();
    assert!(
        text.starts_with(&format!("{}: {}\nlive 2 of 600 keys", path.display(), limiter.policy())),
        "{text}"
    );
    let rows: Vec<Vec<_>> = text
        .lines()
        .skip_while(|line| !line.starts_with("---"))
        .skip(1)
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(rows.len(), 2, "{text}");
    assert_eq!((&rows[0][1..4], rows[0][0].len()), (&["500", "1", "000"][..], 8), "{text}");
}

#[test]
fn json_has_rates_and_keys() {
    let files = Files::new(&[]);
    let (path, limiter) = region(&files);
    let _traffic = Traffic::on(limiter);
    let json: Value =
        serde_json::from_str(&ratecell(&["top", arg(&path), "--json", "--keys", "1"]).quiet_success())
            .unwrap();
    assert_eq!((&json["max_keys"], &json["live"], &json["live_error"]), (&json!(600), &json!(2), &json!(0)));
    let (admitted, error) =
        (json["admitted_per_second"].as_f64().unwrap(), json["admitted_error"].as_f64().unwrap());
    assert!(admitted > 0.0 && error < admitted, "{json}");
    let keys = json["keys"].as_array().unwrap();
    assert_eq!((keys.len(), &keys[0]["used"], &keys[0]["limit"]), (1, &json!(500), &json!(1_000)));
    assert_eq!((&keys[0]["layer"], &keys[0]["retry_after_ns"]), (&json!(0), &json!(0)));
}

/// A file that names denied keys, of which one is denied until it is dropped.
fn named(files: &Files) -> (PathBuf, Traffic) {
    let path = files.path("named");
    let limiter = Limiter::builder("2/1d".parse::<Policy>().unwrap()).names(true).max_keys(600);
    let limiter = limiter.open(&path).unwrap();
    for key in ["user:43", "user:44"] {
        while limiter.check(key).is_allowed() {}
    }
    (path, Traffic::on(limiter))
}

#[test]
fn json_has_denials_and_names() {
    let files = Files::new(&[]);
    let (path, _traffic) = named(&files);
    let json: Value =
        serde_json::from_str(&ratecell(&["top", arg(&path), "--json"]).quiet_success()).unwrap();
    let denied = json["denied_per_second"].as_f64().unwrap();
    assert!(denied > 0.0, "{json}");
    let keys = json["keys"].as_array().unwrap();
    let of =
        |name: &str| keys.iter().find(|key| key["name"] == name).unwrap_or_else(|| panic!("{name}: {json}"));
    let rate = of("user:43")["denied_per_second"].as_f64().unwrap();
    assert!(rate > 0.0 && rate <= denied * 1.000_001, "{json}");
    assert_eq!(of("user:44")["denied_per_second"], json!(0.0));
    let text = ratecell(&["top", arg(&path)]).quiet_success();
    assert!(text.contains("user:43") && text.lines().any(|line| line.starts_with("denied/s")), "{text}");
}

#[test]
fn a_terminal_shows_who_is_denied() {
    let files = Files::new(&[]);
    let (path, traffic) = named(&files);
    let mut terminal = Terminal::new(&path, &[]);
    terminal.shows("user:44");
    terminal.press("d");
    terminal.until("the key that is denied, alone", |screen| {
        screen.contains("denied/s ▾") && screen.contains("user:43") && !screen.contains("user:44")
    });
    terminal.press("u/ser:44\r");
    terminal.until("a key by a part of its name", |screen| {
        screen.contains("user:44") && !screen.contains("user:43")
    });
    drop(traffic);
    terminal.press("q");
    assert!(terminal.ended().success());
}

#[test]
fn what_cannot_be_watched_is_said_in_a_line() {
    let files = Files::new(&[("text", b"not a region"), ("zeros", &[0; 65_536])]);
    let (path, _limiter) = region(&files);
    let mut other = std::fs::read(&path).unwrap();
    other[8] ^= 0xFF;
    std::fs::write(files.path("other"), other).unwrap();
    for (name, reason) in [
        ("text", "not a region of ratecell"),
        ("zeros", "not a region of ratecell"),
        ("other", "the region's layout"),
        ("missing", "No such file"),
    ] {
        let error = ratecell(&["top", arg(&files.path(name))]).error();
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn a_terminal_is_driven_by_keys() {
    let files = Files::new(&[]);
    let (path, limiter) = region(&files);
    let traffic = Traffic::on(limiter);
    let mut terminal = Terminal::new(&path, &[]);
    terminal.shows("500 of 1 000 (0)");
    // Its rate is seen, and it is the first by it.
    terminal.until("rate", |screen| {
        screen.lines().any(|line| line.starts_with("admitted/s") && !line.contains('…'))
    });
    terminal.press("a");
    terminal.until("order by rate", |screen| {
        let first = screen.lines().skip_while(|line| !line.starts_with("key")).nth(1).unwrap_or("");
        screen.contains("admitted/s ▾") && !first.contains("500 of") && first.contains("of 1 000 (0)")
    });
    terminal.press("?");
    terminal.shows("any key closes this");
    terminal.press("x/user:42\r");
    let found = terminal.until("the key by its name", |screen| {
        screen.contains("only user:42") && screen.lines().any(|line| line.starts_with("user:42"))
    });
    assert!(!found.contains("user:43"), "{found}");
    terminal.press("\x1b");
    terminal.until("all keys", |screen| !screen.contains("only user:42"));

    terminal.press(" ");
    terminal.shows("frozen: space goes on");
    terminal.press(" ");
    terminal.until("going on", |screen| !screen.contains("frozen"));
    // Another size of the terminal, on which all is drawn anew. A key that came beside the signal could wait for the next.
    {
        let mut screen = terminal.screen.lock().unwrap();
        screen.screen_mut().set_size(12, 40);
        screen.process(b"\x1b[2J");
    }
    terminal.keys.resize(Size::new(12, 40)).unwrap();
    terminal
        .until("keys on a small screen", |screen| screen.lines().count() <= 12 && screen.contains("live"));
    drop(traffic);
    terminal.press("q");
    assert!(terminal.ended().success());
}

#[test]
fn a_file_that_is_cut_or_replaced_is_said_so() {
    let files = Files::new(&[]);
    let (path, limiter_before) = region(&files);
    let mut terminal = Terminal::new(&path, &[("NO_COLOR", "1")]);
    terminal.shows("500 of 1 000 (0)");
    limiter_before.change("2000/1h & 100000/1d".parse::<Policy>().unwrap()).unwrap();
    terminal.shows("the policy was changed");
    terminal.shows("of 2 000 (0)");

    std::fs::remove_file(&path).unwrap();
    terminal.shows("the file was removed: expected the one that its limiters share");
    std::fs::write(&path, "not a region").unwrap();
    terminal.shows("not a region of ratecell");
    std::fs::remove_file(&path).unwrap();
    let after = limiter(&path, "7/1h");
    assert!(after.check_n("user:44", 3).is_allowed());
    terminal.shows("was replaced");
    terminal.shows("3 of 7");
    // Nobody decides by the file any more when it is cut.
    drop((limiter_before, after));
    std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(5_000).unwrap();
    terminal.shows("was cut to 5000 bytes");
    terminal.press("\x03");
    assert!(terminal.ended().success());
}

#[test]
fn a_signal_leaves_the_terminal_as_it_was() {
    let files = Files::new(&[]);
    let (path, _limiter) = region(&files);
    let terminal = Terminal::new(&path, &[]);
    terminal.shows("500 of 1 000");
    let child = Pid::from_child(&terminal.child);
    kill_process(child, Signal::TERM).unwrap();
    assert!(terminal.ended().success());
}
