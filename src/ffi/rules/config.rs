//! What a config says of a limiter by rules.

use super::super::flags::{RATECELL_CHANGE, RATECELL_FOLLOW, RATECELL_FORKED, RATECELL_RESERVATIONS};
use super::super::ratecell_status::RATECELL_ECONFIG;
use super::super::why::Refusal;
use super::super::{pointer, ratecell_config, regions};
use crate::rules::{Rules, RulesLimiter, RulesLimiterBuilder};
use crate::table::WhenFull;

impl ratecell_config {
    /// The limiter by rules that the config describes.
    ///
    /// # Safety
    /// `beside` and `file` are as the header's preamble has it.
    pub(super) unsafe fn rules_limiter(
        self,
        parsed: impl FnOnce() -> Result<Rules, Refusal>,
    ) -> Result<RulesLimiter, Refusal> {
        let known = RATECELL_FORKED | RATECELL_RESERVATIONS | RATECELL_FOLLOW | RATECELL_CHANGE;
        let config = self.with_flags(known)?;
        config.refuse_beside_file()?;
        if !config.file.is_null() {
            // SAFETY: the caller's word.
            let path = unsafe { regions::path(config.file) }?;
            return Ok(config.apply_to_rules(RulesLimiter::builder(parsed()?))?.open(path)?);
        }
        if config.beside.is_null() {
            return Ok(config.apply_to_rules(RulesLimiter::builder(parsed()?))?.build()?);
        }
        let Self { max_keys, when_full, flags, epoch_s, .. } = config;
        if [max_keys, when_full, flags, epoch_s.unsigned_abs()] != [0; 4] {
            let why = "max_keys, when_full, flags, epoch_s: expected 0 with beside, whose they are";
            return Err(Refusal::config(why.to_owned()));
        }
        config.refuse_machines()?;
        // SAFETY: the caller's word.
        let earlier = unsafe { pointer::input(config.beside) }?;
        Ok(earlier.limiter.beside(parsed()?)?)
    }

    /// What the config says of a limiter by rules.
    fn apply_to_rules(self, mut builder: RulesLimiterBuilder) -> Result<RulesLimiterBuilder, Refusal> {
        self.refuse_machines()?;
        if self.max_keys > 0 {
            builder = builder.max_keys(usize::try_from(self.max_keys).map_err(|_| RATECELL_ECONFIG)?);
        }
        if self.flags & u64::from(RATECELL_FORKED) != 0 {
            builder = builder.forked();
        }
        if self.flags & u64::from(RATECELL_RESERVATIONS) != 0 {
            builder = builder.reserving();
        }
        // The default, which a file has already, is not to be told apart from nothing said.
        if let when_full @ (WhenFull::Share | WhenFull::Deny | WhenFull::Allow) = self.when_full()? {
            builder = builder.when_full(when_full);
        }
        if self.flags & u64::from(RATECELL_FOLLOW) != 0 {
            builder = builder.follow();
        }
        if self.flags & u64::from(RATECELL_CHANGE) != 0 {
            builder = builder.change();
        }
        Ok(match self.epoch()? {
            Some(epoch) => builder.epoch(epoch),
            None => builder,
        })
    }

    /// An error where the config has what a limiter in a file cannot have, or what no other can have.
    fn refuse_beside_file(&self) -> Result<(), Refusal> {
        let of_file = [RATECELL_FOLLOW, RATECELL_CHANGE].map(|flag| self.flags & u64::from(flag) != 0);
        let is_forked = self.flags & u64::from(RATECELL_FORKED) != 0;
        let why = match (self.file.is_null(), of_file) {
            (true, [false, false]) => return Ok(()),
            (true, _) => "RATECELL_FOLLOW, RATECELL_CHANGE: expected neither without a file",
            (false, [true, true]) => "RATECELL_FOLLOW, RATECELL_CHANGE: expected one of them, or neither",
            (false, _) if is_forked || !self.beside.is_null() => {
                "RATECELL_FORKED, beside: expected neither with a file, which processes share by its name"
            }
            (false, _) => return Ok(()),
        };
        Err(Refusal::config(why.to_owned()))
    }

    /// An error where the config has what only a limiter of many machines has.
    fn refuse_machines(&self) -> Result<(), Refusal> {
        let Self { on_miss, wait_ns, on_failure, machines, store, store_name, policy_version, .. } = *self;
        let numbers = [on_miss, wait_ns, on_failure, machines, policy_version];
        if numbers == [0; 5] && store.is_null() && store_name.is_null() {
            return Ok(());
        }
        let why = "on_miss, wait_ns, on_failure, machines, store, store_name, policy_version: expected none for rules, \
                   which limit one process by itself";
        Err(Refusal::config(why.to_owned()))
    }
}
