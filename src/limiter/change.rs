//! Another policy over live keys.

use super::{Limiter, events};
use crate::error::BuildError;
use ratecell_core::{Generation, Policy};

impl Limiter {
    /// Limits by `policy` from now on, here and in every other limiter of the same keys, in all processes. What each key has
    /// used stays used, in units: a raised limit lets those go on who were exhausted, a lowered one forgives nothing, and
    /// changing forth and back gives nobody a unit more. A policy that decides as the one in force does changes nothing.
    ///
    /// Rate, burst, capacity, limit and, of a calendar, the zone may change; the number of layers, their algorithms and the
    /// lengths of windows may not. `gcra`, `leaky_meter`, `leaky_queue` and a continuous `token_bucket` may follow each other.
    /// The [definition] has the whole table.
    ///
    /// A limiter that was made by [`with_policy`](Self::with_policy), or attached to a region with another policy, keeps its
    /// own burst, capacity or limit where that was another than the region's, and takes the rate of the policy in force. What
    /// its keys have used at another rate is converted as if it had been at that of the region: do not change the policy where
    /// limiters of several rates have the same keys.
    ///
    /// The futures of this limiter's [`acquire`](Self::acquire) ask again at once. Futures of other limiters of the same keys, and
    /// callers that sleep for the wait of an earlier decision, ask again when that wait is over.
    ///
    /// Requests are decided while the policy is changed. Each key is converted when it is next seen, and every third change
    /// first converts the keys that nobody has seen since: that reads and writes the whole table, in tens of milliseconds for
    /// ten million keys. A crash in the middle harms nobody: the change is made, or is not.
    ///
    /// The policy of a limiter that shares its units with other machines changes for all of them, if its agent runs in this
    /// process. The call waits until the store has the policy and this machine decides by it: some round trips, or at most 5 s
    /// if the store does not answer; or, where a change before it was not carried to all keys, until that is done. Other
    /// machines follow within a second. Units that they hold by the policy before are lost to those who have heard, and used
    /// by those who have not: at most one burst (limit) of it, for each key.
    ///
    /// Processes that share a file change its policy one after the other. Where they share memory without a file, as after a
    /// fork, expect one process to change it.
    ///
    /// ```
    /// use ratecell::{Limiter, Policy};
    ///
    /// let limiter = Limiter::builder("1/s burst=10".parse::<Policy>()?).max_keys(1_000).build()?;
    /// assert!(limiter.check_at("user:42", 10, 0).is_allowed());
    /// limiter.change_at("10/s burst=10".parse()?, 1_000_000_000)?;
    /// // 9 units are used still, and come back at the new rate.
    /// assert_eq!(limiter.check_at("user:42", 0, 1_000_000_000).remaining(), 1);
    /// assert_eq!(limiter.check_at("user:42", 0, 1_900_000_000).remaining(), 10);
    /// assert_eq!(limiter.policy().to_string(), "10/s burst=10");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Nothing has changed: the policy cannot follow the one in force ([`BuildError::Change`]); or the region's file cannot be
    /// locked. Of a limiter that shares its units with other machines, [`BuildError::Shared`]: the agent is in another process;
    /// another machine's change came before; the store refuses it, or is a cluster; or the store does not answer. Where the
    /// error says so, that change may still come.
    ///
    /// [definition]: https://github.com/ratecell/ratecell/blob/main/vectors/held/change.md
    pub fn change(&self, policy: Policy) -> Result<(), BuildError> {
        self.change_by(&policy, None)
    }

    /// [`change`](Self::change) at `now_ns`, for programs that give every request its time. Requests that were given a later
    /// time, and are decided by the policy before, count as before the change. A limiter that shares its units with other
    /// machines ignores the time: the store's clock says when.
    ///
    /// # Errors
    /// As [`change`](Self::change).
    pub fn change_at(&self, policy: Policy, now_ns: u64) -> Result<(), BuildError> {
        self.change_by(&policy, Some(now_ns))
    }

    pub(crate) fn change_by(&self, policy: &Policy, now_ns: Option<u64>) -> Result<(), BuildError> {
        if let Some(remote) = &self.remote {
            let changed = remote.change(policy);
            #[cfg(feature = "async")]
            self.waits.policy_changed(self);
            return changed;
        }
        let generations = &self.regimes.generations;
        let changed = generations.exclusively(|| {
            let Some(next) = self.followed_by(policy, now_ns)? else { return Ok(()) };
            self.regimes.sweep_if_due()?;
            generations.put_in_force(next, now_ns, &self.clock)?;
            events::changed(policy);
            Ok(())
        });
        #[cfg(feature = "async")]
        self.waits.policy_changed(self);
        changed
    }
    /// The generation after the one in force, with `policy`; `None` if it decides alike. `now_ns`, or else the clock, tells
    /// whether it can decide.
    ///
    /// # Errors
    /// `policy` cannot follow the one in force.
    pub(crate) fn followed_by(
        &self,
        policy: &Policy,
        now_ns: Option<u64>,
    ) -> Result<Option<Generation>, BuildError> {
        // As it is recorded: with the greatest capacity of any limiter beside this one.
        let lineage = self.regimes.generations.lineage()?;
        let held = lineage.last().ok_or(BuildError::NoPolicy)?;
        let now = now_ns.unwrap_or_else(|| self.clock.latest());
        Ok(held.followed_by(policy, now)?)
    }
}
