//! `ratecell envoy`, without a client, and `ratecell rules import`. `ci/envoy.sh` has the clients.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::{Files, Run, arg, ratecell};

const YAML: &str =
    "domain: d\ndescriptors:\n- key: user\n  rate_limit: {unit: minute, requests_per_unit: 5}\n";

fn imported() -> String {
    let files = Files::new(&[("limits.yaml", YAML.as_bytes())]);
    ratecell(&["rules", "import", arg(&files.path("limits.yaml"))]).quiet_success()
}

#[test]
fn files_become_one_file_of_rules() {
    let other = YAML.replace("domain: d", "domain: e");
    let files = Files::new(&[("d.yaml", YAML.as_bytes()), ("e.yaml", other.as_bytes())]);
    let (d, e) = (files.path("d.yaml"), files.path("e.yaml"));
    let rules = ratecell(&["rules", "import", arg(&d), arg(&e)]).quiet_success();
    let files = Files::new(&[("rules.toml", rules.as_bytes())]);
    let table = ratecell(&["rules", "check", arg(&files.path("rules.toml"))]).quiet_success();
    assert!(
        table.contains("d.user") && table.contains("e.user") && table.contains("fixed_window 5/m"),
        "{table}"
    );
}

#[test]
fn what_cannot_be_imported_is_named_with_its_line() {
    let files = Files::new(&[("limits.yaml", YAML.replace("minute", "fortnight").as_bytes())]);
    let path = files.path("limits.yaml");
    let Run { status, stdout, stderr } = ratecell(&["rules", "import", arg(&path)]);
    assert_eq!((status, &*stdout), (Some(1), ""));
    let expected =
        "limits.yaml:4: the unit \"fortnight\": expected second, minute, hour, day, week, month or year\n";
    assert!(stderr.ends_with(expected), "{stderr}");
    let missing = ratecell(&["rules", "import", arg(&files.path("none.yaml"))]).error();
    assert!(
        missing.contains("none.yaml: cannot be read, expected a file of envoyproxy/ratelimit"),
        "{missing}"
    );
}

#[test]
fn what_cannot_be_served_is_refused() {
    let files = Files::new(&[
        ("rules.toml", imported().as_bytes()),
        ("bad.toml", b"ratecell_rules = 2\n"),
        ("none.pem", b""),
    ]);
    let rules = files.path("rules.toml");
    let (bad, none) = (files.path("bad.toml"), files.path("none.pem"));
    let pem = arg(&none);
    for (args, expected) in [
        (
            &["--rules", arg(&rules), "--listen", "0.0.0.0:0"][..],
            "0.0.0.0:0 is an address that other machines reach: expected",
        ),
        (&["--rules", arg(&bad)], "bad.toml:2: rule: "),
        (&["--rules", pem, "--max-keys", "0"], "none.pem"),
        (&["--rules", "/nowhere"], "/nowhere: cannot be read, expected a file of rules: No such file"),
        (&["--rules", arg(&rules), "--tls-key", pem], "--tls-certificate"),
        (
            &["--rules", arg(&rules), "--tls-certificate", pem, "--tls-key", pem],
            "the files for TLS are not right",
        ),
        (&["--rules", arg(&rules), "--unix", arg(files.dir())], "cannot listen on"),
    ] {
        let told = ratecell(&[&["envoy"], args].concat()).error();
        assert!(told.contains(expected), "{args:?}: {told}");
    }
}

struct Server {
    child: Child,
    ready: String,
}

impl Server {
    fn new(args: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_ratecell"))
            .arg("envoy")
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut ready = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut ready).unwrap();
        assert!(ready.starts_with("ready: listening on "), "{ready}");
        Self { child, ready }
    }

    /// The exit status after SIGTERM, and standard error.
    fn end(mut self) -> (Option<i32>, String) {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
        let mut told = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut told).unwrap();
        (self.child.wait().unwrap().code(), told)
    }
}

#[test]
fn pages_are_answered_and_other_bytes_are_not() {
    let files = Files::new(&[("rules.toml", imported().as_bytes())]);
    let rules = files.path("rules.toml");
    let server =
        Server::new(&["--rules", arg(&rules), "--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0"]);
    let url = server.ready.trim_end().rsplit_once(" at ").unwrap().1.to_owned();
    let get =
        |url: &str| ureq::get(url).call().map(|mut response| response.body_mut().read_to_string().unwrap());
    let text = get(&url).unwrap();
    assert!(text.contains("\nratelimit_service_config_load_success{} 1\n"), "{text}");
    assert!(text.contains("\nratecell_live_keys{} 0\n"), "{text}");
    assert_eq!(get(&url.replace("/metrics", "/healthcheck")).unwrap(), "OK");
    assert!(get(&url.replace("/metrics", "/json")).is_err());
    // A client that speaks something else is let go.
    let address =
        server.ready.strip_prefix("ready: listening on ").unwrap().split(',').next().unwrap().to_owned();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let mut rest = Vec::new();
    // Whether it is reset or ended is the system's.
    let _ = stream.read_to_end(&mut rest);
    assert_eq!(server.end(), (Some(0), String::new()));
}

#[test]
fn the_unit_for_systemd_runs() {
    let unit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contrib/ratecell-envoy.service");
    let unit = std::fs::read_to_string(unit).unwrap();
    let mut commands =
        unit.lines().filter_map(|line| line.strip_prefix("ExecStart=/usr/bin/ratecell envoy "));
    let command = commands.next().unwrap();
    let files = Files::new(&[("edge.toml", imported().as_bytes())]);
    let command = command
        .replace("/etc/ratecell", arg(files.dir()))
        .replace("/run/ratecell", arg(files.dir()))
        .replace("127.0.0.1:9090", "127.0.0.1:0");
    let words: Vec<_> = command.split(' ').chain(["--listen", "127.0.0.1:0"]).collect();
    assert_eq!(Server::new(&words).end(), (Some(0), String::new()));
    assert!(files.path("edge").exists());
}
