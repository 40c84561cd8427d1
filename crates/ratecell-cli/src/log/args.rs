//! The arguments that say which logs are read, and how.

use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Result, anyhow};
use clap::{Args, ValueEnum};
use jiff::SignedDuration;
use ratecell_logs::{Cost, Filter, Format, Options, Selector};

use crate::zone::Zone;

/// The logs, and what of their records is decided when.
#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    /// Access logs, such as access.log*; `-` or nothing for standard input.
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// Whom to limit: client, user, method, path (without its query), host, agent, referer or another field,
    /// header:NAME, or a /json/pointer; several are joined by `+`. Records that lack a part are not decided.
    ///
    /// A client is one IPv4 address, or the /64 of an IPv6 address.
    #[arg(long, value_name = "KEY", default_value = "client")]
    pub(crate) key: Written<Selector>,

    /// The units that a request takes: a number, or a field, perhaps divided and rounded up, such as bytes/1024.
    ///
    /// A request without the field is decided at no cost. The report counts these; if all are, that is an error.
    #[arg(long, value_name = "COST", default_value = "1")]
    pub(crate) cost: Written<Cost>,

    /// Decide only these requests: a field, `=`, `!=`, `^=` (begins with), `<` or `>`, and a value, such as
    /// status=4xx or path^=/api/. May be given several times; all must hold.
    ///
    /// The values of `<` and `>` are whole numbers. A class of statuses, 1xx to 9xx, goes with `=` and `!=`. `!=` alone
    /// holds for what is not there.
    #[arg(long = "where", value_name = "FILTER")]
    pub(crate) filters: Vec<Written<Filter>>,

    /// How the lines are written: combined, vhost_combined, json, caddy, traefik, envoy, haproxy, alb, s3 or w3c;
    /// nginx:LOG_FORMAT or apache:LOGFORMAT with the string of the server's configuration. Before each of them
    /// syslog+, docker+ or cri+ can stand.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<Format>,

    /// Where in JSON lines a field is, such as client=/peer/address. May be given several times.
    #[arg(long = "pointer", value_name = "FIELD=/POINTER")]
    pub(crate) pointers: Vec<String>,

    /// The zone of times that are written without an offset: +hh:mm or +hhmm, also with -, Z, UTC, or seconds east of
    /// UTC.
    ///
    /// Four digits after a sign are hours and minutes. Seconds have no sign, or a sign and five digits: 3600, -18000.
    #[arg(long, value_name = "ZONE", allow_hyphen_values = true)]
    pub(crate) zone: Option<Zone>,

    /// When a request is decided: at its stamp, or at its arrival, which is earlier by its duration where the stamp
    /// is that of its end. A request without a duration is decided at its stamp; the report counts these.
    #[arg(long, value_enum, default_value_t = At::Stamp)]
    pub(crate) at: At,

    /// In which order requests are decided.
    #[arg(long, value_enum, default_value_t = Order::Time)]
    pub(crate) order: Order,

    /// How long records wait for earlier ones, in the time of the log.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = window)]
    pub(crate) window: SignedDuration,

    /// When requests are decided that share a stamp: at equal distances over what its digits leave open, or all at
    /// the stamp.
    #[arg(long, value_enum, default_value_t = SpreadArg::Even)]
    pub(crate) spread: SpreadArg,
}

impl LogArgs {
    /// What the readers of all formats are told.
    pub(super) fn options(&self) -> Result<Options> {
        let mut options = Options::default();
        options.zone = self.zone.map(|zone| zone.seconds);
        for pointer in &self.pointers {
            let (field, pointer) = pointer.split_once('=').unwrap_or((pointer, ""));
            options.set_pointer(field, pointer).map_err(|error| anyhow!("--pointer: {error}"))?;
        }
        Ok(options)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum At {
    Stamp,
    Arrival,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Order {
    Time,
    File,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SpreadArg {
    Even,
    Together,
}

/// A value with its text, which the report repeats.
#[derive(Clone, Debug)]
pub(crate) struct Written<T> {
    pub(crate) text: String,
    pub(crate) value: T,
}

impl<T: FromStr> FromStr for Written<T> {
    type Err = T::Err;

    fn from_str(text: &str) -> Result<Self, T::Err> {
        Ok(Self { text: text.to_owned(), value: text.parse()? })
    }
}

fn window(text: &str) -> Result<SignedDuration, String> {
    let window = text.parse::<SignedDuration>().ok().filter(|window| !window.is_negative());
    window.ok_or_else(|| "expected a time such as 60s, 5m or 0s".to_owned())
}
