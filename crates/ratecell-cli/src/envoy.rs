//! `ratecell envoy`: limits for Envoy, as its rate limit service.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use ratecell_envoy::{ResponseFields, Server, ServerConfig, Service, Tls, limiter};

use crate::cli::{EnvoyArgs, Fields};
use crate::output::{complain, print};
use crate::rules;

mod page;

/// Where nothing else is said: the port of envoyproxy/ratelimit.
const ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8081);
/// How often a file is looked at.
const LOOK: Duration = Duration::from_secs(1);

pub(crate) fn run(args: EnvoyArgs) -> Result<()> {
    let file = &args.rules;
    let text = fs::read(file);
    let limiter =
        limiter(rules::of(file, text.as_ref().map(Vec::as_slice))?, args.max_keys, args.file.as_deref())?;
    let fields = match args.fields {
        Fields::None => ResponseFields::None,
        Fields::Draft => ResponseFields::Draft,
        Fields::Legacy => ResponseFields::Legacy,
    };
    let service = Arc::new(Service::new(limiter, fields));
    service.counts().load(true);

    let mut config = ServerConfig::default();
    config.listen = args.listen.or_else(|| args.unix.is_none().then_some(ADDRESS));
    config.unix = args.unix.clone();
    config.pages = args.metrics;
    config.tls = args.tls_certificate.zip(args.tls_key).map(|(certificate, key)| Tls {
        certificate,
        key,
        clients: args.tls_clients,
    });
    config.insecure = args.insecure;
    config.threads = args.threads.map_or(0, Into::into);
    config.max_connections = args.max_connections.into();
    let server = Server::listen(Arc::clone(&service), config)?;
    let address = server.address().map(|address| address.to_string());
    let places = address.into_iter().chain(args.unix.map(|path| path.display().to_string()));
    let mut ready = format!("ready: listening on {}", places.collect::<Vec<_>>().join(" and "));
    if let Some(pages) = server.pages() {
        ready.push_str(&format!(", the metrics are at http://{pages}/metrics"));
    }
    let reloader = Arc::new(Reloader { service: Arc::clone(&service), seen: Mutex::new(text.ok()) });
    if args.watch {
        let (reloader, file) = (Arc::clone(&reloader), file.clone());
        let watch = move || reloader.watch(&file);
        thread::Builder::new()
            .name("ratecell-watch".to_owned())
            .spawn(watch)
            .context("no thread can be made")?;
    }
    let page = Arc::new(move |_: &[&str]| page::metrics(&service));
    server.run(|| print(ready), || reloader.reload(file, false), |warning| complain(warning), page)
}

/// Puts rules in force.
struct Reloader {
    service: Arc<Service>,
    /// The file as it was read last: one at a time.
    seen: Mutex<Option<Vec<u8>>>,
}

impl Reloader {
    /// Those of the file, as it is now; only if it is another, where that is asked.
    fn reload(&self, file: &Path, only_another: bool) {
        // A panic under the lock would leave a whole text.
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let now = fs::read(file);
        if only_another && now.as_ref().ok() == seen.as_ref() {
            return;
        }
        let changed = rules::of(file, now.as_ref().map(Vec::as_slice));
        let changed = changed.and_then(|rules| Ok(self.service.limiter().change(rules)?));
        *seen = now.ok();
        drop(seen);
        self.service.counts().load(changed.is_ok());
        match changed {
            Ok(()) => complain(format_args!("{}: its rules are in force", file.display())),
            Err(error) => complain(format_args!("warning: the rules before stay in force: {error:#}")),
        }
    }

    /// Whenever the file is another.
    fn watch(&self, file: &Path) {
        loop {
            thread::sleep(LOOK);
            self.reload(file, true);
        }
    }
}
