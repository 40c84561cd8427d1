//! Rules in words, for a person who checks a file.

use std::borrow::Cow;

use crate::client::Widths;
use crate::rule::{Choice, Cost, Leaf, Limit, Reference};
use crate::rules::Rules;

impl Rules {
    /// The limit of the rule of that number, with policies in their canonical form: `10/s burst=20`,
    /// `by tier: pro 600/m, otherwise 60/m`.
    ///
    /// # Panics
    ///
    /// There is no rule of that number.
    #[must_use]
    pub fn limit_text(&self, number: usize) -> String {
        match &self.rules[number].limit {
            Limit::One(leaf) => self.leaf(*leaf),
            Limit::Chosen { choice, shared } => {
                let text = self.choice(choice, |leaf| self.leaf(*leaf));
                if *shared { format!("{text}, in one cell") } else { text }
            }
        }
    }

    /// The cost of a request by the rule of that number, in units: `1`, `by method: POST 5, otherwise 1`.
    ///
    /// # Panics
    ///
    /// There is no rule of that number.
    #[must_use]
    pub fn cost_text(&self, number: usize) -> String {
        match &self.rules[number].cost {
            Cost::Fixed(cost) => cost.to_string(),
            Cost::Chosen(choice) => self.choice(choice, u32::to_string),
            Cost::Read { from, unit, max, default } => {
                format!("{}/{unit}, at most {max}, otherwise {default}", self.reference(*from))
            }
        }
    }

    fn leaf(&self, leaf: Leaf) -> String {
        match leaf {
            Leaf::Unlimited => "unlimited".to_owned(),
            Leaf::Blocked => "blocked".to_owned(),
            Leaf::Policy(number) => self.policies[number].policy.to_string(),
        }
    }

    fn choice<T>(&self, choice: &Choice<T>, text: impl Fn(&T) -> String) -> String {
        let named = choice.of.iter().map(|(value, chosen)| {
            let value = String::from_utf8_lossy(value);
            let value = if value.is_empty() { Cow::Borrowed("\"\"") } else { value };
            format!("{value} {}, ", text(chosen))
        });
        let named: String = named.collect();
        format!("by {}: {named}otherwise {}", self.reference(choice.by), text(&choice.default))
    }

    fn reference(&self, reference: Reference) -> String {
        match reference {
            Reference::Attribute(id) => self.names.name(id).to_owned(),
            Reference::Path => "path".to_owned(),
            Reference::Segment(number) => format!("path:{}", number + 1),
            Reference::Client(width) => match self.widths[width] {
                widths if widths == Widths::default() => "client".to_owned(),
                Widths { v4, v6 } => format!("client/{v4}/{v6}"),
            },
        }
    }
}
