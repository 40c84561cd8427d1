//! A program's own tests, with a clock that they advance.

use std::time::Duration;

use ratecell_tower::RateLimitLayer;

use super::*;

#[tokio::test]
async fn a_denial_ends_when_it_says() {
    let clock = MockClock::new();
    let layer = RateLimitLayer::new(limiter("6/m burst=1", &clock)).expect("a layer");
    assert_eq!(statuses(&layer, 2, || get("/")).await, [200, 429]);
    let refused = ask(&layer, get("/")).await;
    assert_eq!(refused.line("retry-after"), Some("10"));
    clock.advance(Duration::from_nanos(9_999_999_999));
    assert_eq!(statuses(&layer, 1, || get("/")).await, [429]);
    clock.advance(Duration::from_nanos(1));
    assert_eq!(statuses(&layer, 2, || get("/")).await, [200, 429]);
}
