//! `ratecell export`: the program, files that limiters use, and an HTTP client.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use ratecell::{Limiter, Policy};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::contrib::promtool;
use crate::support::{Files, arg, ratecell};

/// A program that exports, ended with this.
struct Exporter {
    child: Child,
    url: String,
}

impl Exporter {
    fn new(files: &[&Path]) -> Self {
        let mut args = vec!["export", "--listen", "127.0.0.1:0"];
        args.extend(files.iter().map(|file| arg(file)));
        Self::with(&args)
    }

    fn with(args: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_ratecell"))
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.trim_end().strip_prefix("ready: the metrics are at ");
        let url = url.and_then(|url| url.strip_suffix("/metrics"));
        let url = url.unwrap_or_else(|| panic!("{line}: {}", wait(&mut child).1)).to_owned();
        Self { child, url }
    }

    /// Content type and text of `/metrics`, for a client that accepts `accept`.
    fn metrics(&self, accept: &str) -> (String, String) {
        let mut response =
            ureq::get(format!("{}/metrics", self.url)).header("Accept", accept).call().unwrap();
        let kind = response.headers()["content-type"].to_str().unwrap().to_owned();
        (kind, response.body_mut().read_to_string().unwrap())
    }

    /// The value of a sample, as it is printed without `{` and `}`.
    fn value(&self, sample: &str) -> Option<f64> {
        let (_, text) = self.metrics("*/*");
        let line = text.lines().find_map(|line| line.strip_prefix(sample)?.strip_prefix(' '));
        line.map(|value| value.parse().unwrap())
    }

    /// The exit status after a signal, and standard error.
    fn end(mut self, signal: Signal) -> (Option<i32>, String) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
        wait(&mut self.child)
    }
}

impl Drop for Exporter {
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

fn region(files: &Files, name: &str, policy: &str) -> (PathBuf, Limiter) {
    let path = files.path(name);
    let limiter = Limiter::builder(policy.parse::<Policy>().unwrap()).max_keys(600).open(&path).unwrap();
    (path, limiter)
}

/// Type and meaning of the metrics that docs/OPERATIONS.md lists: those of all limiters and of the exporter.
fn documented() -> BTreeMap<String, (String, String)> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/OPERATIONS.md");
    let page = std::fs::read_to_string(page).unwrap();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `ratecell_")?.strip_suffix(" |"));
    // What limiters without a store have comes first.
    let leases = ratecell::metrics::all().skip(10).map(|metric| metric.name);
    let left_out: Vec<_> = leases.chain(["ratecell_requests_total"]).collect();
    let rows = rows.map(|row| {
        let cells: Vec<_> = row.splitn(4, " | ").collect();
        let name = format!("ratecell_{}", cells[0].trim_end_matches('`'));
        (name, (cells[1].to_owned(), cells[3].to_owned()))
    });
    rows.filter(|(name, _)| !left_out.contains(&name.as_str())).collect()
}

/// Type and meaning of what a text describes.
fn described(text: &str) -> BTreeMap<String, (String, String)> {
    let of = |word: &str| -> BTreeMap<String, String> {
        let lines = text.lines().filter_map(|line| line.strip_prefix(word)?.split_once(' '));
        lines.map(|(name, rest)| (name.to_owned(), rest.to_owned())).collect()
    };
    let kinds = of("# TYPE ");
    of("# HELP ").into_iter().map(|(name, help)| (name.clone(), (kinds[&name].clone(), help))).collect()
}

#[test]
fn the_metrics_are_those_that_are_documented() {
    let files = Files::new(&[]);
    let (api, limiter) = region(&files, "api", "5/1d");
    let login = files.path("a \"b\"\\c");
    let named = Limiter::builder("sliding_window 1/1d".parse::<Policy>().unwrap()).names(true);
    let named = named.max_keys(600).open(&login).unwrap();
    assert_eq!([(); 3].map(|()| named.check("user:42").is_allowed()), [true, false, false]);
    for key in ["user:42", "user:43"] {
        assert!(limiter.check_n(key, 3).is_allowed());
    }
    let before = std::fs::read(&api).unwrap();
    let exporter = Exporter::new(&[&api, &login]);
    let (kind, text) = exporter.metrics("*/*");
    assert_eq!(kind, "text/plain; version=0.0.4; charset=utf-8");
    assert_eq!(described(&text), documented());
    promtool(&["check", "metrics"], &text);
    let file = format!("file=\"{}\"", api.display());
    let stats = limiter.stats();
    for (sample, value) in [
        (format!("ratecell_up{{{file}}}"), 1.0),
        (format!("ratecell_policy_info{{{file},policy=\"5/d\",when_full=\"evict\"}}"), 1.0),
        (format!("ratecell_live_keys{{{file}}}"), 2.0),
        (format!("ratecell_max_keys{{{file}}}"), 600.0),
        (format!("ratecell_fill_ratio{{{file}}}"), 2.0 / 600.0),
        (format!("ratecell_slots{{{file}}}"), stats.slots as f64),
        (format!("ratecell_table_bytes{{{file}}}"), stats.bytes as f64),
        (format!("ratecell_evicted_keys_total{{{file}}}"), 0.0),
        (format!("ratecell_up{{file=\"{}/a \\\"b\\\"\\\\c\"}}", files.dir().display()), 1.0),
        (
            format!("ratecell_denied_requests_total{{file=\"{}/a \\\"b\\\"\\\\c\"}}", files.dir().display()),
            2.0,
        ),
        (format!("ratecell_build_info{{version=\"{}\"}}", env!("CARGO_PKG_VERSION")), 1.0),
    ] {
        assert_eq!(exporter.value(&sample), Some(value), "{sample}\n{text}");
    }
    // Where nobody counts them there is no number.
    assert_eq!(exporter.value(&format!("ratecell_denied_requests_total{{{file}}}")), None);
    let epoch = limiter.epoch().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs_f64();
    assert_eq!(exporter.value(&format!("ratecell_epoch_timestamp_seconds{{{file}}}")), Some(epoch));

    let prometheus =
        "application/openmetrics-text;version=1.0.0;q=0.6,text/plain;version=0.0.4;q=0.3,*/*;q=0.1";
    let (kind, text) = exporter.metrics(prometheus);
    assert_eq!(kind, "application/openmetrics-text; version=1.0.0; charset=utf-8");
    assert!(text.contains("# TYPE ratecell_evicted_keys counter\n"), "{text}");
    assert!(text.contains("# UNIT ratecell_table_bytes bytes\n"), "{text}");
    assert!(text.ends_with("} 1\n# EOF\n"), "{text}");
    // Nothing was written.
    assert_eq!(std::fs::read(&api).unwrap(), before);
    assert_eq!(exporter.end(Signal::TERM), (Some(0), String::new()));
}

#[test]
fn a_file_of_rules_has_a_line_for_each_limit() {
    let files = Files::new(&[]);
    let path = files.path("shop");
    let text = "ratecell_rules = 1\n\
        [[rule]]\nname = \"visitor\"\nkey = [\"client\"]\nlimit = \"5/1d\"\n\
        [[rule]]\nname = \"order\"\nkey = []\nlimit = \"fixed_window 3/1d\"\n";
    let rules = text.parse::<ratecell::rules::Rules>().unwrap();
    let limiter = ratecell::rules::RulesLimiter::builder(rules).max_keys(600).open(&path).unwrap();
    assert!(limiter.decide(&[("client", "203.0.113.7")]).is_allowed());
    let exporter = Exporter::new(&[&path]);
    let file = format!("file=\"{}\"", path.display());
    for (sample, value) in [
        (format!("ratecell_up{{{file}}}"), 1.0),
        (format!("ratecell_policy_info{{{file},rule=\"visitor\",policy=\"5/d\",when_full=\"evict\"}}"), 1.0),
        (
            format!(
                "ratecell_policy_info{{{file},rule=\"order\",policy=\"fixed_window 3/d\",when_full=\"evict\"}}"
            ),
            1.0,
        ),
        (format!("ratecell_live_keys{{{file}}}"), 2.0),
        (format!("ratecell_max_keys{{{file}}}"), 600.0),
    ] {
        assert_eq!(exporter.value(&sample), Some(value), "{sample}\n{}", exporter.metrics("*/*").1);
    }
    assert_eq!(exporter.end(Signal::TERM), (Some(0), String::new()));
}

#[test]
fn the_server_has_two_pages_and_only_reads() {
    let files = Files::new(&[]);
    let (path, _limiter) = region(&files, "api", "5/1d");
    let exporter = Exporter::new(&[&path]);
    let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
    let url = |page: &str| format!("{}{page}", exporter.url);
    let mut home = agent.get(url("/")).call().unwrap();
    let text = home.body_mut().read_to_string().unwrap();
    assert!(text.contains("/metrics") && text.contains(arg(&path)), "{text}");
    assert_eq!(agent.get(url("/metrics/")).call().unwrap().status(), 404);
    let refused = agent.post(url("/metrics")).send("x").unwrap();
    assert_eq!((refused.status().as_u16(), refused.headers()["allow"].to_str().unwrap()), (405, "GET, HEAD"));
    let head = agent.head(url("/metrics")).call().unwrap();
    assert_eq!(head.status(), 200);
    let length: u64 = head.headers()["content-length"].to_str().unwrap().parse().unwrap();
    assert!(length > 1_000, "{length}");
    assert_eq!(exporter.end(Signal::INT), (Some(0), String::new()));
}

#[test]
fn a_file_that_goes_is_picked_up_again() {
    let files = Files::new(&[]);
    let (path, limiter) = region(&files, "api", "5/1d");
    let (stays, _limiter) = region(&files, "login", "1/1d");
    assert!(limiter.check("user:42").is_allowed());
    let exporter = Exporter::new(&[&path, &stays]);
    let sample = |name: &str| exporter.value(&format!("{name}{{file=\"{}\"}}", path.display()));
    assert_eq!((sample("ratecell_up"), sample("ratecell_live_keys")), (Some(1.0), Some(1.0)));
    std::fs::remove_file(&path).unwrap();
    for _ in 0..2 {
        assert_eq!((sample("ratecell_up"), sample("ratecell_live_keys")), (Some(0.0), None));
    }
    assert_eq!(exporter.value(&format!("ratecell_up{{file=\"{}\"}}", stays.display())), Some(1.0));
    // What comes in its place is another region, and then none.
    let (_, other) = region(&files, "api", "7/1d");
    assert!(other.check("user:1").is_allowed() && other.check("user:2").is_allowed());
    assert_eq!((sample("ratecell_up"), sample("ratecell_live_keys")), (Some(1.0), Some(2.0)));
    std::fs::write(files.path("new"), "no region").unwrap();
    std::fs::rename(files.path("new"), &path).unwrap();
    assert_eq!(sample("ratecell_up"), Some(0.0));
    let (status, told) = exporter.end(Signal::TERM);
    let told: Vec<_> = told.lines().collect();
    assert_eq!((status, told.len()), (Some(0), 3), "{told:?}");
    let begins = |line: &str, kind: &str| line.starts_with(&format!("ratecell: {kind}{}", path.display()));
    assert!(begins(told[0], "warning: ") && told[0].contains("No such file"), "{told:?}");
    assert_eq!(told[1], format!("ratecell: {}: is read again", path.display()));
    assert!(begins(told[2], "warning: "), "{told:?}");
}

/// The bytes of a file that are in memory.
fn resident(path: &Path) -> u64 {
    let told =
        Command::new("fincore").args(["--bytes", "--noheadings", "--output", "RES"]).arg(path).output();
    String::from_utf8(told.unwrap().stdout).unwrap().trim().parse().unwrap()
}

#[test]
fn a_scrape_reads_no_more_of_a_large_file_than_its_sample() {
    // Not in TMPDIR, which may be in memory itself.
    let files = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = files.path().join("large");
    let policy = "5/1d".parse::<Policy>().unwrap();
    drop(Limiter::builder(policy).max_keys(2_500_000).open(&path).unwrap());
    let file = std::fs::File::open(&path).unwrap();
    file.sync_all().unwrap();
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
    let before = resident(&path);
    assert!(before < 1 << 20, "{before} bytes in memory: expected a target folder that is on a disk");
    let exporter = Exporter::new(&[&path]);
    let sample = format!("ratecell_live_keys{{file=\"{}\"}}", path.display());
    assert_eq!(exporter.value(&sample), Some(0.0));
    let read = resident(&path);
    assert!(read > 4 << 20 && read < 6 << 20, "{read} bytes of {}", file.metadata().unwrap().len());
}

#[test]
fn a_client_that_stalls_keeps_nobody_waiting() {
    let files = Files::new(&[]);
    let (path, _limiter) = region(&files, "api", "5/1d");
    let exporter = Exporter::new(&[&path]);
    let address = exporter.url.strip_prefix("http://").unwrap();
    let mut stalled: Vec<_> = (0..10).map(|_| TcpStream::connect(address).unwrap()).collect();
    for client in &mut stalled {
        client.write_all(b"GET /metrics HTTP/1.1\r\nHost: ").unwrap();
    }
    let sample = format!("ratecell_up{{file=\"{}\"}}", path.display());
    assert_eq!(exporter.value(&sample), Some(1.0));
    assert_eq!(exporter.end(Signal::TERM), (Some(0), String::new()));
}

#[test]
fn the_commands_of_the_documents_run() {
    let files = Files::new(&[]);
    let _limiters = ["api", "login", "limits"].map(|name| region(&files, name, "5/1d"));
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (page, found) in [("docs/OPERATIONS.md", 1), ("README.md", 1), ("contrib/ratecell-export.service", 1)]
    {
        let text = std::fs::read_to_string(root.join(page)).unwrap();
        let lines = text.lines().map(|line| line.trim_start_matches("ExecStart=/usr/bin/"));
        let commands: Vec<_> = lines.filter_map(|line| line.strip_prefix("ratecell export ")).collect();
        assert_eq!(commands.len(), found, "{page}");
        for command in commands {
            let words = command.split(' ').map(|word| match word.strip_prefix("/run/limits") {
                Some("") => arg(&files.path("limits")).to_owned(),
                Some(file) => format!("{}{file}", files.dir().display()),
                None => word.replace(":9898", ":0"),
            });
            let words: Vec<_> = words.collect();
            let mut args: Vec<_> = words.iter().map(String::as_str).collect();
            args.insert(0, "export");
            if !args.contains(&"--listen") {
                args.extend(["--listen", "127.0.0.1:0"]);
            }
            let exporter = Exporter::with(&args);
            assert!(exporter.metrics("*/*").1.contains("\nratecell_live_keys{"), "{page}: {command}");
        }
    }
}

#[test]
fn what_is_wrong_at_the_start_is_one_line() {
    let files = Files::new(&[("text", b"not a region"), ("zeros", &[0; 65_536])]);
    let (path, _limiter) = region(&files, "api", "5/1d");
    let mut other = std::fs::read(&path).unwrap();
    other[8] ^= 0xFF;
    std::fs::write(files.path("other"), other).unwrap();
    for name in ["text", "zeros", "other", "missing"] {
        let error = ratecell(&["export", arg(&path), arg(&files.path(name))]).error();
        assert!(error.starts_with(&format!("ratecell: {}", files.path(name).display())), "{error}");
    }
    let link = files.path("link");
    symlink(&path, &link).unwrap();
    for twice in [&path, &link] {
        let error = ratecell(&["export", arg(&path), arg(twice)]).error();
        let expected = format!("the same file as {}: expected each file once", path.display());
        assert_eq!(error, format!("ratecell: {}: {expected}", twice.display()));
    }
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let error = ratecell(&["export", arg(&path), "--listen", &address]).error();
    let begin = format!(
        "ratecell: cannot listen on {address}, expected an address of this machine and a free port: "
    );
    assert!(error.starts_with(&begin) && error.contains("in use"), "{error}");
    let error = ratecell(&["export", arg(&path), "--listen", "localhost"]).error();
    let expected = "expected an IP address and a port, such as 127.0.0.1:9898 or [::1]:9898";
    assert_eq!(
        error,
        format!("ratecell: invalid value 'localhost' for '--listen <ADDRESS:PORT>': {expected}")
    );
    let error = ratecell(&["export"]).error();
    assert!(error.contains("required arguments were not provided: <FILE>..."), "{error}");
}
