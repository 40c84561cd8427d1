//! Servers that a test starts, and ends when it does.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use ratecell_core::algorithm::{Span, Want, WordLayout};
use ratecell_sync::{Answer, Attached, Connection, Operation, Store, StoreError, Terms, Value};

pub(crate) const TIMEOUT: Duration = Duration::from_secs(10);

/// How many cases: `DEPTH` says.
pub(crate) fn depth(short: u64, long: u64) -> u64 {
    if std::env::var("DEPTH").is_ok_and(|depth| depth == "long") { long } else { short }
}

pub(crate) struct Server {
    child: Option<Child>,
    folder: PathBuf,
    options: Vec<String>,
}

impl Server {
    /// A server behind a Unix socket, with more options.
    pub(crate) fn start(options: &[&str]) -> Self {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        // Relaxed: only the number counts.
        let unique = STARTED.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("ratecell-store-{}-{unique}", std::process::id()));
        std::fs::create_dir(&folder).expect("a folder");
        let options = options.iter().map(|option| (*option).to_owned()).collect();
        let mut server = Self { child: None, folder, options };
        server.run();
        server
    }

    fn run(&mut self) {
        let program = std::env::var("RATECELL_REDIS_SERVER").expect("RATECELL_REDIS_SERVER names a server");
        let log = std::fs::File::create(self.folder.join("log")).expect("a log");
        let mut command = Command::new(program);
        command
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a log"))
            .stderr(log);
        command.args(["--unixsocket", "socket", "--save", ""]);
        if !self.options.iter().any(|option| option == "--port") {
            command.args(["--port", "0"]);
        }
        let child = command.args(&self.options).spawn().expect("a server");
        self.child = Some(child);
        for _ in 0..1000 {
            if let Ok(mut connection) = self.raw() {
                let answer: redis::RedisResult<String> = redis::cmd("PING").query(&mut connection);
                match answer {
                    Err(error) if error.code() == Some("LOADING") => {}
                    _ => return,
                }
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("no server: {}", std::fs::read_to_string(self.folder.join("log")).unwrap_or_default());
    }

    pub(crate) fn url(&self) -> String {
        format!("unix:{}", self.folder.join("socket").display())
    }

    /// The address of a user.
    pub(crate) fn url_of(&self, user: &str, password: &str) -> String {
        format!("redis+unix://{}?user={user}&pass={password}", self.folder.join("socket").display())
    }

    pub(crate) fn raw(&self) -> redis::RedisResult<redis::Connection> {
        redis::Client::open(self.url())?.get_connection()
    }

    /// The answer to a command, as text; a panic if there is none.
    pub(crate) fn tell(&self, words: &[&str]) -> String {
        self.try_tell(words).unwrap_or_else(|error| panic!("{words:?}: {error}"))
    }

    pub(crate) fn try_tell(&self, words: &[&str]) -> redis::RedisResult<String> {
        let mut command = redis::cmd(words[0]);
        words[1..].iter().for_each(|word| {
            command.arg(*word);
        });
        let value: redis::Value = command.query(&mut self.raw()?)?;
        Ok(redis::from_redis_value_ref(&value).unwrap_or_else(|_| format!("{value:?}")))
    }

    pub(crate) fn version(&self) -> (u32, u32) {
        let info = self.tell(&["INFO", "server"]);
        let line = |name: &str| info.lines().find_map(|line| line.strip_prefix(name).map(str::to_owned));
        let version = line("valkey_version:").or_else(|| line("redis_version:")).expect("a version");
        let mut numbers = version.split('.').map(|number| number.parse().expect("a number"));
        (numbers.next().expect("major"), numbers.next().expect("minor"))
    }

    pub(crate) fn signal(&self, signal: &str) {
        let id = self.child.as_ref().expect("a running server").id().to_string();
        let status = Command::new("kill").args([signal, &id]).status().expect("kill");
        assert!(status.success());
    }

    /// Ends the server, with what it holds written to its file or not, and starts it again.
    pub(crate) fn restart(&mut self, keeps: bool) {
        let how: &[&str] = if keeps { &["SHUTDOWN", "SAVE"] } else { &["SHUTDOWN", "NOSAVE"] };
        // It closes the connection in the place of an answer.
        self.try_tell(how).expect_err("no answer");
        self.restart_killed();
    }

    /// Starts the server again that has been ended.
    pub(crate) fn restart_killed(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.wait().expect("an end");
        }
        self.run();
    }

    /// Kills the server; it is gone then.
    pub(crate) fn kill(&mut self) {
        let mut child = self.child.take().expect("a running server");
        child.kill().expect("a signal");
        child.wait().expect("an end");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // Gone already is as good.
            drop(child.kill());
            drop(child.wait());
        }
        if !std::thread::panicking() {
            drop(std::fs::remove_dir_all(&self.folder));
        }
    }
}

/// Terms of a policy with so many layers.
pub(crate) fn terms(layers: usize) -> Terms {
    let layout = WordLayout { word: *b"gcra    ", unit: 1, grain: 0, count_bits: 0 };
    Terms { layouts: vec![layout; layers], reach: vec![100; layers], policy: "100/s".to_owned(), version: 1 }
}

pub(crate) fn try_attach(url: &str) -> Result<Attached, StoreError> {
    Store::open(url)?.named("api")?.attach(Some(&terms(1)), TIMEOUT)
}

pub(crate) fn attach(url: &str) -> Connection {
    try_attach(url).unwrap_or_else(|error| panic!("{url}: {error}")).connection
}

/// The refusal, whose text must have all of these parts.
pub(crate) fn refused(url: &str, parts: &[&str]) -> StoreError {
    let error = try_attach(url).expect_err("a refusal");
    for part in parts {
        assert!(error.to_string().contains(part), "no {part:?} in: {error}");
    }
    error
}

pub(crate) fn now_ms() -> u64 {
    let since = std::time::UNIX_EPOCH.elapsed().expect("a clock");
    u64::try_from(since.as_millis()).expect("a time of this age")
}

/// An instant long after the test.
pub(crate) fn later() -> u64 {
    now_ms() + 3_600_000
}

pub(crate) fn value(generation: u8, words: &[u64]) -> Value {
    Value { generation, words: words.iter().copied().collect() }
}

/// A take of one unit where there is room for 100.
pub(crate) fn take(h: u64) -> Operation {
    let span = Span { floor: 0, ceiling: 100, unit: 1, raises: true };
    let want = Want { most: 1, least: 1, share: 1 };
    Operation::Take { h, generation: 0, spans: std::iter::once(span).collect(), want, expires_ms: later() }
}

/// The word that a take of one unit must leave.
pub(crate) fn taken(word: u64) -> Answer {
    Answer::Taken { units: 1, words: std::iter::once(word).collect() }
}

pub(crate) fn one(connection: &mut Connection, operation: Operation) -> Answer {
    let reply = connection.batch(&[operation]).expect("a reply");
    reply.answers.into_iter().next().expect("an answer")
}
