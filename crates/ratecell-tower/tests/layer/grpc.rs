//! Calls of gRPC, which its content type shows.

use http_body::Body as _;
use ratecell_tower::RateLimitLayer;

use super::*;

fn call(kind: &str) -> Request<Body> {
    request("/helloworld.Greeter/SayHello", &[("content-type", kind), ("te", "trailers")])
}

#[tokio::test]
async fn a_refused_call_gets_a_status_without_trailers() {
    for kind in ["application/grpc", "application/grpc+proto", "application/grpc-web+proto"] {
        let layer = RateLimitLayer::builder([timeless("2/m")])
            .on_denied(|_, _| -> Response<String> { panic!("it is no call of gRPC") })
            .build()
            .expect("a layer");
        assert_eq!(statuses(&layer, 2, || call(kind)).await, [200, 200]);
        let response = before_hello(&layer).oneshot(call(kind)).await.expect("infallible");
        // The header is the end of the stream: HTTP/2 has no frame behind it.
        assert!(response.body().is_end_stream());
        let refused = answered(response).await;
        assert_eq!((refused.status, &*refused.body), (200, ""));
        assert_eq!(refused.line("grpc-status"), Some("8"));
        assert_eq!(refused.line("grpc-message"), Some("Too many requests: retry after 30 s"));
        assert_eq!(refused.line("grpc-retry-pushback-ms"), Some("30000"));
        assert_eq!(refused.line("content-type"), Some(kind));
        assert_eq!(refused.line("ratelimit"), Some("\"2/m\";r=0;t=30"));
    }
}

#[tokio::test]
async fn what_is_never_allowed_is_not_to_be_tried_again() {
    let limit = ratecell_tower::Limit::new(timeless("2/m")).cost(3);
    let layer = RateLimitLayer::builder([limit]).build().expect("a layer");
    let refused = ask(&layer, call("application/grpc")).await;
    assert_eq!(
        (refused.line("grpc-status"), refused.line("grpc-retry-pushback-ms")),
        (Some("3"), Some("-1"))
    );
}

#[tokio::test]
async fn other_content_is_answered_by_http() {
    for kind in ["application/json", "application/grpcx", "text/plain; application/grpc"] {
        let layer = RateLimitLayer::new(timeless("1/m")).expect("a layer");
        assert_eq!(statuses(&layer, 2, || call(kind)).await, [200, 429]);
    }
}
