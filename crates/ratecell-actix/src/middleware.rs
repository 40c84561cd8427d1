//! The middleware, and how it is configured.

use core::fmt;
use std::borrow::Cow;
use std::future::{Ready, ready};
use std::sync::Arc;

use actix_web::body::{EitherBody, MessageBody};
use actix_web::dev::{Service, ServiceRequest, ServiceResponse, Transform};
use actix_web::{Error, HttpResponse};
use ratecell::client_key::{Clients, Peer};
use ratecell::fields::Styles;
use ratecell::rules::RulesLimiter;
use ratecell::{Limiter, Unsettled};
use ratecell_http::{ConfigError, Counts, Decider, Limits, OnFault, Refusal, RuleLimits, rule_clients};

use crate::body::ResponseBody;
use crate::head::PeerFn;
use crate::limit::Limit;
use crate::service::RateLimitService;
use crate::shared::{AttributeFn, By, DeniedFn, Shared};

/// Limits the requests of an application, a scope or a resource: those that its limits allow go on, with the fields `RateLimit`
/// and `RateLimit-Policy` in their responses; the others are answered 429 with `Retry-After`.
///
/// Make one, and clone it into the application of each worker: all clones limit together. Any number of threads may share it.
#[derive(Clone)]
pub struct RateLimit {
    shared: Arc<Shared>,
}

/// A [`RateLimit`] under construction.
#[must_use = "a builder is not a middleware: call `build`"]
pub struct RateLimitBuilder {
    by: Building,
    peer: Option<PeerFn>,
    styles: Option<Styles>,
    is_shadow: bool,
    on_fault: OnFault,
    on_denied: Option<Arc<DeniedFn>>,
    /// The last option that is for rules alone, of a middleware with limits.
    misused: Option<&'static str>,
}

enum Building {
    Limits(Vec<Limit>),
    Rules { limits: RuleLimits, clients: Clients, own: Vec<(Box<str>, Arc<AttributeFn>)> },
}

impl RateLimit {
    /// Limits each client by its address: see [`Limit::new`].
    ///
    /// # Errors
    /// As [`RateLimitBuilder::build`].
    pub fn new(limiter: impl Into<Arc<Limiter>>) -> Result<Self, ConfigError> {
        Self::builder([Limit::new(limiter)]).build()
    }

    /// Begins a middleware with these limits. Of several, all are charged for a request, or none is.
    pub fn builder(limits: impl IntoIterator<Item = impl Into<Limit>>) -> RateLimitBuilder {
        RateLimitBuilder::of(Building::Limits(limits.into_iter().map(Into::into).collect()))
    }

    /// Begins a middleware with the limits of a file of rules. Rules see of a request its method, its path as it was sent, its host,
    /// its client's address and its header, and the [attributes](RateLimitBuilder::attribute) that the program adds. The
    /// header is what the client writes.
    pub fn rules(limiter: impl Into<Arc<RulesLimiter>>) -> RateLimitBuilder {
        let limits = RuleLimits::new(limiter);
        RateLimitBuilder::of(Building::Rules { limits, clients: rule_clients(), own: Vec::new() })
    }

    /// How often something happened that the responses do not show, since it was built: of all its clones and services
    /// together.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.shared.decider.counts()
    }
}

impl<S, B> Transform<S, ServiceRequest> for RateLimit
where
    S: Service<ServiceRequest, Response = ServiceResponse<B>, Error = Error> + 'static,
    B: MessageBody + 'static,
{
    type Response = ServiceResponse<EitherBody<ResponseBody<B>>>;
    type Error = Error;
    type Transform = RateLimitService<S>;
    type InitError = ();
    type Future = Ready<Result<Self::Transform, ()>>;

    fn new_transform(&self, inner: S) -> Self::Future {
        ready(Ok(RateLimitService::new(inner, Arc::clone(&self.shared))))
    }
}

impl fmt::Debug for RateLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateLimit").field("decider", &self.shared.decider).finish_non_exhaustive()
    }
}

impl RateLimitBuilder {
    fn of(by: Building) -> Self {
        Self {
            by,
            peer: None,
            styles: Some(ratecell::fields::Style::Draft11.into()),
            is_shadow: false,
            on_fault: OnFault::default(),
            on_denied: None,
            misused: None,
        }
    }

    /// Sets who the peer of a connection is. By default it is the address that the server says, `peer_addr`.
    ///
    /// On a Unix socket, all peers are one: `.peer(|_| Some(Peer::from("")))`.
    ///
    /// A request whose peer is not known, where its client's key needs it, is answered 500: the server has to say it. Rules that
    /// look at no client do without: `.peer(|_| None)`. Then the attribute `client` is absent.
    pub fn peer(mut self, peer: impl Fn(&ServiceRequest) -> Option<Peer> + Send + Sync + 'static) -> Self {
        self.peer = Some(Arc::new(peer));
        self
    }

    /// For rules: how the attribute `client` is found, as behind trusted proxies. Its widths are to be 32 and 128, because rules
    /// have widths of their own; with others, rules see no single addresses.
    pub fn clients(mut self, by: Clients) -> Self {
        match &mut self.by {
            Building::Rules { clients, .. } => *clients = by,
            Building::Limits(_) => self.misused = Some("clients"),
        }
        self
    }

    /// For rules: adds an attribute of the program's own, which the file names under `attributes`. It is absent of a request for
    /// which the function returns `None`.
    pub fn attribute(
        mut self,
        name: &str,
        value: impl for<'r> Fn(&'r ServiceRequest) -> Option<Cow<'r, [u8]>> + Send + Sync + 'static,
    ) -> Self {
        match &mut self.by {
            Building::Rules { own, .. } => own.push((name.into(), Arc::new(value))),
            Building::Limits(_) => self.misused = Some("attribute"),
        }
        self
    }

    /// For rules that reserve: how much of a request counts as used whose handler does not say what it [used](crate::Used);
    /// default [`Unsettled::Keep`].
    pub fn unsettled(mut self, unsettled: Unsettled) -> Self {
        match &mut self.by {
            Building::Rules { limits, .. } => *limits = limits.clone().unsettled(unsettled),
            Building::Limits(_) => self.misused = Some("unsettled"),
        }
        self
    }

    /// Sets which fields responses have: one [`Style`](ratecell::fields::Style), or several by
    /// [`Styles::and`]. Default: `RateLimit` and `RateLimit-Policy` by draft -11.
    pub fn styles(mut self, styles: impl Into<Styles>) -> Self {
        self.styles = Some(styles.into());
        self
    }

    /// Responses get no fields.
    pub fn without_fields(mut self) -> Self {
        self.styles = None;
        self
    }

    /// Makes it a trial: requests are decided, charged and [counted](RateLimit::counts), and all of them go, without a
    /// delay and without fields. One that the store of many machines is asked about waits for the answer, as it would then.
    pub fn shadow(mut self) -> Self {
        self.is_shadow = true;
        self
    }

    /// Sets what happens to a request that the limiter cannot decide; default [`OnFault::Open`].
    pub fn on_fault(mut self, on_fault: OnFault) -> Self {
        self.on_fault = on_fault;
        self
    }

    /// Sets what answers a request that is refused, in place of one line of text. Fields are added to it.
    ///
    /// ```
    /// # use actix_web::HttpResponse;
    /// # use actix_web::http::StatusCode;
    /// # use ratecell::{Limiter, Policy};
    /// # use ratecell_actix::RateLimit;
    /// # let limiter = Limiter::builder("100/s".parse::<Policy>()?).build()?;
    /// let limits = RateLimit::builder([limiter])
    ///     .on_denied(|_, refusal| {
    ///         let status = StatusCode::from_u16(refusal.status()).expect("a status");
    ///         HttpResponse::build(status)
    ///             .content_type("application/problem+json")
    ///             .body(format!(r#"{{"title":"{refusal}"}}"#))
    ///     })
    ///     .build()?;
    /// # let _ = limits;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn on_denied(
        mut self,
        on_denied: impl Fn(&ServiceRequest, &Refusal) -> HttpResponse + Send + Sync + 'static,
    ) -> Self {
        self.on_denied = Some(Arc::new(on_denied));
        self
    }

    /// Builds the middleware.
    ///
    /// # Errors
    /// There is no limit; the limits have more than 64 layers; a policy has `tz=caller`; a limiter is to reserve, and cannot; or
    /// an option is for rules alone.
    pub fn build(self) -> Result<RateLimit, ConfigError> {
        if let Some(option) = self.misused {
            return Err(ConfigError::Option { option, expected: "it of a middleware by rules" });
        }
        let (decider, by) = match self.by {
            Building::Limits(limits) => {
                let decider = Decider::new(Limits::new(limits.iter().map(|limit| limit.limit.clone()))?);
                (decider, By::Limits(limits.into()))
            }
            Building::Rules { limits, clients, own } => {
                (Decider::by_rules(limits), By::Rules { clients, own: own.into() })
            }
        };
        let decider = decider.styles(self.styles).on_fault(self.on_fault);
        let decider = if self.is_shadow { decider.shadow() } else { decider };
        let shared = Shared { decider, by, peer: self.peer, on_denied: self.on_denied };
        Ok(RateLimit { shared: Arc::new(shared) })
    }
}

impl fmt::Debug for RateLimitBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateLimitBuilder")
            .field("is_shadow", &self.is_shadow)
            .field("on_fault", &self.on_fault)
            .finish_non_exhaustive()
    }
}
