//! Prints an invented access log of about a day in the combined format: `make_log [RECORDS [SEED]]`.
//!
//! A few visitors ask often and most ask seldom, by Zipf's law; a few crawlers come in bursts. As in the
//! log of a real server, a record is written when its request is done but bears the time when it began,
//! so that the times step back a little now and then.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::env;
use std::io::{self, BufWriter, Write, stdout};
use std::net::Ipv4Addr;
use std::process::ExitCode;

use jiff::Timestamp;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Exp, Zipf};

/// 2025-03-03, a Monday.
const MIDNIGHT_MS: i64 = 1_740_960_000_000;
const DAY_MS: f64 = 86_400_000.0;

/// Of all records, those of crawlers.
const CRAWLER_SHARE: f64 = 0.1;
const BURST: u32 = 200;
const BURST_GAP_MS: f64 = 60.0;

/// How long a request takes, most of the time and at worst: a download by a slow client.
const REQUEST_MS: f64 = 80.0;
const DOWNLOAD_MS: f64 = 3_000.0;

const CRAWLERS: [(&str, &str); 4] = [
    ("66.249.73.135", "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"),
    ("40.77.167.12", "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)"),
    ("54.36.148.201", "Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)"),
    ("185.191.171.9", "python-requests/2.32.3"),
];

const BROWSERS: [&str; 4] = [
    "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Safari/605.1.15",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148",
];

const PAGES: f64 = 5_000.0;

/// Whose turn it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Source {
    Visitors,
    Crawler { index: usize, left_of_burst: u32 },
}

/// What is drawn for each record.
struct Traffic {
    rng: StdRng,
    visitor_gap_ms: Exp<f64>,
    crawler_pause_ms: Exp<f64>,
    burst_gap_ms: Exp<f64>,
    visitors: Zipf<f64>,
    pages: Zipf<f64>,
    request_ms: Exp<f64>,
    download_ms: Exp<f64>,
}

impl Traffic {
    fn new(records: u64, seed: u64) -> Option<Self> {
        let records = records as f64;
        let bursts_a_crawler = records * CRAWLER_SHARE / f64::from(BURST) / CRAWLERS.len() as f64;
        Some(Self {
            rng: StdRng::seed_from_u64(seed),
            visitor_gap_ms: Exp::new(records * (1.0 - CRAWLER_SHARE) / DAY_MS).ok()?,
            crawler_pause_ms: Exp::new(bursts_a_crawler / DAY_MS).ok()?,
            burst_gap_ms: Exp::new(BURST_GAP_MS.recip()).ok()?,
            visitors: Zipf::new((records / 5.0).max(10.0), 1.0).ok()?,
            pages: Zipf::new(PAGES, 0.9).ok()?,
            request_ms: Exp::new(REQUEST_MS.recip()).ok()?,
            download_ms: Exp::new(DOWNLOAD_MS.recip()).ok()?,
        })
    }

    /// When a source asks next after it has asked at `at_ms`.
    fn next(&mut self, source: Source, at_ms: i64) -> (i64, Source) {
        let (gap_ms, source) = match source {
            Source::Visitors => (self.visitor_gap_ms, source),
            Source::Crawler { index, left_of_burst: 0 } => {
                (self.crawler_pause_ms, Source::Crawler { index, left_of_burst: BURST - 1 })
            }
            Source::Crawler { index, left_of_burst } => {
                (self.burst_gap_ms, Source::Crawler { index, left_of_burst: left_of_burst - 1 })
            }
        };
        (at_ms + gap_ms.sample(&mut self.rng) as i64, source)
    }

    fn write(&mut self, out: &mut impl Write, done_ms: i64, source: Source) -> io::Result<()> {
        let (client, agent) = match source {
            Source::Crawler { index, .. } => (CRAWLERS[index].0.to_owned(), CRAWLERS[index].1),
            Source::Visitors => {
                let visitor = self.visitors.sample(&mut self.rng) as u32;
                // An odd factor: distinct visitors have distinct addresses.
                let address = Ipv4Addr::from(visitor.wrapping_mul(2_654_435_769));
                (address.to_string(), BROWSERS[visitor as usize % BROWSERS.len()])
            }
        };
        let took_ms = if self.rng.random_bool(0.005) { self.download_ms } else { self.request_ms };
        let began_ms = MIDNIGHT_MS + done_ms - took_ms.sample(&mut self.rng) as i64;
        let began = Timestamp::from_millisecond(began_ms).map_err(io::Error::other)?;
        let page = self.pages.sample(&mut self.rng);
        let status = match self.rng.random_range(0..100) {
            0..90 => 200,
            90..95 => 304,
            95..99 => 404,
            _ => 500,
        };
        let bytes = self.rng.random_range(200..60_000);
        writeln!(
            out,
            r#"{client} - - [{}] "GET /page/{page} HTTP/1.1" {status} {bytes} "-" "{agent}""#,
            began.strftime("%d/%b/%Y:%H:%M:%S +0000"),
        )
    }
}

fn write_log(records: u64, mut traffic: Traffic) -> io::Result<()> {
    let mut out = BufWriter::new(stdout().lock());
    let crawlers = (0..CRAWLERS.len()).map(|index| Source::Crawler { index, left_of_burst: 0 });
    let sources: Vec<Source> = crawlers.chain([Source::Visitors]).collect();
    let mut turns: BinaryHeap<_> =
        sources.into_iter().map(|source| Reverse(traffic.next(source, 0))).collect();
    for _ in 0..records {
        let Some(Reverse((at_ms, source))) = turns.pop() else { break };
        traffic.write(&mut out, at_ms, source)?;
        turns.push(Reverse(traffic.next(source, at_ms)));
    }
    out.flush()
}

fn argument(position: usize, default: u64) -> Result<u64, String> {
    let text = env::args().nth(position);
    text.map_or(Ok(default), |text| text.parse().map_err(|_| format!("`{text}`: expected a whole number")))
}

fn run() -> Result<(), String> {
    let (records, seed) = (argument(1, 100_000)?, argument(2, 1)?);
    let traffic =
        Traffic::new(records, seed).filter(|_| records > 0).ok_or("0 records: expected at least 1")?;
    match write_log(records, traffic) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.to_string()),
        _ => Ok(()),
    }
}

fn main() -> ExitCode {
    run().map_or_else(
        |error| {
            eprintln!("make_log: {error}");
            ExitCode::from(2)
        },
        |()| ExitCode::SUCCESS,
    )
}
