//! What all workers of a server have in common: how they decide a request, and answer one that is refused.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use actix_web::HttpResponse;
use actix_web::dev::ServiceRequest;
use actix_web::http::StatusCode;
use actix_web::http::header::ContentType;
use ratecell::client_key::Clients;
use ratecell_http::{Claimed, Decider, HeadAttributes, Held, Pass, Refusal, Verdict, client_key};
use smallvec::SmallVec;

use crate::fields::Fields;
use crate::head::{PeerFn, Seen};
use crate::limit::{Limit, Unclaimed};

/// How often the store of many machines is looked at.
const ASK_EACH: Duration = Duration::from_millis(2);

/// Answers a refusal.
pub(crate) type DeniedFn = dyn Fn(&ServiceRequest, &Refusal) -> HttpResponse + Send + Sync;
/// Finds an attribute of the program's own.
pub(crate) type AttributeFn = dyn for<'r> Fn(&'r ServiceRequest) -> Option<Cow<'r, [u8]>> + Send + Sync;

/// What the services of a middleware have in common.
pub(crate) struct Shared {
    pub(crate) decider: Decider,
    pub(crate) by: By,
    pub(crate) peer: Option<PeerFn>,
    pub(crate) on_denied: Option<Arc<DeniedFn>>,
}

/// What it decides by.
pub(crate) enum By {
    Limits(Box<[Limit]>),
    Rules { clients: Clients, own: Box<[(Box<str>, Arc<AttributeFn>)]> },
}

impl Shared {
    /// Decides a request, and waits as long as it is to wait. What it holds goes with it; a refusal is answered.
    pub(crate) async fn admit(
        &self,
        request: &ServiceRequest,
    ) -> Result<(Fields, Option<Held>), HttpResponse> {
        let mut times = 0;
        loop {
            let mut fields = Fields::default();
            let verdict = match self.decide(request, &mut fields) {
                Verdict::Ask if ASK_EACH * times >= Decider::ASK_FOR => self.decider.late(),
                verdict => verdict,
            };
            match verdict {
                Verdict::Go(Pass { delay, held }) => {
                    if !delay.is_zero() {
                        self.sleep(delay).await;
                    }
                    return Ok((fields, held));
                }
                Verdict::Refuse(refusal) => return Err(self.refuse(request, &refusal, fields)),
                Verdict::Ask => self.sleep(ASK_EACH).await,
            }
            times += 1;
        }
    }

    async fn sleep(&self, delay: Duration) {
        if let Some(sleep) = self.decider.sleep(delay) {
            sleep.await;
        }
    }

    /// Decides a request, and gathers its fields.
    fn decide(&self, request: &ServiceRequest, fields: &mut Fields) -> Verdict {
        let seen = Seen { request, peer: self.peer.as_ref() };
        match &self.by {
            By::Limits(limits) => {
                let mut claims = SmallVec::<[Claimed<'_>; 2]>::new();
                for (number, limit) in limits.iter().enumerate() {
                    match limit.claim(&seen) {
                        Ok((key, cost)) => claims.push(Claimed { limit: number, key, cost }),
                        Err(Unclaimed::NotLimited) => {}
                        Err(Unclaimed::NoPeer) => return self.decider.no_peer(),
                    }
                }
                self.decider.decide(&claims, &mut |name, value| fields.push(name, value))
            }
            By::Rules { clients, own } => {
                let client = client_key(clients, &seen);
                if client.is_none() && self.peer.is_none() {
                    return self.decider.no_peer();
                }
                let value = |name: &str| {
                    let (_, value) = own.iter().find(|(own, _)| **own == *name)?;
                    value(request)
                };
                let attributes = HeadAttributes { head: &seen, client, own: value };
                self.decider.decide_by_rules(&attributes, &mut |name, value| fields.push(name, value))
            }
        }
    }

    /// The answer to a request that is refused.
    fn refuse(&self, request: &ServiceRequest, refusal: &Refusal, fields: Fields) -> HttpResponse {
        let mut response = match &self.on_denied {
            Some(on_denied) => on_denied(request, refusal),
            None => plain(refusal),
        };
        fields.add_to(response.headers_mut());
        response
    }
}

/// The answer in plain text.
fn plain(refusal: &Refusal) -> HttpResponse {
    let status = StatusCode::from_u16(refusal.status()).unwrap_or(StatusCode::TOO_MANY_REQUESTS);
    HttpResponse::build(status).content_type(ContentType::plaintext()).body(format!("{refusal}\n"))
}
