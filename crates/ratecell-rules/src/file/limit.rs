//! What a rule charges: its limit and its cost.

use ratecell_core::Policy;
use ratecell_core::algorithm::{Kernel, Plan};
use toml::de::DeTable;

use super::{File, Place, Value, kind_of, shown};
use crate::error::{RuleLabel, RulesError, RulesErrorKind as Kind};
use crate::rule::{Choice, Cost, Leaf, Limit, Reference, RulePolicy};

const CHOICE: [&str; 3] = ["by", "of", "default"];
const SHARED_CHOICE: [&str; 4] = ["by", "of", "default", "shared"];
const READ: [&str; 4] = ["from", "default", "unit", "max"];

impl<'t> File<'t> {
    /// The limit of the rule of that number, counted from 0.
    pub(super) fn limit(
        &mut self,
        rule: usize,
        label: &RuleLabel,
        value: &Value<'t>,
    ) -> Result<Limit, RulesError> {
        let place = Place::of(label, "limit");
        let Some(table) = value.get_ref().as_table() else {
            return Ok(Limit::One(self.leaf(rule, None, place, value)?));
        };
        let shared = match table.get("shared") {
            None => false,
            Some(shared) => shared
                .get_ref()
                .as_bool()
                .ok_or_else(|| self.wrong_type(place.field("shared"), shared, "true or false"))?,
        };
        let first = self.model.policies.len();
        let leaf = |file: &mut Self, named: Option<&str>, place: Place<'_>, value: &Value<'t>| {
            file.leaf(rule, named, place, value)
        };
        let choice = self.choice(place, value, table, &SHARED_CHOICE, Kind::BadLimit, leaf)?;
        if shared {
            self.share(first, place, value)?;
        }
        Ok(Limit::Chosen { choice, shared })
    }

    fn leaf(
        &mut self,
        rule: usize,
        named: Option<&str>,
        place: Place<'_>,
        value: &Value<'t>,
    ) -> Result<Leaf, RulesError> {
        let text = self.text(place, value, "a policy, \"unlimited\" or \"blocked\"")?;
        match text {
            "unlimited" => return Ok(Leaf::Unlimited),
            "blocked" => return Ok(Leaf::Blocked),
            _ => {}
        }
        let policy: Policy = text.parse().map_err(|error: ratecell_core::PolicyError| {
            let message = format!("`{}`: {error}", shown(text));
            let refused = self.error(Kind::BadPolicy, place, value.span(), message);
            RulesError { why: Some(error.kind().code().to_owned()), ..refused }
        })?;
        if policy.asks_for_zone() {
            let message = format!(
                "`{}`: expected the name of a zone, as no request of rules names its own",
                shown(text)
            );
            let refused = self.error(Kind::BadPolicy, place, value.span(), message);
            let why = ratecell_core::PolicyErrorKind::BadZone.code();
            return Err(RulesError { why: Some(why.to_owned()), ..refused });
        }
        self.model.policies.push(RulePolicy { rule, value: named.map(Box::from), text: text.into(), policy });
        Ok(Leaf::Policy(self.model.policies.len() - 1))
    }

    /// Refuses policies, from that number on, that cannot count in one cell.
    fn share(&self, first: usize, place: Place<'_>, value: &Value<'t>) -> Result<(), RulesError> {
        let policies = self.model.policies.get(first..).unwrap_or_default();
        let refuse = |message| Err(self.error(Kind::MixedLimit, place, value.span(), message));
        let mut shapes = policies.iter().map(|made| (made, shape(&made.policy)));
        let Some((one, expected)) = shapes.next() else { return Ok(()) };
        if expected.is_none() {
            return refuse(format!(
                "`{}` cannot be shared: expected windows, aligned or sliding, in each layer",
                shown(&one.text)
            ));
        }
        match shapes.find(|(_, shape)| *shape != expected) {
            None => Ok(()),
            Some((other, _)) => refuse(format!(
                "`{}` and `{}` cannot count in one cell: expected policies that differ in limit and strict alone",
                shown(&one.text),
                shown(&other.text)
            )),
        }
    }

    /// `{ by, of, default }`, of which each value is read by `leaf`.
    fn choice<T>(
        &mut self,
        place: Place<'_>,
        value: &Value<'t>,
        table: &DeTable<'t>,
        known: &[&str],
        kind: Kind,
        mut leaf: impl FnMut(&mut Self, Option<&str>, Place<'_>, &Value<'t>) -> Result<T, RulesError>,
    ) -> Result<Choice<T>, RulesError> {
        let unknown = |name: &str| self.error(Kind::UnknownField, place.field(name), 0..0, String::new());
        self.known_fields(unknown, table, known)?;
        let [by, of, default] = CHOICE.map(|name| self.required(place, value, table, name));
        let (by, of, default) = (by?, of?, default?);
        let by_place = place.field("by");
        let text = self.text(by_place, by, "an attribute's name")?;
        let by = self.reference(text, kind, by_place, by.span())?;
        let of_place = place.field("of");
        let of = of.get_ref().as_table().ok_or_else(|| self.wrong_type(of_place, of, "a table"))?;
        let mut named: Vec<(Box<[u8]>, T)> = Vec::with_capacity(of.len());
        for (name, value) in of {
            let name = name.get_ref();
            let chosen = leaf(self, Some(name), of_place.field(name), value)?;
            named.push((name.as_bytes().into(), chosen));
        }
        named.sort_by(|(one, _), (other, _)| one.cmp(other));
        let default = leaf(self, None, place.field("default"), default)?;
        Ok(Choice { by, of: named.into(), default })
    }

    fn required<'v>(
        &self,
        place: Place<'_>,
        value: &Value<'t>,
        table: &'v DeTable<'t>,
        name: &'static str,
    ) -> Result<&'v Value<'t>, RulesError> {
        table.get(name).ok_or_else(|| {
            let message = format!("absent: expected it beside {}", CHOICE.join(", "));
            self.error(Kind::MissingField, place.field(name), value.span(), message)
        })
    }

    pub(super) fn cost(&mut self, label: &RuleLabel, value: &Value<'t>) -> Result<Cost, RulesError> {
        let place = Place::of(label, "cost");
        let Some(table) = value.get_ref().as_table() else {
            return Ok(Cost::Fixed(self.units(place, value, 0)?));
        };
        let Some(from) = table.get("from") else {
            let leaf = |file: &mut Self, _: Option<&str>, place: Place<'_>, value: &Value<'t>| {
                file.units(place, value, 0)
            };
            return Ok(Cost::Chosen(self.choice(place, value, table, &CHOICE, Kind::BadCost, leaf)?));
        };
        let unknown = |name: &str| self.error(Kind::UnknownField, place.field(name), 0..0, String::new());
        self.known_fields(unknown, table, &READ)?;
        let Some(default) = table.get("default") else {
            let message = "absent: expected the cost of a value that is no number, and of none".to_owned();
            return Err(self.error(Kind::MissingField, place.field("default"), value.span(), message));
        };
        let text = self.text(place.field("from"), from, "an attribute's name")?;
        let from: Reference = self.reference(text, Kind::BadCost, place.field("from"), from.span())?;
        let or = |name, otherwise| match table.get(name) {
            None => Ok(otherwise),
            Some(value) => self.units(place.field(name), value, 1),
        };
        let (unit, max) = (or("unit", 1)?, or("max", u32::MAX)?);
        Ok(Cost::Read { from, unit, max, default: self.units(place.field("default"), default, 0)? })
    }

    /// Units, no fewer than `least`.
    fn units(&self, place: Place<'_>, value: &Value<'t>, least: u32) -> Result<u32, RulesError> {
        let expected = || format!("a whole number from {least} to {}", u32::MAX);
        let Some(number) = value.get_ref().as_integer() else {
            return Err(self.wrong_type(place, value, &expected()));
        };
        let units = u32::from_str_radix(number.as_str(), number.radix()).ok();
        units.filter(|units| *units >= least).ok_or_else(|| {
            let message = format!("{}: expected {}", shown(number.as_str()), expected());
            debug_assert_eq!(kind_of(value.get_ref()), "a whole number");
            self.error(Kind::BadCost, place, value.span(), message)
        })
    }
}

/// What policies that count in one cell have alike, layer by layer; `None` if the policy cannot share.
fn shape(policy: &Policy) -> Option<Vec<(String, u64)>> {
    let layers = policy.layers().iter().map(|layer| {
        let plan = layer.plan();
        let Plan::Word(kernel) = plan else { return None };
        let is_window =
            matches!(kernel, Kernel::FixedWindow(_) | Kernel::SlidingWindow(_) | Kernel::CalendarWindow(_));
        is_window.then(|| {
            let text = layer.to_string();
            let mut words = text.split(' ');
            let algorithm = words.next().unwrap_or_default();
            // The canonical form without the quota, and without what may differ or is the default.
            let options = words.skip(1).filter(|option| {
                !option.starts_with("strict=")
                    && *option != "start=aligned"
                    && !option.starts_with("offset=0")
            });
            (std::iter::once(algorithm).chain(options).collect::<Vec<_>>().join(" "), layer.rate().1)
        })
    });
    layers.collect()
}
