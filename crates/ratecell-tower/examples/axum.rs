//! An axum server, each of whose clients is allowed 10 requests a second, and 20 at once.
//!
//! `cargo run -p ratecell-tower --example axum`, then `curl -i http://127.0.0.1:3000/` a few times.

use std::error::Error;
use std::net::SocketAddr;

use axum::{Router, routing::get};
use ratecell::{Limiter, Policy};
use ratecell_tower::RateLimitLayer;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let policy: Policy = "10/s burst=20".parse()?;
    let limiter = Limiter::builder(policy).max_keys(1_000_000).build()?;
    let app = Router::new().route("/", get(|| async { "hello\n" })).layer(RateLimitLayer::new(limiter)?);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await?;
    // So that the layer knows the clients' addresses.
    axum::serve(listener, app.into_make_service_with_connect_info::<SocketAddr>()).await?;
    Ok(())
}
