//! The rules of one file, ready to be evaluated.

use std::str::FromStr;

use ratecell_core::Policy;

use crate::attribute::{Attribute, Names};
use crate::cover;
use crate::error::{RuleLabel, RulesError, RulesErrorKind};
use crate::file::{self, Model};
use crate::index::Index;
use crate::rule::{Rule, RulePolicy, WidthList};

/// Which limits apply to a request: the rules of one file.
///
/// They are made once, by [`parse`](Self::parse), and any number of threads can evaluate them, each with a
/// [`Scratch`](crate::Scratch) of its own.
#[derive(Clone, Debug)]
pub struct Rules {
    pub(crate) names: Names,
    pub(crate) widths: WidthList,
    pub(crate) refuse_unclear: bool,
    pub(crate) ignore_case: bool,
    pub(crate) rules: Vec<Rule>,
    pub(crate) policies: Vec<RulePolicy>,
    pub(crate) groups: u32,
    pub(crate) index: Index,
    /// For each rule, the number of the condition that it is indexed by.
    pub(crate) anchors: Vec<Option<usize>>,
}

impl Rules {
    /// Reads a file of rules. It is checked as a whole: each rule can be reached, each pattern can hold.
    ///
    /// ```
    /// use ratecell_rules::Rules;
    ///
    /// let rules = Rules::parse("
    ///     ratecell_rules = 1
    ///     [[rule]]
    ///     name = 'api'
    ///     match.path = '/api/**'
    ///     key = ['client']
    ///     limit = '10/s burst=20'
    /// ")?;
    /// assert_eq!((rules.len(), rules.rule(0).name()), (1, "api"));
    /// # Ok::<(), ratecell_rules::RulesError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The file is not TOML 1.0 in UTF-8, or has a fault. The error names the first that is found, with its line.
    pub fn parse(text: impl AsRef<[u8]>) -> Result<Self, RulesError> {
        let model = file::read(text.as_ref())?;
        match cover::unreachable(&model.rules, model.refuse_unclear) {
            Some((number, first)) => Err(unreachable(&model.rules[number], &model.rules[first])),
            None => Ok(Self::of(model)),
        }
    }

    /// The rules of a file, indexed.
    pub(crate) fn of(model: Model) -> Self {
        let Model { names, widths, refuse_unclear, ignore_case, rules, policies, groups } = model;
        let numbers = 0..u32::try_from(rules.len()).unwrap_or(u32::MAX);
        let (index, anchors) = Index::new(&rules, numbers);
        Self { names, widths, refuse_unclear, ignore_case, rules, policies, groups, index, anchors }
    }

    /// How many rules there are: at least one.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a file has at least one rule")]
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// The rules, in the order of the file.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Rule> {
        self.rules.iter()
    }

    /// The rule of that number, counted from 0.
    ///
    /// # Panics
    ///
    /// There is none.
    #[must_use]
    pub fn rule(&self, number: usize) -> &Rule {
        &self.rules[number]
    }

    /// The policies of all rules, by the number that claims have them by.
    #[must_use]
    pub fn policies(&self) -> &[RulePolicy] {
        &self.policies
    }

    /// The same rules by other policies: those of `policy`, given the number of each among [`policies`](Self::policies), where it
    /// returns one.
    #[must_use]
    pub fn limited_by(mut self, policy: impl Fn(usize) -> Option<Policy>) -> Self {
        for (number, one) in self.policies.iter_mut().enumerate() {
            if let Some(policy) = policy(number) {
                (one.text, one.policy) = (policy.to_string().into(), policy);
            }
        }
        self
    }

    /// The attributes that an evaluation asks for: those that any rule uses, each once.
    pub fn attributes(&self) -> impl Iterator<Item = Attribute<'_>> {
        self.names.iter().flatten()
    }

    /// The attributes that the rule of that number has conditions on, in the order of the file.
    ///
    /// # Panics
    ///
    /// There is no rule of that number.
    pub fn matched(&self, number: usize) -> impl Iterator<Item = &str> {
        self.rules[number].matches.iter().map(|(id, _)| self.names.name(*id))
    }
}

impl FromStr for Rules {
    type Err = RulesError;

    fn from_str(text: &str) -> Result<Self, RulesError> {
        Self::parse(text)
    }
}

fn unreachable(rule: &Rule, first: &Rule) -> RulesError {
    let message = format!(
        "rule {}, on line {}, ends the evaluation for each request that this one matches: expected this one above it, \
         or with other conditions",
        first.name, first.line
    );
    RulesError {
        kind: RulesErrorKind::Unreachable,
        rule: Some(RuleLabel::Name(rule.name.to_string())),
        field: Some("match".to_owned()),
        why: Some(first.name.to_string()),
        line: Some(rule.line),
        message,
    }
}
