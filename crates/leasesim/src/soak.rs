//! Random configurations, each of which must pass all checks.

use anyhow::{Context, Result};

use crate::config::{Config, Fault};
use crate::uses::Findings;
use crate::world::World;

/// What a number of configurations came to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Total {
    pub(crate) findings: Findings,
    pub(crate) requests: u64,
    pub(crate) operations: u64,
    /// Configurations that did not pass.
    pub(crate) red: u64,
    /// Uses of policies whose replay is not stated, and those that it refuses.
    pub(crate) unstated: (u64, u64),
}

/// A window or a refill that begins with a request begins at the store with a charge, in a replay with the first use.
fn has_stated_replay(policy: &str) -> bool {
    !policy.contains("first")
}

/// Runs one configuration.
pub(crate) fn one(config: Config, total: &mut Total) -> Result<Findings> {
    let is_stated = has_stated_replay(&config.policy);
    let shown = format!("{config:?}");
    let mut world = World::new(config)?;
    world.run().with_context(|| shown)?;
    total.requests += world.tally.requests;
    total.operations += world.tally.operations;
    let mut findings = world.findings()?;
    if !is_stated {
        total.unstated.0 += findings.uses;
        total.unstated.1 += findings.refused;
        (findings.refused, findings.refused_later, findings.refused_local) = (0, 0, 0);
    }
    total.findings.add(findings);
    total.red += u64::from(!findings.is_clean());
    Ok(findings)
}

/// Runs the configurations of `number` seeds from `from` on; whether all of them passed.
pub(crate) fn soak(from: u64, number: u64, fault: Option<Fault>) -> Result<bool> {
    let mut total = Total::default();
    for seed in from..from + number {
        let config = Config { fault, ..Config::any(seed) };
        let policy = config.policy.clone();
        let findings = one(config, &mut total)?;
        if !findings.is_clean() && total.red <= 20 {
            println!("seed {seed}, {policy}: {findings:?}");
        }
    }
    let Total { findings, requests, operations, red, unstated } = total;
    println!("{number} configurations, {requests} requests, {operations} operations, {} uses", findings.uses);
    println!(
        "refused {} by their instants, {} by the latest; without a slot {}; judged too early {}",
        findings.refused, findings.refused_later, findings.slotless, findings.early
    );
    println!(
        "by parts of the policy {} uses, of which they refuse {}",
        findings.local, findings.refused_local
    );
    println!("of {} uses of windows that begin with a request the replay refuses {}", unstated.0, unstated.1);
    println!("{red} configurations red");
    Ok(red == 0)
}
