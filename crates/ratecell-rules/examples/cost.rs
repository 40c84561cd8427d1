//! What an evaluation costs: nanoseconds for each request, by number and kind of rules. No decision is in it.
//!
//! ```text
//! cargo run --release -p ratecell-rules --example cost
//! ```

use std::borrow::Cow;
use std::fmt::Write as _;
use std::fs;
use std::hint::black_box;
use std::sync::LazyLock;
use std::time::Instant;

use ratecell_rules::{Attribute, Attributes, Rules, Scratch};

const ROUNDS: u32 = 5;
/// So many that a tick of 4 ms, by which some systems count, is 40 ns of each.
const REQUESTS: u32 = 100_000;

/// The processor's time of this thread where the system tells it, so that a busy machine counts the same; else time.
fn now_ns() -> u64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    let told = fs::read_to_string("/proc/thread-self/schedstat").ok();
    let on_processor = told.as_deref().and_then(|told| told.split(' ').next()?.parse().ok());
    on_processor.unwrap_or_else(|| START.elapsed().as_nanos() as u64)
}

/// A request as a server has it.
struct Request {
    path: &'static str,
    client: &'static str,
    user: Option<&'static str>,
}

impl Attributes for Request {
    fn value(&self, attribute: Attribute<'_>) -> Option<Cow<'_, [u8]>> {
        let text = match attribute {
            Attribute::Method => "GET",
            Attribute::Path => self.path,
            Attribute::Host => "api.example.com",
            Attribute::Client => self.client,
            Attribute::Own("user") => self.user?,
            Attribute::Header(_) | Attribute::Own(_) => return None,
        };
        Some(Cow::Borrowed(text.as_bytes()))
    }
}

/// A service: a limit for all, a skip, many endpoints in one group, the rest, and a trial.
fn typical(endpoints: usize) -> String {
    let mut text = "ratecell_rules = 1\nattributes = ['user', 'tier']\n".to_owned();
    text += "[[rule]]\nname = 'site'\nkey = []\nlimit = '200/s burst=400'\n";
    text +=
        "[[rule]]\nname = 'health'\nmatch.path = '/health'\nmatch.client = ['10.0.0.0/8']\nmode = 'skip'\n";
    for number in 0..endpoints {
        let pattern = match number % 4 {
            0 => format!("/api/v1/r{number}/**"),
            1 => format!("/api/*/r{number}"),
            2 => format!("/files/r{number}-*"),
            _ => format!("/r{number}"),
        };
        let more = if number % 3 == 0 { "match.method = ['GET', 'POST']\n" } else { "" };
        let _ = write!(
            text,
            "[[rule]]\nname = 'e{number}'\ngroup = 'endpoint'\nmatch.path = '{pattern}'\n{more}key = ['user|client']\n\
             limit = {{ by = 'tier', of = {{ pro = '600/m' }}, default = '60/m' }}\n"
        );
    }
    text += "[[rule]]\nname = 'rest'\ngroup = 'endpoint'\nkey = ['client']\nlimit = '20/s'\n";
    text += "[[rule]]\nname = 'trial'\nmatch.user = true\nkey = ['user']\nlimit = '10/s'\nmode = 'shadow'\n";
    text
}

fn exact(count: usize) -> String {
    let rule = |number| {
        format!(
            "[[rule]]\nname = 'p{number}'\ngroup = 'g'\nmatch.path = '/api/v1/item{number}'\nkey = ['client']\nlimit = '5/s'\n"
        )
    };
    format!("ratecell_rules = 1\n{}", (0..count).map(rule).collect::<String>())
}

/// Rules that no index tells apart, and of which all apply.
fn alike(count: usize) -> String {
    let rule = |number| format!("[[rule]]\nname = 'a{number}'\nkey = ['client']\nlimit = '5/s'\n");
    format!("ratecell_rules = 1\n{}", (0..count).map(rule).collect::<String>())
}

fn main() {
    let v4 = |path| Request { path, client: "203.0.113.7", user: None };
    let v6 = |path| Request { path, client: "2001:db8:1:2::5", user: Some("ann") };
    println!("{:<34} {:<44} {:>6} {:>8}", "rules", "request", "claims", "ns");
    for (name, text, requests) in [
        ("5, typical", typical(1), vec![v4("/about"), v6("/api/v1/r0/x")]),
        (
            "100, typical",
            typical(96),
            vec![
                v4("/about"),
                v4("/api/v1/r88/x"),
                v6("/api/v1/r88/x"),
                v4("/files/r90-x"),
                v4("/api/v1%2Fr88/../x"),
            ],
        ),
        (
            "10,000, typical",
            typical(9_996),
            vec![
                v4("/about"),
                v4("/api/v1/r88/x"),
                v6("/api/v1/r88/x"),
                v4("/files/r90-x"),
                v4("/api/v1%2Fr88/../x"),
            ],
        ),
        ("100, exact paths", exact(100), vec![v4("/api/v1/item77"), v4("/api/v1/none")]),
        ("10,000, exact paths", exact(10_000), vec![v4("/api/v1/item7777"), v4("/api/v1/none")]),
        ("65,536, exact paths", exact(65_536), vec![v4("/api/v1/item7777"), v4("/api/v1/none")]),
        ("100, all of which apply", alike(100), vec![v4("/"), v6("/")]),
    ] {
        let started = now_ns();
        let rules = Rules::parse(&text).expect("rules");
        let parsed_ms = (now_ns() - started) / 1_000_000;
        let mut scratch = Scratch::default();
        for request in requests {
            let mut best = f64::INFINITY;
            for _ in 0..ROUNDS {
                let started = now_ns();
                for _ in 0..REQUESTS {
                    black_box(rules.evaluate(black_box(&request), &mut scratch));
                }
                best = best.min((now_ns() - started) as f64 / f64::from(REQUESTS));
            }
            let claims = rules.evaluate(&request, &mut scratch).claims().len();
            let who = format!("{} by {}", request.path, request.client);
            println!("{name:<34} {who:<44} {claims:>6} {best:>8.1}");
        }
        println!("{name:<34} read and checked in {parsed_ms} ms");
    }
}
