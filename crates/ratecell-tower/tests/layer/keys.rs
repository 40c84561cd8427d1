//! Who is limited, and what a request costs.

use ratecell::client_key::{ClientField, Clients, FieldKind, Width};
use ratecell_tower::{Key, Limit, RateLimitLayer};

use super::*;

fn layer(limit: Limit) -> RateLimitLayer {
    RateLimitLayer::builder([limit]).build().expect("a layer")
}

#[tokio::test]
async fn each_client_is_limited_by_itself() {
    let layer = RateLimitLayer::builder([timeless("1/h")])
        .peer(|head| Some(head.header("x-test-peer")?.into()))
        .build()
        .expect("a layer");
    let by = |peer: &'static str| move || request("/", &[("x-test-peer", peer)]);
    assert_eq!(statuses(&layer, 2, by("192.0.2.1:1")).await, [200, 429]);
    assert_eq!(statuses(&layer, 2, by("192.0.2.2:1")).await, [200, 429]);
    // One client, by another socket, and one network.
    assert_eq!(statuses(&layer, 1, by("[::ffff:192.0.2.1]:2")).await, [429]);
    assert_eq!(statuses(&layer, 1, by("[2001:db8::1]:1")).await, [200]);
    assert_eq!(statuses(&layer, 1, by("[2001:db8::2]:1")).await, [429]);
}

#[tokio::test]
async fn a_trusted_proxy_names_the_client() {
    let field = ClientField::new("X-Forwarded-For", FieldKind::List).expect("a field");
    let trust = field.networks(["192.0.2.0/24"]).expect("a network");
    let clients = Clients::new(Width::default(), Some(trust));
    let layer = layer(Limit::new(timeless("1/h")).by_client(clients));
    let by = |lines: &'static [(&'static str, &'static str)]| move || request("/", lines);
    let first = by(&[("x-forwarded-for", "6.6.6.6, 203.0.113.7")]);
    assert_eq!(statuses(&layer, 2, first).await, [200, 429]);
    // What the client writes does not matter, nor how the proxy's lines are split.
    let spoofed = by(&[("x-forwarded-for", "7.7.7.7"), ("x-forwarded-for", "203.0.113.7")]);
    assert_eq!(statuses(&layer, 1, spoofed).await, [429]);
    let other = by(&[("x-forwarded-for", "203.0.113.8")]);
    assert_eq!(statuses(&layer, 2, other).await, [200, 429]);
}

#[tokio::test]
async fn a_server_that_names_no_peer_limits_nobody() {
    let nameless = || Request::new(Body::default());
    let layer = RateLimitLayer::new(timeless("10/s")).expect("a layer");
    let answer = ask(&layer, nameless()).await;
    let said = "The server does not tell the rate limiter its clients' addresses\n";
    assert_eq!((answer.status, &*answer.body), (500, said));
    assert_eq!(layer.counts().faults, 1);
    let trial = RateLimitLayer::builder([timeless("10/s")]).shadow().build().expect("a layer");
    assert_eq!(ask(&trial, nameless()).await.status, 200);
    assert_eq!(trial.counts().faults, 1);
    // By position the proxy's word is enough.
    let trust = ClientField::new("X-Real-IP", FieldKind::Single).and_then(|field| field.hops(1));
    let clients = Clients::new(Width::default(), Some(trust.expect("a proxy")));
    let behind = self::layer(Limit::new(timeless("1/h")).by_client(clients));
    let named =
        || Request::builder().header("x-real-ip", "203.0.113.7").body(Body::default()).expect("a request");
    assert_eq!(statuses(&behind, 2, named).await, [200, 429]);
    assert_eq!(ask(&behind, nameless()).await.status, 500);
    // And nobody is asked for where no client is limited.
    let all = self::layer(Limit::new(timeless("1/h")).for_all());
    assert_eq!(statuses(&all, 2, nameless).await, [200, 429]);
}

#[tokio::test]
async fn a_field_is_a_key() {
    let layer = layer(Limit::new(timeless("1/h")).by_header("X-Api-Key"));
    assert_eq!(statuses(&layer, 2, || request("/", &[("x-api-key", "ann")])).await, [200, 429]);
    assert_eq!(statuses(&layer, 2, || request("/", &[("x-api-key", "bob")])).await, [200, 429]);
    // Without it a request is not limited.
    let free = ask(&layer, get("/")).await;
    assert_eq!((free.status, free.line("ratelimit")), (200, None));
}

#[test]
#[should_panic(expected = "by_header(\"x y\"): expected the name of a field")]
fn a_field_has_a_name() {
    let _ = Limit::new(timeless("1/h")).by_header("x y");
}

#[tokio::test]
async fn paths_functions_and_costs() {
    let by_path = layer(Limit::new(timeless("1/h")).by_path());
    assert_eq!(statuses(&by_path, 2, || get("/a")).await, [200, 429]);
    assert_eq!(statuses(&by_path, 1, || get("/a?x=1")).await, [429]);
    assert_eq!(statuses(&by_path, 1, || get("/b")).await, [200]);
    let tenant = layer(Limit::new(timeless("5/h")).by(|head| {
        let tenant = head.uri().path().split('/').nth(1).filter(|tenant| !tenant.is_empty())?;
        Some(Key::from(format!("tenant {tenant}")))
    }));
    assert_eq!(statuses(&tenant, 6, || get("/acme/x")).await, [200, 200, 200, 200, 200, 429]);
    assert_eq!(statuses(&tenant, 6, || get("/")).await, [200; 6]);
    let costly =
        Limit::new(timeless("5/h")).cost_by(|head| if head.method() == http::Method::GET { 2 } else { 0 });
    let costly = layer(costly);
    assert_eq!(statuses(&costly, 3, || get("/")).await, [200, 200, 429]);
    let mut peek = get("/");
    *peek.method_mut() = http::Method::HEAD;
    let peek = ask(&costly, peek).await;
    assert_eq!((peek.status, peek.line("ratelimit")), (200, Some("\"5/h\";r=1;t=720")));
}

#[tokio::test]
async fn several_limits_are_charged_together() {
    let clock = MockClock::new();
    let all = std::sync::Arc::new(limiter("3/h", &clock));
    let layer = RateLimitLayer::builder([
        Limit::new(limiter("2/h", &clock)),
        Limit::new(limiter("100/h", &clock)).by_header("x-api-key"),
        Limit::new(std::sync::Arc::clone(&all)).for_all(),
    ])
    .build()
    .expect("a layer");
    assert_eq!(statuses(&layer, 4, || get("/")).await, [200, 200, 429, 429]);
    // What was refused was charged nowhere.
    assert_eq!(all.peek("").remaining(), 1);
    let refused = ask(&layer, request("/", &[("x-api-key", "k")])).await;
    assert_eq!(refused.line("ratelimit"), Some("\"2/h\";r=0;t=1800, \"100/h\";r=100, \"3/h\";r=1;t=1200"));
    assert_eq!(refused.line("retry-after"), Some("1800"));
}
