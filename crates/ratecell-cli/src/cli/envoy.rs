//! The arguments about Envoy.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::address;

/// Write files of envoyproxy/ratelimit as a file of rules, on standard output.
///
/// What rules cannot say is refused: one line on standard error has the file, the line, what was wrong and what was
/// expected. The exit status is then 1.
#[derive(Debug, Args)]
pub(crate) struct RulesImportArgs {
    /// The files, in YAML: each a domain with its descriptors.
    #[arg(required = true, value_name = "FILE.yaml")]
    pub(crate) files: Vec<PathBuf>,

    /// Leave `replaces` out where rules cannot say it: then the limit that would be replaced applies, too.
    #[arg(long)]
    pub(crate) ignore_replaces: bool,
}

/// Serve limits to Envoy, and what is built on it, as its rate limit service.
///
/// Speaks gRPC, `envoy.service.ratelimit.v3`, in place of envoyproxy/ratelimit, whose files `ratecell rules import` takes
/// over. docs/SERVERS.md says what is answered. Prints one line when clients can connect, and warnings on standard error. Runs
/// until SIGINT or SIGTERM; the exit status is then 0.
#[derive(Debug, Args)]
pub(crate) struct EnvoyArgs {
    /// The file of rules, in TOML. It is read again at SIGHUP; one with a fault then changes nothing.
    #[arg(long, value_name = "FILE")]
    pub(crate) rules: PathBuf,

    /// Read the file of rules again when it has changed, too: it is looked at once a second.
    #[arg(long)]
    pub(crate) watch: bool,

    /// The file that keeps what was used, such as /run/ratecell/edge. Other programs may open it, with their own rules. Without
    /// it that is kept in memory.
    #[arg(long, value_name = "REGION")]
    pub(crate) file: Option<PathBuf>,

    /// Keys that have room, of all rules together; of a file that is there, as many as it was made for [default: 100000].
    #[arg(long, value_name = "N")]
    pub(crate) max_keys: Option<usize>,

    /// The address and the port to listen on; port 0 takes any that is free. One that other machines reach needs TLS
    /// [default: 127.0.0.1:8081, unless there is --unix].
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address)]
    pub(crate) listen: Option<SocketAddr>,

    /// The path of a socket to listen on, without TLS.
    #[arg(long, value_name = "PATH")]
    pub(crate) unix: Option<PathBuf>,

    /// The address and the port of the metrics, over HTTP: /metrics, and /healthcheck. There is no password.
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address)]
    pub(crate) metrics: Option<SocketAddr>,

    /// The certificate for TLS, in PEM, with those between it and its authority.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_certificate: Option<PathBuf>,

    /// The key of the certificate, in PEM.
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    pub(crate) tls_key: Option<PathBuf>,

    /// The authorities of clients' certificates, in PEM: only clients that have one are answered.
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    pub(crate) tls_clients: Option<PathBuf>,

    /// Listen without TLS on an address that other machines reach, too.
    #[arg(long)]
    pub(crate) insecure: bool,

    /// The fields that responses to clients get.
    #[arg(long, value_enum, default_value_t = Fields::None)]
    pub(crate) fields: Fields,

    /// Threads [default: as many as processors].
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<NonZeroUsize>,

    /// Connections at a time.
    #[arg(long, value_name = "N", default_value = "10000")]
    pub(crate) max_connections: NonZeroUsize,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Fields {
    /// None; Envoy can write some itself.
    None,
    /// RateLimit and RateLimit-Policy, of draft 11.
    Draft,
    /// X-RateLimit-Limit, -Remaining and -Reset, in seconds from now.
    Legacy,
}
