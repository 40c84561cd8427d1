//! Who is limited.

use actix_web::HttpMessage as _;
use ratecell::client_key::{ClientField, Clients, FieldKind, Peer, Width};
use ratecell::rules::{Rules, RulesLimiter};
use ratecell_actix::Limit;

use super::*;

fn one(limit: Limit) -> RateLimit {
    RateLimit::builder([limit]).build().expect("limits")
}

#[actix_web::test]
async fn each_client_has_its_own_limit() {
    let limits = RateLimit::new(timeless("1/h")).expect("limits");
    for (peer, status) in [
        ("192.0.2.1:1", 200),
        ("192.0.2.1:2", 429),
        ("192.0.2.2:1", 200),
        ("[2001:db8:1:2::1]:1", 200),
        ("[2001:db8:1:2::2]:1", 429),
        ("[2001:db8:1:3::1]:1", 200),
    ] {
        let request = TestRequest::get().peer_addr(peer.parse().expect("an address"));
        assert_eq!(ask(&limits, request).await.status, status, "{peer}");
    }
}

#[actix_web::test]
async fn a_field_is_believed_of_ones_own_proxies_alone() {
    let trust = ClientField::new("X-Forwarded-For", FieldKind::List).expect("a name");
    let trust = trust.networks(["192.0.2.0/24"]).expect("networks");
    let clients = Clients::new(Width::default(), Some(trust));
    let limits = one(Limit::new(timeless("1/h")).by_client(clients));
    for (peer, line, status) in [
        ("192.0.2.1:1", "198.51.100.1", 200),
        ("192.0.2.1:1", "198.51.100.2", 200),
        ("192.0.2.2:1", "203.0.113.9, 198.51.100.1", 429),
        ("203.0.113.1:1", "198.51.100.3", 200),
        ("203.0.113.1:1", "198.51.100.4", 429),
    ] {
        let request = TestRequest::get().peer_addr(peer.parse().expect("an address"));
        let answer = ask(&limits, request.insert_header(("x-forwarded-for", line))).await;
        assert_eq!(answer.status, status, "{peer} {line}");
    }
}

#[actix_web::test]
async fn a_request_without_a_key_is_not_limited() {
    let limits = one(Limit::new(timeless("1/h")).by_header("x-api-key"));
    let key = |value: &'static str| move || get("/").insert_header(("x-api-key", value));
    assert_eq!(statuses(&limits, 2, key("a")).await, [200, 429]);
    assert_eq!(statuses(&limits, 2, key("b")).await, [200, 429]);
    assert_eq!(statuses(&limits, 2, || get("/")).await, [200; 2]);
}

#[actix_web::test]
async fn a_key_is_extracted_from_what_others_said_of_the_request() {
    let limits = one(Limit::new(timeless("1/h")).by(|request| {
        let user = request.extensions().get::<String>()?.clone();
        Some(user.into())
    }));
    for (user, status) in [("ada", 200), ("ada", 429), ("bob", 200)] {
        let request = get("/").to_srv_request();
        request.extensions_mut().insert(user.to_owned());
        let service = behind(&limits, |_| HttpResponse::Ok().finish());
        assert_eq!(service.call(request).await.expect("no error").status(), status, "{user}");
    }
}

#[actix_web::test]
async fn paths_and_all_requests_are_keys() {
    let paths = one(Limit::new(timeless("1/h")).by_path());
    let all = one(Limit::new(timeless("2/h")).for_all());
    for (path, by_path, together) in [("/a?x=1", 200, 200), ("/a?x=2", 429, 200), ("/b", 200, 429)] {
        let found = (ask(&paths, get(path)).await.status, ask(&all, get(path)).await.status);
        assert_eq!(found, (by_path, together), "{path}");
    }
}

#[actix_web::test]
async fn all_limits_are_charged_or_none() {
    let rate = std::sync::Arc::new(timeless("10/h"));
    let limits = [Limit::new(std::sync::Arc::clone(&rate)).for_all(), Limit::new(timeless("1/h")).by_path()];
    let limits = RateLimit::builder(limits).build().expect("limits");
    assert_eq!(statuses(&limits, 3, || get("/a")).await, [200, 429, 429]);
    assert_eq!(rate.peek("").remaining(), 9);
}

#[actix_web::test]
async fn peers_are_found_by_a_function() {
    let limits =
        RateLimit::builder([timeless("1/h")]).peer(|_| Some(Peer::from(""))).build().expect("limits");
    assert_eq!(statuses(&limits, 2, TestRequest::get).await, [200, 429]);
}

const RULES: &str = "ratecell_rules = 1\nattributes = ['user']\n\
     [[rule]]\nname = 'writes'\nmatch.method = 'POST'\nmatch.path = '/api/**'\nkey = ['user']\nlimit = '1/h'\n\
     [[rule]]\nname = 'host'\nmatch.host = 'other.example'\nkey = []\nlimit = 'blocked'\n\
     [[rule]]\nname = 'clients'\nkey = ['client']\nlimit = '3/h'\n";

#[actix_web::test]
async fn rules_see_the_request() {
    let limiter = RulesLimiter::builder(Rules::parse(RULES).expect("rules")).build().expect("a limiter");
    let limits = RateLimit::rules(limiter)
        .attribute("user", |request| Some(request.headers().get("x-user")?.as_bytes().into()))
        .build()
        .expect("limits");
    let post = |user: &'static str| {
        let request =
            TestRequest::post().uri("/api/items?all").peer_addr("192.0.2.9:1".parse().expect("one"));
        request.insert_header(("x-user", user))
    };
    let first = ask(&limits, post("ada")).await;
    assert_eq!(first.status, 200);
    assert!(first.line("ratelimit-policy").is_some_and(|policy| policy.contains("\"writes\"")));
    assert_eq!(ask(&limits, post("ada")).await.status, 429);
    assert_eq!(ask(&limits, post("bob")).await.status, 200);
    let other = get("/").insert_header(("host", "other.example"));
    assert_eq!(ask(&limits, other).await.status, 403);
    assert_eq!(statuses(&limits, 4, || get("/")).await, [200, 200, 200, 429]);
}
