//! What a record costs.

use std::str::FromStr;

use crate::record::{Field, Record, Value};

/// The units that a record takes: a number, or a field divided by one and rounded up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cost {
    /// The same for all.
    Fixed(u32),
    /// What a field has, over a divisor.
    Field {
        /// The field.
        field: CostField,
        /// Not 0.
        divisor: u128,
    },
}

/// A field that has a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CostField(Field);

impl Cost {
    /// The units of a record, at most 2^32-1; 0 where the field is not there or no number.
    #[must_use]
    pub fn of(&self, record: &Record<'_>) -> u32 {
        self.known(record).unwrap_or(0)
    }

    /// The units of a record, at most 2^32-1; `None` where the field is not there or no number.
    #[must_use]
    pub fn known(&self, record: &Record<'_>) -> Option<u32> {
        match self {
            Self::Fixed(cost) => Some(*cost),
            Self::Field { field, divisor } => match record.field(&field.0)? {
                Value::Number(number) => Some(u32::try_from(number.div_ceil(*divisor)).unwrap_or(u32::MAX)),
                Value::Text(_) => None,
            },
        }
    }
}

impl FromStr for Cost {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("`{text}`: expected a number below 2^32, a field such as bytes, or bytes/1024");
        let (name, divisor) = text.split_once('/').unwrap_or((text, "1"));
        let divisor = divisor.parse().ok().filter(|divisor| *divisor > 0).ok_or_else(wrong)?;
        if name.starts_with(|c: char| c.is_ascii_digit()) {
            return text.parse().map(Self::Fixed).map_err(|_| wrong());
        }
        if name.is_empty() {
            return Err(wrong());
        }
        Ok(Self::Field { field: CostField(Field::named(name)), divisor })
    }
}
