//! Limits by a file of rules.

use ratecell::rules::{Rules, RulesLimiter};
use ratecell_tower::{RateLimitLayer, Reason, Used};

use super::*;

const FILE: &str = r#"
ratecell_rules = 1
attributes = ["tier", "tokens"]
unclear_path = "refuse"

[[rule]]
name = "internal"
match.client = "10.0.0.0/8"
mode = "skip"

[[rule]]
name = "closed"
match.path = "/closed/**"
key = []
limit = "blocked"

[[rule]]
name = "login"
match.path = "/login"
match.method = "POST"
match.host = "*.example.com"
key = ["client"]
limit = "2/m"

[[rule]]
name = "keyed"
match."header:x-key" = "a, b"
key = ["header:x-key"]
limit = "1/h"

[[rule]]
name = "api"
match.path = "/api/**"
key = ["client"]
limit = { by = "tier", of = { pro = "3/m" }, default = "1/m" }
"#;

fn rules(text: &str) -> Rules {
    Rules::parse(text).expect("rules")
}

fn layer() -> RateLimitLayer {
    let limiter = RulesLimiter::builder(rules(FILE)).clock(&MockClock::new()).build().expect("a limiter");
    RateLimitLayer::rules(limiter)
        .peer(|head| Some(head.header("x-test-peer").unwrap_or(b"192.0.2.1").into()))
        .attribute("tier", |head| head.header("x-tier").map(Into::into))
        .build()
        .expect("a layer")
}

fn login(host: &str) -> Request<Body> {
    let mut request = request("/login", &[("host", host)]);
    *request.method_mut() = http::Method::POST;
    request
}

#[tokio::test]
async fn rules_see_the_request() {
    let layer = layer();
    // What no rule limits has no fields.
    let free = ask(&layer, get("/")).await;
    assert_eq!((free.status, free.line("ratelimit-policy")), (200, None));
    assert_eq!(statuses(&layer, 3, || login("www.example.com")).await, [200, 200, 429]);
    assert_eq!(statuses(&layer, 3, || login("example.org")).await, [200; 3]);
    // HTTP/2 has the host in the target.
    let mut by_target = login("example.org");
    *by_target.uri_mut() = "https://www.example.com/login".parse().expect("a target");
    let refused = ask(&layer, by_target).await;
    assert_eq!((refused.status, refused.line("ratelimit")), (429, Some("\"login\";r=0;t=30")));
    // The lines of a field are one value.
    let keyed = || request("/", &[("x-key", "a"), ("x-key", "b")]);
    assert_eq!(statuses(&layer, 2, keyed).await, [200, 429]);
    // Attributes of the program.
    assert_eq!(statuses(&layer, 2, || get("/api/x?y=1")).await, [200, 429]);
    assert_eq!(statuses(&layer, 4, || request("/api/x", &[("x-tier", "pro")])).await, [200, 200, 200, 429]);
    let inside = || request("/api/x", &[("x-test-peer", "10.1.2.3")]);
    assert_eq!(statuses(&layer, 3, inside).await, [200; 3]);
}

#[tokio::test]
async fn each_refusal_has_its_status() {
    let layer = layer();
    let blocked = ask(&layer, get("/closed/x")).await;
    assert_eq!((blocked.status, &*blocked.body), (403, "The rules never allow it\n"));
    let unclear = ask(&layer, get("/x%2Fclosed")).await;
    assert_eq!((unclear.status, &*unclear.body), (400, "The path can be read in several ways\n"));
    let call = request("/closed/x", &[("content-type", "application/grpc")]);
    assert_eq!(ask(&layer, call).await.line("grpc-status"), Some("7"));
}

#[tokio::test]
async fn a_refusal_names_its_rule() {
    let limiter = RulesLimiter::builder(rules(FILE)).build().expect("a limiter");
    let layer = RateLimitLayer::rules(limiter)
        .on_denied(|_, refusal| {
            assert!(matches!(refusal.reason(), Reason::Forbidden | Reason::Denied));
            Response::new(refusal.rule_name().unwrap_or("no rule").to_owned())
        })
        .build()
        .expect("a layer");
    assert_eq!(ask(&layer, get("/closed/x")).await.body, "closed");
    assert_eq!(ask(&layer, get("/api/x")).await.body, "hello");
    assert_eq!(ask(&layer, get("/api/x")).await.body, "api");
}

#[tokio::test]
async fn rules_that_look_at_no_client_do_without_one() {
    let site = || rules("ratecell_rules = 1\n[[rule]]\nname = 'site'\nkey = []\nlimit = '1/h'\n");
    let limiter = || RulesLimiter::builder(site()).build().expect("a limiter");
    let nameless = || Request::new(Body::default());
    let silent = RateLimitLayer::rules(limiter()).build().expect("a layer");
    assert_eq!(statuses(&silent, 1, nameless).await, [500]);
    let without = RateLimitLayer::rules(limiter()).peer(|_| None).build().expect("a layer");
    assert_eq!(statuses(&without, 2, nameless).await, [200, 429]);
}

#[tokio::test]
async fn rules_are_changed_while_requests_are_served() {
    let site = |limit: &str| {
        rules(&format!("ratecell_rules = 1\n[[rule]]\nname = 'site'\nkey = []\nlimit = '{limit}'\n"))
    };
    let limiter = RulesLimiter::builder(site("2/d")).clock(&MockClock::new()).build().expect("a limiter");
    let limiter = std::sync::Arc::new(limiter);
    let layer = RateLimitLayer::rules(std::sync::Arc::clone(&limiter)).build().expect("a layer");
    assert_eq!(statuses(&layer, 3, || get("/")).await, [200, 200, 429]);
    limiter.change(site("3/d")).expect("it follows");
    assert_eq!(statuses(&layer, 2, || get("/")).await, [200, 429]);
}

#[tokio::test]
async fn permits_and_costs_are_given_back() {
    let file = "
        ratecell_rules = 1
        attributes = ['tokens']
        [[rule]]
        name = 'tokens'
        key = []
        limit = '90000/m'
        cost = { from = 'tokens', default = 4000 }
        [[rule]]
        name = 'at-once'
        key = []
        limit = 'in_flight 1 hold=60s'
    ";
    let limiter = RulesLimiter::builder(rules(file)).reserving().clock(&MockClock::new()).build();
    let layer = RateLimitLayer::rules(limiter.expect("a limiter")).build().expect("a layer");
    let streamed = Used::later();
    let serve = async |used: Used| {
        let service = layer.layer(service_fn(move |_: Request<Body>| {
            let used = used.clone();
            async move {
                let mut response = Response::new(Body::from("text"));
                response.extensions_mut().insert(used);
                Ok::<_, std::convert::Infallible>(response)
            }
        }));
        service.oneshot(get("/")).await.expect("infallible")
    };
    let first = serve(streamed.clone()).await;
    let second = answered(serve(Used::attributes([("tokens", "1")])).await).await;
    assert_eq!(
        (second.status, second.line("ratelimit")),
        (429, Some("\"tokens\";r=86000;t=1, \"at-once\";r=0;t=120"))
    );
    assert!(streamed.set_attributes([("tokens", "1210")]));
    drop(first);
    let third = answered(serve(Used::attributes([("tokens", "90")])).await).await;
    assert_eq!(
        (third.status, third.line("ratelimit")),
        (200, Some("\"tokens\";r=84790;t=1, \"at-once\";r=0;t=120"))
    );
    let fourth = answered(serve(Used::later()).await).await;
    assert_eq!(fourth.line("ratelimit"), Some("\"tokens\";r=84700;t=1, \"at-once\";r=0;t=120"));
}
