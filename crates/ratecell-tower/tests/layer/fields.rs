//! The fields of responses.

use std::convert::Infallible;

use ratecell::fields::{Label, Style, Styles, Unit};
use ratecell_tower::{Limit, RateLimitLayer};

use super::*;

/// A response with these fields of its own, behind the layer.
async fn beside(layer: &RateLimitLayer, own: &'static [(&'static str, &'static str)]) -> Answered {
    let service = layer.layer(service_fn(move |_: Request<Body>| async move {
        let mut response = Response::builder();
        for (name, value) in own {
            response = response.header(*name, *value);
        }
        Ok::<_, Infallible>(response.body(Body::default()).expect("a response"))
    }));
    answered(service.oneshot(get("/")).await.expect("infallible")).await
}

#[tokio::test]
async fn responses_say_what_is_left() {
    let layer = RateLimitLayer::new(timeless("10/s burst=20")).expect("a layer");
    let allowed = ask(&layer, get("/")).await;
    assert_eq!(allowed.line("ratelimit-policy"), Some("\"10/s burst=20\";q=10;w=1;ratecell-burst=20"));
    assert_eq!(allowed.line("ratelimit"), Some("\"10/s burst=20\";r=19;t=1"));
    let label = Label::new().named("api").expect("a name").unit(Unit::ContentBytes);
    let named = Limit::new(timeless("sliding_window 100/1m")).label(label).cost(40);
    let layer = RateLimitLayer::builder([named]).build().expect("a layer");
    assert_eq!(statuses(&layer, 2, || get("/")).await, [200, 200]);
    let refused = ask(&layer, get("/")).await;
    assert_eq!(refused.line("ratelimit-policy"), Some("\"api\";q=100;qu=\"content-bytes\";w=60"));
    // When there is one unit more is asked of the limiter: it does not follow from the decision.
    assert!(refused.line("ratelimit").expect("a field").starts_with("\"api\";r=20;t="));
}

#[tokio::test]
async fn the_styles_are_chosen() {
    let styles = Styles::from(Style::Draft11).and(Style::GitHub).expect("other names");
    let layer =
        RateLimitLayer::builder([timeless("fixed_window 10/1m")]).styles(styles).build().expect("a layer");
    let answer = ask(&layer, get("/")).await;
    assert!(answer.line("ratelimit").is_some());
    assert_eq!(answer.line("x-ratelimit-limit"), Some("10"));
    assert_eq!(answer.line("x-ratelimit-used"), Some("1"));
    let reset: u64 = answer.line("x-ratelimit-reset").expect("a field").parse().expect("a number");
    assert!(reset > 1_700_000_000, "{reset}: seconds since 1970");
    let layer = RateLimitLayer::builder([timeless("1/m")]).without_fields().build().expect("a layer");
    assert_eq!(ask(&layer, get("/")).await.headers.len(), 0);
    let refused = ask(&layer, get("/")).await;
    assert_eq!((refused.status, refused.line("ratelimit"), refused.line("retry-after")), (429, None, None));
}

#[tokio::test]
async fn lists_are_added_to_and_other_fields_replaced() {
    let styles = Styles::from(Style::Draft11).and(Style::X).expect("other names");
    let layer = RateLimitLayer::builder([timeless("10/m")]).styles(styles).build().expect("a layer");
    let own = &[
        ("ratelimit", "\"other\";r=1"),
        ("x-ratelimit-limit", "77"),
        ("retry-after", "5"),
        ("content-language", "en"),
    ];
    let answer = beside(&layer, own).await;
    assert_eq!(answer.lines("ratelimit"), ["\"other\";r=1", "\"10/m\";r=9;t=6"]);
    assert_eq!(answer.line("x-ratelimit-limit"), Some("10"));
    assert_eq!(answer.line("retry-after"), Some("5"));
    assert_eq!(answer.line("content-language"), Some("en"));
}

#[tokio::test]
async fn layers_stand_behind_each_other() {
    let clock = MockClock::new();
    let (outer, inner) = (limiter("10/m", &clock), limiter("1/h", &clock));
    let [outer, inner] = [outer, inner].map(|limiter| RateLimitLayer::new(limiter).expect("a layer"));
    let ask = async || {
        answered(outer.layer(before_hello(&inner)).oneshot(get("/")).await.expect("infallible")).await
    };
    assert_eq!(ask().await.lines("ratelimit"), ["\"1/h\";r=0;t=3600", "\"10/m\";r=9;t=6"]);
    let refused = ask().await;
    assert_eq!((refused.status, refused.line("retry-after")), (429, Some("3600")));
    assert_eq!(refused.lines("ratelimit"), ["\"1/h\";r=0;t=3600", "\"10/m\";r=8;t=6"]);
}
