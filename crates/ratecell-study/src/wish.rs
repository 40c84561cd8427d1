//! What a limit is to do.

use std::fmt;
use std::str::FromStr;

use ratecell_core::{Policy, whole_units};

/// Billionths in one percent.
const PERCENT: u64 = 10_000_000;

/// What a limit is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// No request is denied of a client that [behaves](crate::Behaviour).
    DenyNobody,
    /// At most this share of the requests is denied.
    DenyAtMost {
        /// In billionths.
        share: u64,
    },
    /// All clients together are allowed at most so many units in each window, which begins at a multiple of its length.
    Protect {
        /// The most units.
        units: u64,
        /// The window in nanoseconds.
        period_ns: u64,
    },
}

/// What was wrong with the text of a wish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WishError(String);

impl fmt::Display for WishError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for WishError {}

impl Wish {
    /// The wish to deny at most a share, which is written as a percentage such as `0.1%`.
    ///
    /// # Errors
    /// Another text, more than 100 %, or more than seven digits after the point.
    pub fn deny_at_most(text: &str) -> Result<Self, WishError> {
        let share = text.strip_suffix('%').and_then(billionths).filter(|share| *share <= 100 * PERCENT);
        let expected = || WishError("expected a percentage from 0% to 100%, such as 0.1%".to_owned());
        share.map(|share| Self::DenyAtMost { share }).ok_or_else(expected)
    }

    /// The wish to protect what can bear a rate, which is written as in a policy, such as `200/s`.
    ///
    /// # Errors
    /// Another text.
    pub fn protect(text: &str) -> Result<Self, WishError> {
        let expected = |why: String| WishError(format!("expected a rate such as 200/s or 5000/m: {why}"));
        if text.contains(['=', '&']) {
            return Err(expected("options and layers are of policies".to_owned()));
        }
        let policy = Policy::from_str(&format!("fixed_window {text}"));
        let policy = policy.map_err(|error| expected(error.to_string()))?;
        let rate = policy.layers().first().map(|layer| layer.rate());
        let (units, period_ns) = rate.unwrap_or_default();
        Ok(Self::Protect { units, period_ns })
    }

    /// Whether a tighter limit meets it wherever a looser one does: it sets an upper bound.
    pub(crate) fn is_upper_bound(self) -> bool {
        matches!(self, Self::Protect { .. })
    }
}

/// A decimal percentage in billionths.
fn billionths(percent: &str) -> Option<u64> {
    let (whole, fraction) = percent.split_once('.').unwrap_or((percent, "0"));
    let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(whole) || !is_number(fraction) || fraction.len() > 7 {
        return None;
    }
    let whole = whole.parse::<u64>().ok()?.checked_mul(PERCENT)?;
    whole.checked_add(format!("{fraction:0<7}").parse().ok()?)
}

impl fmt::Display for Wish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DenyNobody => f.write_str("deny nobody who behaves"),
            Self::DenyAtMost { share } => {
                let (whole, fraction) = (share / PERCENT, format!("{:07}", share % PERCENT));
                let fraction = fraction.trim_end_matches('0');
                let point = if fraction.is_empty() { "" } else { "." };
                write!(f, "deny at most {whole}{point}{fraction} % of the requests")
            }
            Self::Protect { units, period_ns } => {
                write!(f, "allow all clients together at most {units} in {}", whole_units(*period_ns))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_exact() {
        for (text, share, shown) in [
            ("0.1%", 1_000_000, "0.1"),
            ("100%", 1_000_000_000, "100"),
            ("0%", 0, "0"),
            ("12.3456789%", 123_456_789, "12.3456789"),
        ] {
            let wish = Wish::deny_at_most(text).unwrap();
            assert_eq!(wish, Wish::DenyAtMost { share });
            assert_eq!(wish.to_string(), format!("deny at most {shown} % of the requests"));
        }
        for text in ["", "%", "0.1", "-1%", "100.1%", "1e-3%", ".5%", "1.%", "0.12345678%"] {
            Wish::deny_at_most(text).unwrap_err();
        }
    }

    #[test]
    fn rates_are_those_of_policies() {
        let wish = Wish::protect("200/s").unwrap();
        assert_eq!(wish, Wish::Protect { units: 200, period_ns: 1_000_000_000 });
        assert_eq!(
            Wish::protect("200 per 10 seconds"),
            Ok(Wish::Protect { units: 200, period_ns: 10_000_000_000 })
        );
        for text in ["", "200", "0/s", "200/s offset=1s", "1/s & 2/s"] {
            let error = Wish::protect(text).unwrap_err();
            assert!(error.to_string().starts_with("expected a rate such as 200/s or 5000/m: "), "{error}");
        }
    }
}
