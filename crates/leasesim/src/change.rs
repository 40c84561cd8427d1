//! Random configurations whose policy changes while everything goes wrong.

use anyhow::{Context, Result};

use crate::config::{Config, Fault};
use crate::uses::Findings;
use crate::world::World;

/// What a number of configurations came to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Total {
    pub(crate) findings: Findings,
    pub(crate) changes: u64,
    /// Configurations that did not pass.
    pub(crate) red: u64,
}

/// Runs one configuration.
pub(crate) fn one(config: Config, total: &mut Total) -> Result<Findings> {
    let shown = format!("{config:?}");
    let is_crashing = config.crashes > 0;
    let asked: Vec<_> = config.changes.iter().map(|(.., text)| text.parse()).collect::<Result<_, _>>()?;
    let flips = config.fault == Some(Fault::StartChanges) && is_crashing;
    let mut world = World::new(config)?;
    world.run().with_context(|| shown)?;
    let (findings, changes) = world.changed()?;
    total.findings.add(findings);
    total.changes += changes;
    let has_flipped = flips && changes > 0 && !asked.iter().any(|policy| world.ends_with(policy));
    total.red += u64::from(!findings.is_clean() || has_flipped);
    Ok(findings)
}

/// Runs the configurations of `number` seeds from `from` on; whether all of them passed.
pub(crate) fn change(from: u64, number: u64, fault: Option<Fault>) -> Result<bool> {
    let mut total = Total::default();
    for seed in from..from + number {
        let config = Config::changing(seed, fault);
        let policy = config.policy.clone();
        let findings = one(config, &mut total)?;
        if !findings.is_clean() && total.red <= 20 {
            println!("seed {seed}, {policy}: {findings:?}");
        }
    }
    let Total { findings, changes, red } = total;
    println!("{number} configurations, {changes} changes, {} uses", findings.uses);
    println!(
        "not heard {}, at most {} of a generation and a key, {} beyond its burst; of the others refused {}; judged too \
         early {}",
        findings.unheard, findings.most_unheard, findings.beyond_burst, findings.refused, findings.early
    );
    println!("{red} configurations red");
    Ok(red == 0)
}
