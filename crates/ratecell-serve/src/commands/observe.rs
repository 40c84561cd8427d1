//! What a server says of itself.

use core::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use super::decide::named;
use super::password::Password;
use super::throttle::signed;
use crate::limits::Limits;
use crate::resp::Replies;

/// What all event loops share.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) limits: Arc<Limits>,
    pub(crate) password: Option<Password>,
    pub(crate) statistics: Statistics,
    pub(crate) max_connections: usize,
    started: Instant,
}

#[derive(Debug, Default)]
pub(crate) struct Statistics {
    /// Those that are open.
    connections: AtomicUsize,
    /// Since the start: the last of them has this number.
    accepted: AtomicU64,
    refused: AtomicU64,
    commands: AtomicU64,
}

// Relaxed: statistics, and a bound that counts each connection once; none orders anything.
impl Statistics {
    /// The number of a new connection; `None` if there are `most` already.
    pub(crate) fn connected(&self, most: usize) -> Option<u64> {
        // Relaxed: as above.
        let before = self.connections.fetch_add(1, Ordering::Relaxed);
        if before >= most {
            // Relaxed: as above.
            self.connections.fetch_sub(1, Ordering::Relaxed);
            self.refused.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        // Relaxed: as above.
        Some(self.accepted.fetch_add(1, Ordering::Relaxed) + 1)
    }

    pub(crate) fn disconnected(&self) {
        // Relaxed: as above.
        self.connections.fetch_sub(1, Ordering::Relaxed);
    }

    pub(super) fn answered(&self, commands: u64) {
        if commands > 0 {
            // Relaxed: as above.
            self.commands.fetch_add(commands, Ordering::Relaxed);
        }
    }
}

impl Server {
    pub(crate) fn new(limits: Arc<Limits>, password: Option<Password>, max_connections: usize) -> Self {
        let (statistics, started) = (Statistics::default(), Instant::now());
        Self { limits, password, statistics, max_connections, started }
    }

    /// The text of `INFO`: all sections, whichever a client asks for.
    pub(super) fn info(&self) -> String {
        // Relaxed: statistics.
        let figure = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let statistics = &self.statistics;
        // Relaxed: statistics.
        let connections = statistics.connections.load(Ordering::Relaxed);
        let mut text = format!(
            "# Server\r\nserver_name:ratecell\r\nratecell_version:{}\r\nredis_mode:standalone\r\nprocess_id:{}\r\n\
             uptime_in_seconds:{}\r\n\r\n# Clients\r\nconnected_clients:{connections}\r\nmaxclients:{}\r\n\r\n\
             # Stats\r\ntotal_connections_received:{}\r\nrejected_connections:{}\r\ntotal_commands_processed:{}\r\n\r\n\
             # Policies\r\n",
            env!("CARGO_PKG_VERSION"),
            std::process::id(),
            self.started.elapsed().as_secs(),
            self.max_connections,
            figure(&statistics.accepted),
            figure(&statistics.refused),
            figure(&statistics.commands),
        );
        for (name, limiter) in self.limits.iter() {
            // To a string it cannot fail.
            let _ = write!(text, "{}:{}\r\n", String::from_utf8_lossy(name), limiter.policy());
        }
        text
    }
}

/// `RATECELL.INFO [name]`: the policy of each name, or what is known of one.
pub(super) fn limits(limits: &Limits, replies: &mut Replies, arguments: &[&[u8]]) -> Result<(), String> {
    let [name] = arguments else {
        replies.map(limits.iter().len());
        for (name, limiter) in limits.iter() {
            replies.bulk(name);
            replies.bulk(limiter.policy().to_string().as_bytes());
        }
        return Ok(());
    };
    let limiter = named(limits, name)?;
    let (policy, stats) = (limiter.policy().to_string(), limiter.stats());
    let figures = [
        ("live_keys", stats.live as u64),
        ("live_keys_error", stats.live_error as u64),
        ("slots", stats.slots as u64),
        ("table_bytes", stats.bytes as u64),
        ("evicted_keys", stats.evicted),
        ("forgiven_units", stats.forgiven),
    ];
    replies.map(1 + figures.len());
    replies.bulk(b"policy");
    replies.bulk(policy.as_bytes());
    for (key, value) in figures {
        replies.bulk(key.as_bytes());
        replies.integer(signed(value));
    }
    Ok(())
}
