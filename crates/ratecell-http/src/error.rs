//! What is wrong with a configuration.

use core::fmt;

use ratecell::ReserveError;

/// Why a middleware was not built.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    /// There is no limit: every request would go.
    NoLimits,
    /// The limits have more layers than one request can have.
    #[non_exhaustive]
    Layers {
        /// How many they have.
        layers: usize,
    },
    /// A policy has `tz=caller`, and a middleware names no zone.
    #[non_exhaustive]
    Zone {
        /// The policy.
        policy: String,
    },
    /// Requests of a limiter are to be reserved, for a layer `in_flight` or because their costs are settled, and it cannot
    /// reserve.
    #[non_exhaustive]
    Reserve {
        /// Its policy.
        policy: String,
        /// Why it cannot.
        error: ReserveError,
    },
    /// An option has no use beside what else is configured.
    Option {
        /// Its name.
        option: &'static str,
        /// What was expected.
        expected: &'static str,
    },
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoLimits => f.write_str("no limits: expected at least one"),
            Self::Layers { layers } => write!(f, "the limits have {layers} layers: expected at most 64"),
            Self::Zone { policy } => {
                write!(f, "`{policy}` asks for a zone, and a middleware names none: expected another policy")
            }
            Self::Reserve { policy, error } => write!(f, "`{policy}`: {error}"),
            Self::Option { option, expected } => write!(f, "{option}: expected {expected}"),
        }
    }
}

impl core::error::Error for ConfigError {}
