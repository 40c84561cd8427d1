//! The server, and what it says of itself.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use redis::Connection;

pub(crate) fn url(folder: &Path) -> String {
    format!("unix:{}", folder.join("socket").display())
}

pub(crate) fn connect(folder: &Path) -> Result<Connection> {
    let url = url(folder);
    redis::Client::open(url.as_str()).and_then(|client| client.get_connection()).with_context(|| url)
}

/// What a server has done, as it counts itself.
#[derive(Default)]
pub(crate) struct Done {
    /// Seconds of the processor.
    pub(crate) cpu: f64,
    /// How often each command ran, also those that scripts call.
    pub(crate) commands: BTreeMap<String, u64>,
}

impl Done {
    pub(crate) fn by(server: &mut Connection) -> Result<Self> {
        let info: String = redis::cmd("INFO").arg("cpu").arg("commandstats").query(server)?;
        let lines = info.lines().filter_map(|line| line.split_once(':'));
        let mut done = Self::default();
        for (name, value) in lines {
            if name == "used_cpu_user" || name == "used_cpu_sys" {
                done.cpu += value.parse::<f64>().with_context(|| format!("{name}:{value}"))?;
            } else if let Some(command) = name.strip_prefix("cmdstat_")
                && command != "info"
            {
                let calls = value.split(',').find_map(|part| part.strip_prefix("calls="));
                let calls = calls.and_then(|calls| calls.parse().ok());
                done.commands.insert(command.to_owned(), calls.with_context(|| format!("{name}:{value}"))?);
            }
        }
        Ok(done)
    }

    /// What was done since `earlier`.
    pub(crate) fn since(mut self, earlier: &Self) -> Self {
        self.cpu -= earlier.cpu;
        for (command, calls) in &mut self.commands {
            *calls -= earlier.commands.get(command).copied().unwrap_or(0);
        }
        self.commands.retain(|_, calls| *calls > 0);
        self
    }

    /// All commands.
    pub(crate) fn operations(&self) -> u64 {
        self.commands.values().sum()
    }
}
