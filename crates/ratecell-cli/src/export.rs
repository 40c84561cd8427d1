//! `ratecell export`: the statistics of regions in files, for Prometheus.

use std::net::TcpListener;

use anyhow::{Context, Result};

use crate::cli::ExportArgs;
use crate::output::print;

mod accept;
mod files;
mod page;
mod server;
mod text;

use files::Files;

pub(crate) use accept::Format;
pub(crate) use text::{Label, Text};

pub(crate) fn run(args: ExportArgs) -> Result<()> {
    let files = Files::new(args.files)?;
    let listener = TcpListener::bind(args.listen).with_context(|| {
        format!("cannot listen on {}, expected an address of this machine and a free port", args.listen)
    })?;
    let address = listener.local_addr().context("the address is not known")?;
    server::serve(listener, files, || {
        print(format_args!("ready: the metrics are at http://{address}/metrics"))
    })
}
