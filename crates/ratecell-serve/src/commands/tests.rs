use std::sync::Arc;

use ratecell::rules::Rules;
use ratecell::{Decision, Outcome};

use super::*;
use crate::limits::Limits;

const RULES: &str = "
ratecell_rules = 1
[[rule]]
name = 'login'
match.path = '/login'
key = ['client']
limit = 'fixed_window 2/1d'
";

fn limits() -> Arc<Limits> {
    let limits = Limits::builder()
        .policy("api", "5/1d".parse().expect("a policy"))
        .policy("queue", "leaky_queue 1/1d queue=1".parse().expect("a policy"))
        .policy("slots", "in_flight 2 hold=1d".parse().expect("a policy"))
        .rules(Rules::parse(RULES).expect("rules"))
        .max_keys(1_000);
    Arc::new(limits.build().expect("tables"))
}

/// A connection without a network.
struct Client {
    answerer: Answerer,
    session: Session,
}

impl Client {
    fn new(password: Option<&[u8]>) -> Self {
        let password = password.map(|password| Password::new(password).expect("a password"));
        let session = Session::new(7, password.is_none());
        Self { answerer: Answerer::new(Arc::new(Server::new(limits(), password, 9))), session }
    }

    /// The replies to a line of words, without `\r`.
    fn says(&mut self, line: &str) -> String {
        let progress = self.answerer.answer(&mut self.session, format!("{line}\r\n").as_bytes());
        assert!(progress.is_end || progress.used == line.len() + 2, "{line}: {progress:?}");
        String::from_utf8(self.answerer.replies().to_vec()).expect("text").replace('\r', "")
    }

    /// An array of integers, and what is behind them.
    fn integers(&mut self, line: &str, count: usize) -> (Vec<i64>, String) {
        let reply = self.says(line);
        let mut lines = reply.lines().skip(1);
        let integers = lines.by_ref().take(count).map(|line| {
            let digits = line.strip_prefix(':').unwrap_or_else(|| panic!("{reply}"));
            digits.parse().unwrap_or_else(|_| panic!("{reply}"))
        });
        (integers.collect(), lines.collect::<Vec<_>>().join("\n"))
    }
}

#[test]
fn a_throttle_says_what_redis_cell_says() {
    let mut client = Client::new(None);
    assert_eq!(client.says("CL.THROTTLE user123 15 30 60"), "*5\n:0\n:16\n:15\n:-1\n:2\n");
    assert_eq!(client.says("cl.throttle user123 15 30 60 15"), "*5\n:0\n:16\n:0\n:-1\n:32\n");
    assert_eq!(client.says("CL.THROTTLE user123 15 30 60"), "*5\n:1\n:16\n:0\n:2\n:32\n");
    // More than there ever are.
    assert_eq!(client.says("CL.THROTTLE user123 15 30 60 17"), "*5\n:1\n:16\n:0\n:-1\n:32\n");
    // Another burst at the same rate is the same cell, and another rate is another.
    assert_eq!(client.says("CL.THROTTLE user123 16 1 2 0"), "*5\n:0\n:17\n:1\n:-1\n:32\n");
    assert_eq!(client.says("CL.THROTTLE user123 15 30 61 0"), "*5\n:0\n:16\n:16\n:-1\n:0\n");
}

#[test]
fn seconds_and_milliseconds_are_rounded_up() {
    let decision = Decision::new(Outcome::Denied, 5, 0, 1_000_000_001, 3_999_000_000, 0, 0);
    let mut replies = Replies::default();
    throttle::write(&mut replies, &decision);
    assert_eq!(replies.bytes(), b"*5\r\n:1\r\n:5\r\n:0\r\n:2\r\n:4\r\n");
    replies.clear();
    decide::write(&mut replies, &decision);
    assert_eq!(replies.bytes(), b"*6\r\n:1\r\n:5\r\n:0\r\n:1001\r\n:3999\r\n:0\r\n");
}

#[test]
fn a_check_is_by_the_name_of_a_policy() {
    let mut client = Client::new(None);
    let (first, _) = client.integers("RATECELL.CHECK api user:42 3", 6);
    assert_eq!((&first[..4], first[5]), (&[0, 5, 2, 0][..], 0));
    let (denied, _) = client.integers("RATECELL.CHECK api user:42 3", 6);
    assert_eq!(denied[..3], [1, 5, 2]);
    assert!((1..=17_280_000).contains(&denied[3]), "{denied:?}");
    let (never, _) = client.integers("RATECELL.CHECK api user:42 6", 6);
    assert_eq!(never[..4], [2, 5, 2, -1]);
    let (peek, _) = client.integers("RATECELL.PEEK api user:42", 6);
    assert_eq!(peek[..4], [0, 5, 2, 0]);
    assert_eq!(client.says("RATECELL.FORGET api user:42"), ":1\n");
    assert_eq!(client.says("RATECELL.FORGET api user:42"), ":0\n");
    let (peek, _) = client.integers("RATECELL.PEEK api user:42", 6);
    assert_eq!(peek, [0, 5, 5, 0, 0, 0]);
    let (_, _) = client.integers("RATECELL.CHECK queue user:42", 6);
    let (delayed, _) = client.integers("RATECELL.CHECK queue user:42", 6);
    assert_eq!(delayed[0], 0);
    assert!((86_000_000..=86_400_000).contains(&delayed[5]), "{delayed:?}");
}

#[test]
fn rules_decide_by_attributes() {
    let mut client = Client::new(None);
    for remaining in [1, 0] {
        let (answer, rule) = client.integers("RATECELL.DECIDE path /login client 203.0.113.7", 6);
        assert_eq!((&answer[..4], &*rule), (&[0, 2, remaining, 0][..], "$5\nlogin"));
    }
    let (denied, rule) = client.integers("RATECELL.DECIDE path /login client 203.0.113.7", 6);
    assert_eq!((&denied[..3], &*rule), (&[1, 2, 0][..], "$5\nlogin"));
    let (free, rule) = client.integers("RATECELL.DECIDE path / client 203.0.113.7", 6);
    assert_eq!((free, &*rule), (vec![0, -1, -1, 0, 0, 0], "$-1"));
    assert!(client.says("RATECELL.DECIDE path").starts_with("-ERR 1 arguments: expected pairs"));
}

#[test]
fn reservations_are_text_that_anybody_settles() {
    let mut client = Client::new(None);
    let (reserved, text) = client.integers("RATECELL.RESERVE api org:7 5", 6);
    assert_eq!(reserved[..3], [0, 5, 0]);
    let text = text.lines().nth(1).expect("a reservation").to_owned();
    let (refused, none) = client.integers("RATECELL.RESERVE api org:7 1", 6);
    assert_eq!((refused[0], &*none), (1, "$-1"));
    let (settled, _) = client.integers(&format!("RATECELL.SETTLE api {text} 1"), 6);
    assert_eq!(settled[..3], [0, 5, 4]);

    let mut permit = || {
        let (_, text) = client.integers("RATECELL.RESERVE slots org:7 1", 6);
        text.lines().nth(1).map(ToOwned::to_owned)
    };
    let (one, two, none) = (permit(), permit(), permit());
    assert!(two.is_some() && none.is_none());
    let (_, renewed) = client.integers(&format!("RATECELL.RENEW slots {}", one.expect("a permit")), 6);
    let renewed = renewed.lines().nth(1).expect("a permit").to_owned();
    let (released, back) = client.integers(&format!("RATECELL.RELEASE slots {renewed}"), 6);
    assert_eq!((&released[..3], &*back), (&[0, 2, 1][..], ":1"));
    let wrong = "-ERR that is no reservation: expected the text that RATECELL.RESERVE gave\n";
    for text in ["x", "====", "AAAA"] {
        assert_eq!(client.says(&format!("RATECELL.SETTLE api {text} 1")), wrong, "{text}");
    }
}

#[test]
fn a_pipeline_is_answered_in_its_order() {
    let mut client = Client::new(None);
    let lines = [
        "RATECELL.CHECK api a",
        "RATECELL.CHECK api a",
        "RATECELL.CHECK nowhere a",
        "CL.THROTTLE a 1 1 60",
        "PING",
        "CL.THROTTLE a 1 1 60",
        "CL.THROTTLE a 1 1 60",
        "CL.THROTTLE a x 1 60",
        "RATECELL.PEEK api a",
    ];
    let together = client.says(&lines.join("\r\n"));
    let mut other = Client::new(None);
    let apart: String = lines.iter().map(|line| other.says(line)).collect();
    // Of times only those are compared that do not pass meanwhile.
    let without_times = |text: &str| -> Vec<String> {
        text.lines().filter(|line| line.len() < 7 || !line.starts_with(':')).map(ToOwned::to_owned).collect()
    };
    assert_eq!(without_times(&together), without_times(&apart));
    assert!(together.contains("+PONG") && together.contains("-ERR max_burst is 'x'"), "{together}");
}

#[test]
fn a_long_batch_is_decided_in_parts() {
    let mut client = Client::new(None);
    let line = vec!["RATECELL.CHECK api a"; 100].join("\r\n");
    let replies = client.says(&line);
    assert_eq!(replies.matches("*6\n:0\n").count(), 5);
    assert_eq!(replies.matches("*6\n:1\n").count(), 95);
}

#[test]
fn replies_are_bounded_before_they_are_sent() {
    let mut client = Client::new(None);
    let input = "COMMAND\r\n".repeat(1_000);
    let (mut used, mut rounds) = (0, 0);
    while used < input.len() {
        let progress = client.answerer.answer(&mut client.session, &input.as_bytes()[used..]);
        assert!(progress.used > 0 && client.answerer.replies().len() < 2 * MAX_REPLIES);
        used += progress.used;
        assert_eq!(progress.is_more, used < input.len());
        rounds += 1;
    }
    assert!(rounds > 10, "{rounds}");
}

#[test]
fn clients_connect_by_their_usual_commands() {
    let mut client = Client::new(None);
    for (line, reply) in [
        ("PING", "+PONG\n"),
        ("PING hello", "$5\nhello\n"),
        ("ECHO hello", "$5\nhello\n"),
        ("SELECT 0", "+OK\n"),
        ("SELECT 1", "-ERR DB index is out of range\n"),
        ("CLIENT ID", ":7\n"),
        ("CLIENT GETNAME", "$-1\n"),
        ("CLIENT SETNAME worker", "+OK\n"),
        ("CLIENT GETNAME", "$6\nworker\n"),
        ("CLIENT SETINFO LIB-NAME redis-py", "+OK\n"),
        ("CLIENT SETINFO LIB-NAME", "-ERR wrong number of arguments for 'client|setinfo' command\n"),
        ("CLIENT KILL x", "-ERR unknown subcommand 'KILL'.\n"),
        ("COMMAND COUNT", ":21\n"),
        ("COMMAND DOCS", "*0\n"),
        ("CONFIG GET save", "*0\n"),
        ("HELLO 4", "-NOPROTO unsupported protocol version\n"),
        ("HELLO three", "-ERR Protocol version is not an integer or out of range\n"),
        ("HELLO 3 LOUD", "-ERR Syntax error in HELLO option 'LOUD'\n"),
        (
            "AUTH secret",
            "-ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?\n",
        ),
        ("GET", "-ERR unknown command 'GET', with args beginning with: \n"),
        ("SET a b", "-ERR unknown command 'SET', with args beginning with: 'a' 'b' \n"),
        ("CL.THROTTLE a 1 1", "-ERR wrong number of arguments for 'cl.throttle' command\n"),
        ("RATECELL.CHECK api", "-ERR wrong number of arguments for 'ratecell.check' command\n"),
        (
            "RATECELL.CHECK api a -1",
            "-ERR the number of units is '-1': expected an integer from 0 to 4294967295\n",
        ),
        (
            "RATECELL.CHECK nowhere a",
            "-ERR no policy is named 'nowhere': expected a name that the server was started with\n",
        ),
        ("CL.THROTTLE a -1 1 1", "-ERR max_burst is '-1': expected an integer from 0 to 4294967294\n"),
        ("CL.THROTTLE a 1 0 1", "-ERR count is '0': expected an integer from 1 to 4294967295\n"),
        ("CL.THROTTLE a 1 1 0", "-ERR period is '0': expected an integer from 1 to 4294967295\n"),
        ("CL.THROTTLE a 4294967295 1 1", "-ERR max_burst is too large: expected at most 4294967294\n"),
        ("RESET", "+RESET\n"),
        ("CLIENT GETNAME", "$-1\n"),
        ("QUIT", "+OK\n"),
    ] {
        assert_eq!(client.says(line), reply, "{line}");
    }
    assert!(client.session.is_ended);
    let info = Client::new(None).says("INFO server");
    assert!(info.contains("server_name:ratecell\n") && info.contains("\napi:5/d\n"), "{info}");
    let info = Client::new(None).says("RATECELL.INFO api");
    assert!(info.starts_with("*14\n$6\npolicy\n$3\n5/d\n$9\nlive_keys\n:0\n"), "{info}");
    assert!(Client::new(None).says("RATECELL.INFO").starts_with("*6\n$3\napi\n$3\n5/d\n"));
}

#[test]
fn the_third_protocol_has_maps_and_nulls() {
    let mut client = Client::new(None);
    let hello = client.says("HELLO 3 SETNAME worker");
    let expected = format!(
        "%7\n$6\nserver\n$8\nratecell\n$7\nversion\n${}\n{}\n$5\nproto\n:3\n$2\nid\n:7\n$4\nmode\n$10\nstandalone\n\
         $4\nrole\n$6\nmaster\n$7\nmodules\n*0\n",
        env!("CARGO_PKG_VERSION").len(),
        env!("CARGO_PKG_VERSION")
    );
    assert_eq!(hello, expected);
    assert_eq!(client.says("CLIENT GETNAME"), "$6\nworker\n");
    assert_eq!(client.says("COMMAND DOCS"), "%0\n");
    assert_eq!(client.says("COMMAND INFO get"), "*1\n_\n");
    assert!(client.says("HELLO 2").starts_with("*14\n"));
    assert_eq!(client.says("COMMAND INFO get"), "*1\n$-1\n");
}

#[test]
fn strangers_give_the_password_first() {
    let mut client = Client::new(Some(b"secret"));
    let (needed, wrong) = (
        "-NOAUTH Authentication required.\n",
        "-WRONGPASS invalid username-password pair or user is disabled.\n",
    );
    for line in ["PING", "RATECELL.CHECK api a", "CL.THROTTLE a 1 1 1", "GET a", "CLIENT ID", "COMMAND"] {
        assert_eq!(client.says(line), needed, "{line}");
    }
    for line in ["AUTH secre", "AUTH secret2", "AUTH other secret", "HELLO 3 AUTH default no"] {
        assert_eq!(client.says(line), wrong, "{line}");
    }
    assert!(
        client
            .says("HELLO 3")
            .starts_with("-NOAUTH HELLO must be called with the client already authenticated")
    );
    assert_eq!(client.says("AUTH secret"), "+OK\n");
    assert_eq!(client.says("PING"), "+PONG\n");
    assert_eq!(client.says("RESET"), "+RESET\n");
    assert_eq!(client.says("PING"), needed);
    // Nothing of it is done unless all of it can be.
    let bad_name = format!("HELLO 3 AUTH default secret SETNAME {}", "a".repeat(257));
    assert!(client.says(&bad_name).starts_with("-ERR Client names have at most 256 bytes"));
    assert!(client.says("HELLO 3 AUTH default secret LOUD").starts_with("-ERR Syntax error in HELLO"));
    assert_eq!(client.says("PING"), needed);
    assert!(client.says("HELLO 3 AUTH default secret").starts_with("%7\n"));
    assert_eq!(client.says("PING"), "+PONG\n");
    let flood = "AUTH wrong\r\n".repeat(10_000);
    let mut used = 0;
    let mut stranger = Client::new(Some(b"secret"));
    while used < flood.len() {
        let progress = stranger.answerer.answer(&mut stranger.session, &flood.as_bytes()[used..]);
        assert!(progress.used > 0 && stranger.answerer.replies().len() < 2 * MAX_REPLIES);
        used += progress.used;
    }
}

#[test]
fn what_takes_long_ends_the_turn_of_a_connection() {
    let mut client = Client::new(None);
    let long = "RATECELL.INFO api\r\n";
    let input = [long, long, "PING\r\n"].concat();
    let progress = client.answerer.answer(&mut client.session, input.as_bytes());
    assert_eq!(progress, Progress { used: long.len(), is_more: true, is_end: false });
    let rest = &input.as_bytes()[long.len()..];
    let progress = client.answerer.answer(&mut client.session, rest);
    assert_eq!(progress, Progress { used: long.len(), is_more: true, is_end: false });
    assert_eq!(client.says("PING"), "+PONG\n");
}

#[test]
fn a_request_of_http_is_not_answered() {
    for line in ["POST / HTTP/1.1", "GET /path HTTP/1.1", "OPTIONS * HTTP/1.0", "Host: localhost:6380"] {
        let mut client = Client::new(None);
        assert_eq!(client.says(&format!("{line}\r\nRATECELL.FORGET api a")), "");
        assert!(client.session.is_ended);
    }
}
