//! Runs the program.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// What a run left.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    /// What a run printed that succeeded and had nothing to complain of.
    pub(crate) fn quiet_success(self) -> String {
        assert_eq!((self.status, &*self.stderr), (Some(0), ""), "{}", self.stdout);
        self.stdout
    }

    /// The one line of a run that failed and printed nothing else.
    pub(crate) fn error(self) -> String {
        assert_eq!((self.status, &*self.stdout), (Some(2), ""), "{}", self.stderr);
        let line = self.stderr.strip_suffix('\n').unwrap_or_else(|| panic!("no line: {}", self.stderr));
        assert!(!line.contains('\n'), "several lines: {line}");
        line.to_owned()
    }
}

/// Runs `ratecell` with arguments, and with bytes on its standard input.
pub(crate) fn ratecell_with(args: &[&str], stdin: &[u8]) -> Run {
    let mut child = Command::new(env!("CARGO_BIN_EXE_ratecell"))
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let output = std::thread::scope(|scope| {
        // A program that has seen enough closes its input.
        scope.spawn(move || input.write_all(stdin));
        child.wait_with_output().unwrap()
    });
    Run {
        status: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

pub(crate) fn ratecell(args: &[&str]) -> Run {
    ratecell_with(args, b"")
}

/// A directory with files, gone at the end.
pub(crate) struct Files {
    dir: TempDir,
}

impl Files {
    pub(crate) fn new(files: &[(&str, &[u8])]) -> Self {
        let dir = TempDir::new().unwrap();
        for (name, text) in files {
            std::fs::write(dir.path().join(name), text).unwrap();
        }
        Self { dir }
    }

    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }
}

/// A path as an argument.
pub(crate) fn arg(path: &Path) -> &str {
    path.to_str().unwrap()
}
