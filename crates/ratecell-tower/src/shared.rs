//! What all services of a layer have in common: how they decide a request, and answer one that is refused.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use ratecell::client_key::Clients;
use ratecell_http::{Claimed, Decider, HeadAttributes, Refusal, Verdict, client_key, is_grpc};
use smallvec::SmallVec;

use crate::fields::Fields;
use crate::head::{PeerFn, RequestHead, Seen};
use crate::limit::{Limit, Unclaimed};
use crate::response;

/// Answers a refusal.
pub(crate) type DeniedFn = dyn for<'r> Fn(RequestHead<'r>, &Refusal) -> Response<Bytes> + Send + Sync;
/// Finds an attribute of the program's own.
pub(crate) type AttributeFn = dyn for<'r> Fn(RequestHead<'r>) -> Option<Cow<'r, [u8]>> + Send + Sync;

/// What the services of a layer have in common.
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
    /// Decides a request, and gathers its fields.
    pub(crate) fn decide<B>(&self, request: &Request<B>, fields: &mut Fields) -> Verdict {
        let seen = Seen { head: RequestHead::of(request), peer: self.peer.as_ref() };
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
                    value(seen.head)
                };
                let attributes = HeadAttributes { head: &seen, client, own: value };
                self.decider.decide_by_rules(&attributes, &mut |name, value| fields.push(name, value))
            }
        }
    }

    /// The answer to a request that is refused.
    pub(crate) fn refuse<B>(
        &self,
        request: &Request<B>,
        refusal: &Refusal,
        fields: Fields,
    ) -> Response<Bytes> {
        let head = RequestHead::of(request);
        let mut response = match &self.on_denied {
            _ if is_grpc(&Seen { head, peer: None }) => response::grpc(head, refusal),
            Some(on_denied) => on_denied(head, refusal),
            None => response::plain(refusal),
        };
        fields.add_to(response.headers_mut());
        response
    }
}
