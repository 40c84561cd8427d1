//! `ratecell serve`: limits for programs in any language, by the Redis protocol.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::thread::available_parallelism;

use anyhow::{Context, Result, bail};
use ratecell_serve::{Limits, Server, ServerConfig};

use crate::cli::ServeArgs;
use crate::output::{complain, print};
use crate::rules;

/// Where nothing else is said: the port beside Redis' own.
const ADDRESS: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 6380);

pub(crate) fn run(args: ServeArgs) -> Result<()> {
    let mut builder = Limits::builder().max_keys(args.max_keys);
    for (name, policy) in args.policies {
        builder = builder.policy(name, policy);
    }
    if let Some(folder) = args.files {
        if !folder.is_dir() {
            bail!("{}: expected the folder of the files that keep the limits", folder.display());
        }
        builder = builder.folder(folder);
    }
    if let Some(file) = &args.rules {
        builder = builder.rules(rules::read(file)?);
    }
    let limits = Arc::new(builder.build()?);
    limits.warnings().for_each(|warning| complain(format_args!("warning: {warning}")));

    let mut config = ServerConfig::default();
    config.listen = args.listen.or_else(|| args.unix.is_none().then_some(ADDRESS));
    config.unix = args.unix.clone();
    config.password = args.password_file.as_deref().map(password).transpose()?;
    config.insecure = args.insecure;
    config.threads = args.threads.or_else(|| available_parallelism().ok()).map_or(1, Into::into);
    config.max_connections = args.max_connections;
    let server = Server::listen(Arc::clone(&limits), config)?;
    if server.max_connections() < args.max_connections {
        complain(format_args!(
            "warning: the system has descriptors for {} connections, not for {}",
            server.max_connections(),
            args.max_connections
        ));
    }
    let address = server.address().map(|address| address.to_string());
    let places = address.into_iter().chain(args.unix.map(|path| path.display().to_string()));
    let places = places.collect::<Vec<_>>().join(" and ");
    server.run(
        || print(format_args!("ready: listening on {places}")),
        || reload(&limits, args.rules.as_deref()),
        |warning| complain(warning),
    )
}

/// The first line of a file.
fn password(file: &Path) -> Result<Vec<u8>> {
    let text = fs::read(file);
    let text =
        text.with_context(|| format!("{}: cannot be read, expected a file with a password", file.display()))?;
    let mut password = text.split(|byte| *byte == b'\n').next().unwrap_or_default().to_vec();
    if password.last() == Some(&b'\r') {
        password.pop();
    }
    Ok(password)
}

/// Puts the rules of the file in force, as it is now.
fn reload(limits: &Limits, file: Option<&Path>) {
    let (Some(limiter), Some(file)) = (limits.rules(), file) else {
        return complain("warning: SIGHUP reads the rules again, and there are none");
    };
    let changed = rules::read(file).and_then(|rules| Ok(limiter.change(rules)?));
    match changed {
        Ok(()) => complain(format_args!("{}: its rules are in force", file.display())),
        Err(error) => complain(format_args!("warning: the rules before stay in force: {error:#}")),
    }
}
