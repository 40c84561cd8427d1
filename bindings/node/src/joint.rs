//! `Joint`: requests to several limiters, which are charged all or none.

use std::sync::Arc;

use napi::Result;
use napi::bindgen_prelude::BigUint64Array;
use napi_derive::napi;
use ratecell::{Claim, Decision};

use crate::errors;
use crate::limiter::Limiter;
use crate::memory::Page;
use crate::page;
use crate::request::Terms;

/// The most layers that are decided at once.
const MAX_LAYERS: usize = 64;

/// The outcome of all claims, and a record for each by itself.
#[napi(object)]
pub struct Decided {
    pub outcome: u32,
    pub records: BigUint64Array,
}

/// Claims that are collected, and then decided once.
#[napi]
#[derive(Default)]
pub struct Joint {
    claims: Vec<(Arc<ratecell::Limiter>, Vec<u8>, Terms)>,
}

#[napi]
impl Joint {
    #[napi(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the page's request for `key` to this limiter.
    #[napi]
    pub fn add(&mut self, limiter: &Limiter, page: &Page, key: &[u8]) {
        self.claims.push((limiter.core.clone(), key.to_vec(), Terms::of(page.bytes())));
    }

    /// Decides them.
    #[napi]
    pub fn decide(&self) -> Result<Decided> {
        let layers: usize = self.claims.iter().map(|(limiter, ..)| limiter.policy().layers().len()).sum();
        if layers > MAX_LAYERS {
            return Err(errors::of_value(&format!(
                "the claims have {layers} layers: expected at most {MAX_LAYERS}"
            )));
        }
        let claims: Vec<Claim<'_>> = self
            .claims
            .iter()
            .map(|(limiter, key, terms)| Claim { limiter, request: terms.request(key, None) })
            .collect();
        let mut decisions = vec![Decision::default(); claims.len()];
        let outcome = ratecell::Limiter::decide_all(&claims, &mut decisions);
        Ok(Decided { outcome: outcome as u32, records: page::records(&decisions) })
    }
}
