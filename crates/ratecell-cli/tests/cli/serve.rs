//! `ratecell serve`: the program, and clients of Redis.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use ratecell::{Limiter, Policy, Region};
use redis::{Client, Connection, cmd, pipe};
use rustix::process::{Pid, Signal, kill_process};

use crate::support::{Files, arg, ratecell};

/// How long a test waits for what comes at once.
const PATIENCE: Duration = Duration::from_secs(60);

/// A program that serves, ended with this.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn new(args: &[&str]) -> Self {
        let mut all = vec!["serve", "--max-keys", "1000"];
        if !args.contains(&"--listen") {
            all.extend(["--listen", "127.0.0.1:0"]);
        }
        all.extend(args);
        let mut child = Command::new(env!("CARGO_BIN_EXE_ratecell"))
            .args(&all)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim_end().strip_prefix("ready: listening on ");
        let address = address.unwrap_or_else(|| panic!("{line}: {}", wait(&mut child).1));
        let address = address.split(' ').next().unwrap().to_owned();
        Self { child, address }
    }

    fn stream(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    fn client(&self, options: &str) -> Connection {
        self.client_of("", options)
    }

    fn client_of(&self, user: &str, options: &str) -> Connection {
        let url = format!("redis://{user}{}/{options}", self.address);
        Client::open(url).unwrap().get_connection_with_timeout(PATIENCE).unwrap()
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// The exit status after a signal, and standard error.
    fn end(mut self, signal: Signal) -> (Option<i32>, String) {
        self.signal(signal);
        wait(&mut self.child)
    }

    /// The bytes of memory that it uses.
    fn resident(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() << 10
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It has ended where its end was asked for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn wait(child: &mut Child) -> (Option<i32>, String) {
    let mut told = String::new();
    if let Some(stderr) = &mut child.stderr {
        stderr.read_to_string(&mut told).unwrap();
    }
    (child.wait().unwrap().code(), told)
}

/// What a connection answers until it is closed.
fn rest(mut stream: TcpStream) -> String {
    let mut text = Vec::new();
    match stream.read_to_end(&mut text) {
        Ok(_) => {}
        // The server closed it while more was on its way.
        Err(error) if error.kind() == ErrorKind::ConnectionReset => {}
        Err(error) => panic!("{error}"),
    }
    String::from_utf8(text).unwrap()
}

fn check(client: &mut Connection, name: &str, key: &str) -> Vec<i64> {
    cmd("RATECELL.CHECK").arg(name).arg(key).query(client).unwrap()
}

#[test]
fn a_client_of_redis_has_a_limiter() {
    let server = Server::new(&["--policy", "api=5/1d", "--policy", "login=sliding_window 2/1d"]);
    for options in ["", "?protocol=resp3"] {
        let mut client = server.client(options);
        let pong: String = cmd("PING").query(&mut client).unwrap();
        assert_eq!(pong, "PONG");
        let key = format!("user:42{options}");
        let mut throttle = cmd("CL.THROTTLE");
        throttle.arg(&key).arg(15).arg(30).arg(60);
        assert_eq!(throttle.query::<Vec<i64>>(&mut client).unwrap(), [0, 16, 15, -1, 2]);
        assert_eq!(check(&mut client, "api", &key)[..4], [0, 5, 4, 0]);
        let mut many = pipe();
        for _ in 0..200 {
            many.cmd("RATECELL.CHECK").arg("login").arg(&key);
        }
        let outcomes: Vec<Vec<i64>> = many.query(&mut client).unwrap();
        assert_eq!(outcomes.iter().filter(|outcome| outcome[0] == 0).count(), 2);
        let reserved: (i64, i64, i64, i64, i64, i64, String) =
            cmd("RATECELL.RESERVE").arg("api").arg(&key).arg(4).query(&mut client).unwrap();
        let mut other = server.client(options);
        let settled: Vec<i64> =
            cmd("RATECELL.SETTLE").arg("api").arg(reserved.6).arg(1).query(&mut other).unwrap();
        assert_eq!((reserved.2, settled[2]), (0, 3));
    }
    let error = cmd("GET").arg("a").query::<String>(&mut server.client("")).unwrap_err();
    assert!(error.to_string().contains("unknown command"), "{error}");
    assert_eq!(server.end(Signal::TERM), (Some(0), String::new()));
}

#[test]
fn threads_share_the_tables() {
    let server = Server::new(&["--policy", "api=1000/1d", "--threads", "4"]);
    let allowed: usize = std::thread::scope(|scope| {
        let threads = (0..16).map(|_| {
            scope.spawn(|| {
                let mut client = server.client("");
                (0..100).filter(|_| check(&mut client, "api", "all")[0] == 0).count()
            })
        });
        threads.collect::<Vec<_>>().into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(allowed, 1_000);
}

#[test]
fn files_outlive_a_killed_server_and_are_shared() {
    let files = Files::new(&[]);
    let folder = files.dir();
    let args = ["--policy", "api=50/1d", "--files", arg(folder)];
    let mut used = 0;
    for round in 0..5 {
        let server = Server::new(&args);
        let mut client = server.client("");
        let charged = |client: &mut Connection| check(client, "api", "user:42")[2];
        // Nothing that was answered is forgiven.
        assert_eq!(charged(&mut client), 49 - used, "round {round}");
        for _ in 0..4 {
            charged(&mut client);
        }
        let throttled: Vec<i64> =
            cmd("CL.THROTTLE").arg("user:42").arg(50).arg(1).arg(86_400).query(&mut client).unwrap();
        assert_eq!(throttled[2], 50 - round);
        used += 5;
        server.end(Signal::KILL);
    }
    let server = Server::new(&args);
    let beside = Limiter::builder("50/1d".parse::<Policy>().unwrap()).open(folder.join("api")).unwrap();
    assert_eq!(beside.check("user:42").remaining(), 24);
    assert_eq!(check(&mut server.client(""), "api", "user:42")[2], 23);
    assert_eq!(Region::read(folder.join("cl.throttle")).unwrap().max_keys(), beside_keys(folder));
    assert_eq!(server.end(Signal::INT), (Some(0), String::new()));
}

/// The keys that the file of the policy has room for.
fn beside_keys(folder: &Path) -> usize {
    Region::read(folder.join("api")).unwrap().max_keys()
}

#[test]
fn rules_are_read_again_while_requests_are_decided() {
    let text = |limit: u32| {
        format!(
            "ratecell_rules = 1\n[[rule]]\nname = 'site'\nkey = ['client']\nlimit = 'fixed_window {limit}/1d'\n"
        )
    };
    let files = Files::new(&[("rules.toml", text(10).as_bytes())]);
    let file = files.path("rules.toml");
    let mut server = Server::new(&["--rules", arg(&file), "--threads", "2"]);
    let mut told = BufReader::new(server.child.stderr.take().unwrap());
    let decide = |client: &mut Connection| -> (i64, i64, i64) {
        let answer: (i64, i64, i64, i64, i64, i64, String) =
            cmd("RATECELL.DECIDE").arg("client").arg("203.0.113.7").query(client).unwrap();
        (answer.0, answer.1, answer.2)
    };
    let mut client = server.client("");
    assert_eq!(decide(&mut client), (0, 10, 9));
    let is_over = std::sync::atomic::AtomicBool::new(false);
    let ordering = std::sync::atomic::Ordering::Relaxed;
    let mut reload = |text: &str| {
        std::fs::write(&file, text).unwrap();
        server.signal(Signal::HUP);
        let mut line = String::new();
        told.read_line(&mut line).unwrap();
        line
    };
    std::thread::scope(|scope| {
        let load = scope.spawn(|| {
            let mut client = server_client(&server.address);
            let mut decided = 0;
            while !is_over.load(ordering) {
                let limit = decide(&mut client).1;
                assert!((10..=40).contains(&limit), "{limit}");
                decided += 1;
            }
            decided
        });
        for limit in [20, 30, 40] {
            let line = reload(&text(limit));
            assert_eq!(line, format!("ratecell: {}: its rules are in force\n", file.display()));
        }
        let line = reload("ratecell_rules = 1\n[[rule]]\n");
        let begin = format!("ratecell: warning: the rules before stay in force: {}:", file.display());
        assert!(line.starts_with(&begin), "{line}");
        is_over.store(true, ordering);
        assert!(load.join().unwrap() > 0);
    });
    let (_, limit, _) = decide(&mut client);
    assert_eq!(limit, 40);
}

fn server_client(address: &str) -> Connection {
    Client::open(format!("redis://{address}/")).unwrap().get_connection_with_timeout(PATIENCE).unwrap()
}

#[test]
fn a_socket_is_listened_on() {
    let files = Files::new(&[]);
    let path = files.path("socket");
    // One that a server has left.
    drop(UnixListener::bind(&path).unwrap());
    let server = Server::new(&["--unix", arg(&path), "--threads", "2"]);
    let mut stream = UnixStream::connect(&path).unwrap();
    stream.write_all(b"PING\r\n").unwrap();
    let mut reply = [0; 7];
    stream.read_exact(&mut reply).unwrap();
    assert_eq!(&reply, b"+PONG\r\n");
    let error = ratecell(&["serve", "--unix", arg(&path)]).error();
    assert!(error.starts_with(&format!("ratecell: cannot listen on {}", path.display())), "{error}");
    assert_eq!(server.end(Signal::TERM), (Some(0), String::new()));
    assert!(!path.exists());
}

#[test]
fn a_password_is_asked_for() {
    let files = Files::new(&[("password", b"open sesame\n"), ("empty", b"")]);
    let server = Server::new(&["--password-file", arg(&files.path("password"))]);
    let mut client = server.client_of(":open%20sesame@", "?protocol=resp3");
    assert_eq!(cmd("PING").query::<String>(&mut client).unwrap(), "PONG");
    let mut stream = server.stream();
    stream.write_all(b"PING\r\nAUTH wrong\r\nQUIT\r\n").unwrap();
    let told = rest(stream);
    assert!(
        told.starts_with("-NOAUTH ") && told.contains("\r\n-WRONGPASS ") && told.ends_with("+OK\r\n"),
        "{told}"
    );
    let error = ratecell(&["serve", "--password-file", arg(&files.path("empty"))]).error();
    assert_eq!(error, "ratecell: the password is empty or has several lines: expected one line");
}

#[test]
fn what_is_wrong_at_the_start_is_one_line() {
    let files = Files::new(&[("rules.toml", b"ratecell_rules = 1\n[[rule]]\n")]);
    let missing = files.path("missing");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    for (args, begin) in [
        (&["--listen", "0.0.0.0:0"][..], "0.0.0.0:0 is an address that other machines reach: expected"),
        (&["--listen", &taken], &format!("cannot listen on {taken}, expected an address of this machine")),
        (&["--listen", &taken, "--threads", "4"], &format!("cannot listen on {taken}, expected an address")),
        (&["--policy", "5/1d"], "invalid value '5/1d' for '--policy <NAME=POLICY>': expected NAME=POLICY"),
        (&["--policy", "10/s burst=5"], "invalid value '10/s burst=5' for '--policy <NAME=POLICY>'"),
        (&["--policy", "a=5"], "invalid value 'a=5' for '--policy <NAME=POLICY>': "),
        (&["--policy", "a=calendar_window 5/day tz=caller"], "invalid value "),
        (&["--policy", "../a=5/1d"], "policy name \"../a\": expected 1 to 64 letters"),
        (&["--policy", "cl.throttle=5/1d"], "policy name \"cl.throttle\": expected "),
        (&["--policy", "a=5/1d", "--policy", "a=6/1d"], "policy a is given twice"),
        (&["--policy", "a=5/1d", "--max-keys", "0"], "policy a: "),
        (&["--files", arg(&missing)], &format!("{}: expected the folder", missing.display())),
        (&["--rules", arg(&missing)], &format!("{}: cannot be read, expected", missing.display())),
        (&["--rules", arg(&files.path("rules.toml"))], &format!("{}:", files.path("rules.toml").display())),
        (&["--threads", "0"], "invalid value '0' for '--threads <N>'"),
    ] {
        let mut all = vec!["serve"];
        all.extend(args);
        let error = ratecell(&all).error();
        assert!(error.starts_with(&format!("ratecell: {begin}")), "{args:?}: {error}");
    }
    let server = Server::new(&["--listen", "0.0.0.0:0", "--insecure"]);
    assert!(server.address.starts_with("0.0.0.0:"));
}

#[test]
fn junk_is_answered_by_an_error_and_the_end() {
    let server = Server::new(&[]);
    for (input, told) in [
        ("*1\r\n$536870912\r\n", "-ERR Protocol error: invalid bulk length\r\n"),
        ("*3\r\n$3\r\nSET\r\n:1\r\n", "-ERR Protocol error: expected '$', got ':'\r\n"),
        ("*2147483647\r\n", "-ERR Protocol error: invalid multibulk length\r\n"),
        ("POST / HTTP/1.1\r\nHost: localhost\r\n\r\nPING\r\n", ""),
        ("PING\r\n*x\r\n", "+PONG\r\n-ERR Protocol error: invalid multibulk length\r\n"),
    ] {
        let mut stream = server.stream();
        stream.write_all(input.as_bytes()).unwrap();
        assert_eq!(rest(stream), told, "{input:?}");
    }
    let mut stream = server.stream();
    stream.write_all("a".repeat(5_000).as_bytes()).unwrap();
    assert_eq!(rest(stream), "-ERR Protocol error: too big inline request\r\n");
    // Half a request is waited for, and its other half is read.
    let mut stream = server.stream();
    for part in ["*2\r\n$4\r\nEC", "HO\r\n$5\r\nhel", "lo\r", "\n"] {
        stream.write_all(part.as_bytes()).unwrap();
        std::thread::sleep(Duration::from_millis(20));
    }
    stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(rest(stream), "$5\r\nhello\r\n");
}

#[test]
fn who_does_not_read_keeps_nobody_waiting_and_takes_no_memory() {
    let server = Server::new(&["--threads", "1"]);
    let before = server.resident();
    // It sends as long as anybody takes it.
    let mut deaf = server.stream();
    deaf.set_write_timeout(Some(Duration::from_millis(500))).unwrap();
    let flood = "COMMAND\r\n".repeat(1_000);
    let mut sent = 0;
    loop {
        match deaf.write(flood.as_bytes()) {
            Ok(bytes) => sent += bytes,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => break,
            Err(error) => panic!("{error}"),
        }
        assert!(sent < 1 << 28, "all that was sent is taken");
    }
    let halves: Vec<_> = (0..100)
        .map(|_| {
            let mut half = server.stream();
            half.write_all(b"*3\r\n$14\r\nRATECELL.CHECK\r\n$3\r\na").unwrap();
            half
        })
        .collect();
    let mut client = server.client("");
    assert_eq!(cmd("PING").query::<String>(&mut client).unwrap(), "PONG");
    let grown = server.resident() - before;
    assert!(grown < 8 << 20, "{grown} bytes more after {sent} bytes were sent");
    drop(halves);
    // It ends though somebody does not read.
    assert_eq!(server.end(Signal::TERM).0, Some(0));
}

#[test]
fn connections_are_bounded_and_small() {
    let server = Server::new(&["--max-connections", "500", "--threads", "1"]);
    let mut first = server.client("");
    assert_eq!(cmd("PING").query::<String>(&mut first).unwrap(), "PONG");
    let before = server.resident();
    let idle: Vec<_> = (0..499).map(|_| server.stream()).collect();
    let refused = rest(server.stream());
    assert_eq!(refused, "-ERR max number of clients reached\r\n");
    assert_eq!(cmd("PING").query::<String>(&mut first).unwrap(), "PONG");
    let each = (server.resident() - before) / 499;
    assert!(each < 16 << 10, "{each} bytes for an idle connection");
    drop(idle);
    // Their places are free again.
    let free = (0..600).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        let mut stream = server.stream();
        stream.write_all(b"PING\r\n").unwrap();
        let mut reply = [0; 5];
        stream.read_exact(&mut reply).is_ok() && &reply == b"+PONG"
    });
    assert!(free);
}

#[test]
fn what_was_sent_before_the_end_is_answered() {
    let server = Server::new(&["--policy", "api=1000/1d", "--threads", "1"]);
    let mut streams: Vec<_> = (0..20).map(|_| server.stream()).collect();
    for stream in &mut streams {
        stream.write_all("RATECELL.PEEK api a\r\n".repeat(50).as_bytes()).unwrap();
    }
    assert_eq!(server.end(Signal::TERM), (Some(0), String::new()));
    let answered = streams.into_iter().map(|stream| rest(stream).matches("*6\r\n").count());
    // A connection that had not been accepted yet is not answered at all.
    assert!(answered.into_iter().all(|count| count == 50 || count == 0));
}

/// A page or a unit of the project.
fn project(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)).unwrap()
}

#[test]
fn the_commands_of_the_documents_run() {
    let files = Files::new(&[]);
    for (page, found) in [("docs/SERVERS.md", 1), ("README.md", 1), ("contrib/ratecell-serve.service", 1)] {
        let text = project(page);
        let lines = text.lines().map(|line| line.trim_start_matches("ExecStart=/usr/bin/"));
        let commands: Vec<_> = lines.filter_map(|line| line.strip_prefix("ratecell serve ")).collect();
        assert_eq!(commands.len(), found, "{page}");
        for command in commands {
            let command =
                command.replace("/run/ratecell", arg(files.dir())).replace(" --listen 127.0.0.1:6380", "");
            // The words are those that a shell makes of them.
            let words =
                Command::new("sh").args(["-c", &format!("printf '%s\\n' {command}")]).output().unwrap();
            let words = String::from_utf8(words.stdout).unwrap();
            let server = Server::new(&words.lines().collect::<Vec<_>>());
            // Two of them have the same files.
            let reply = check(&mut server.client(""), "api", page);
            assert_eq!(reply[..3], [0, 200, 199], "{page}: {command}");
            if page == "docs/SERVERS.md" {
                sessions(&text, &server);
            }
        }
    }
}

/// The sessions of redis-cli in a page are those with this server.
fn sessions(page: &str, server: &Server) {
    let port = server.address.rsplit(':').next().unwrap();
    let mut count = 0;
    for session in page.split("```console\n").skip(1) {
        let (session, _) = session.split_once("```").unwrap();
        let (command, reply) = session.split_once('\n').unwrap();
        let words = command.strip_prefix("$ redis-cli -p 6380 ").unwrap();
        let told = Command::new("redis-cli").args(["--no-raw", "-p", port]).args(words.split(' ')).output();
        let told = told.expect("redis-cli (Debian: redis-tools)");
        assert_eq!(String::from_utf8(told.stdout).unwrap(), reply, "{command}");
        count += 1;
    }
    assert_eq!(count, 2);
}

#[test]
fn the_page_has_every_command() {
    let page = project("docs/SERVERS.md");
    let server = Server::new(&[]);
    let names: Vec<String> = cmd("COMMAND").arg("LIST").query(&mut server.client("")).unwrap();
    assert!(names.len() > 20);
    for name in names {
        assert!(page.contains(&format!("`{}", name.to_uppercase())), "{name}");
    }
}
