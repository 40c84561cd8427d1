//! A limiter with who is limited, and what a request costs.

use core::fmt;
use std::sync::Arc;

use actix_web::dev::ServiceRequest;
use actix_web::http::header::HeaderName;
use ratecell::client_key::Clients;
use ratecell::fields::Label;
use ratecell::{Limiter, Unsettled};
use ratecell_http::Key;

use crate::head::Seen;

type KeyFn = dyn for<'r> Fn(&'r ServiceRequest) -> Option<Key<'r>> + Send + Sync;
type CostFn = dyn Fn(&ServiceRequest) -> u32 + Send + Sync;

/// A limiter before a service: who is limited, and what a request costs.
///
/// ```
/// use ratecell::client_key::{ClientField, Clients, FieldKind, Width};
/// use ratecell::{Limiter, Policy};
/// use ratecell_actix::{Key, Limit, RateLimit};
///
/// let limiter = |policy: &str| Limiter::builder(policy.parse::<Policy>()?).build().map_err(Box::<dyn std::error::Error>::from);
/// // Our own proxies are in 10.0.0.0/8, and each adds its peer to X-Forwarded-For.
/// let trust = ClientField::new("X-Forwarded-For", FieldKind::List)?.networks(["10.0.0.0/8"])?;
/// let limits = RateLimit::builder([
///     Limit::new(limiter("20/s burst=40")?).by_client(Clients::new(Width::default(), Some(trust))),
///     Limit::new(limiter("100000/1d")?).by(|request| Some(request.headers().get("x-api-key")?.as_bytes().into())),
///     Limit::new(limiter("2000/s")?).for_all(),
/// ])
/// .build()?;
/// # let _ = limits;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
#[must_use = "a limit does nothing until it is given to a middleware"]
pub struct Limit {
    pub(crate) limit: ratecell_http::Limit,
    key: By,
    cost: Cost,
}

#[derive(Clone)]
enum By {
    Client(Clients),
    All,
    Function(Arc<KeyFn>),
}

#[derive(Clone)]
enum Cost {
    Fixed(u32),
    Function(Arc<CostFn>),
}

/// Why a request has no claim on a limit.
pub(crate) enum Unclaimed {
    /// It has no key: the limit does not hold for it.
    NotLimited,
    /// The server does not say who its peer is.
    NoPeer,
}

impl Limit {
    /// Limits each client by its address: that of the connection's peer, and of IPv6 its first 64 bits. A request costs 1.
    pub fn new(limiter: impl Into<Arc<Limiter>>) -> Self {
        Self {
            limit: ratecell_http::Limit::new(limiter),
            key: By::Client(Clients::default()),
            cost: Cost::Fixed(1),
        }
    }

    /// Limits each client by its address, as `clients` finds it: with trusted proxies, or other widths. What actix calls
    /// `realip_remote_addr` is what a client writes, unless each of your proxies replaces the fields that it reads.
    pub fn by_client(self, clients: Clients) -> Self {
        Self { key: By::Client(clients), ..self }
    }

    /// Limits by the value of a field, such as an API key. A request without it is not limited, and anyone can write any
    /// value: use it behind what has checked the value, or with a limit by client beside it.
    ///
    /// # Panics
    /// If `name` is no name of a field.
    pub fn by_header(self, name: &str) -> Self {
        let name: HeaderName =
            name.parse().unwrap_or_else(|_| panic!("by_header({name:?}): expected the name of a field"));
        self.by(move |request| request.headers().get(&name).map(|value| value.as_bytes().into()))
    }

    /// Limits each path, as it was sent and without its query, for all clients together. Two spellings of a path are two keys:
    /// where a client can choose among many, key by the resource instead, as `match_pattern` has it.
    pub fn by_path(self) -> Self {
        self.by(|request| Some(request.uri().path().into()))
    }

    /// Limits all requests together.
    pub fn for_all(self) -> Self {
        Self { key: By::All, ..self }
    }

    /// Limits by the key that a function extracts from the request. A request without a key is not limited.
    pub fn by(
        self,
        key: impl for<'r> Fn(&'r ServiceRequest) -> Option<Key<'r>> + Send + Sync + 'static,
    ) -> Self {
        Self { key: By::Function(Arc::new(key)), ..self }
    }

    /// Sets what a request costs. 0 charges nothing, and shows the limit.
    pub fn cost(self, cost: u32) -> Self {
        Self { cost: Cost::Fixed(cost), ..self }
    }

    /// Sets what a request costs by a function of it.
    pub fn cost_by(self, cost: impl Fn(&ServiceRequest) -> u32 + Send + Sync + 'static) -> Self {
        Self { cost: Cost::Function(Arc::new(cost)), ..self }
    }

    /// Sets the name of the policy in fields, and the unit that is counted.
    pub fn label(self, label: Label<'static>) -> Self {
        Self { limit: self.limit.label(label), ..self }
    }

    /// Settles each request at what it has [used](crate::Used), which its handler says in the extensions of the response or of
    /// the request. If it does not say it, `unsettled` counts.
    pub fn settled(self, unsettled: Unsettled) -> Self {
        Self { limit: self.limit.settled(unsettled), ..self }
    }

    pub(crate) fn claim<'r>(&self, seen: &Seen<'r>) -> Result<(Key<'r>, u32), Unclaimed> {
        let key = match &self.key {
            By::Client(clients) => {
                ratecell_http::client_key(clients, seen).map(Key::from).ok_or(Unclaimed::NoPeer)?
            }
            By::All => Key::from(&b""[..]),
            By::Function(key) => key(seen.request).ok_or(Unclaimed::NotLimited)?,
        };
        let cost = match &self.cost {
            Cost::Fixed(cost) => *cost,
            Cost::Function(cost) => cost(seen.request),
        };
        Ok((key, cost))
    }
}

impl fmt::Debug for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Limit").field("limiter", self.limit.limiter()).finish_non_exhaustive()
    }
}

/// A limiter alone is a limit by client.
impl<L: Into<Arc<Limiter>>> From<L> for Limit {
    fn from(limiter: L) -> Self {
        Self::new(limiter)
    }
}
