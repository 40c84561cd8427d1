//! The layer on machines that share a limit, against a real server: started by `ci/store.sh`, which says where it is.

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use ratecell::store::Store;
use ratecell::{Limiter, OnMiss, Policy};
use ratecell_tower::{Limit, RateLimitLayer};
use tower::{Layer as _, ServiceExt as _, service_fn};

fn machine(name: &str) -> RateLimitLayer {
    let url = std::env::var("RATECELL_STORE").expect("RATECELL_STORE, the address of a server");
    let store = Store::open(&url).expect("an address").named(name).expect("a name");
    let policy: Policy = "5/h".parse().expect("a policy");
    // Who blocked a thread until the store answers would wait for as long as this.
    let builder = Limiter::builder(policy).max_keys(1_000).shared_by(store);
    let limiter = builder.on_miss(OnMiss::Wait(Duration::from_secs(600))).build().expect("a machine");
    let limit = Limit::new(limiter).by_header("x-api-key");
    RateLimitLayer::builder([limit]).build().expect("a layer")
}

async fn ask(layer: &RateLimitLayer, key: &str) -> u16 {
    let service = layer.layer(service_fn(async |_: Request<()>| {
        Ok::<_, Infallible>(Response::new(Full::new(Bytes::from("hello"))))
    }));
    let request = Request::builder().header("x-api-key", key).body(()).expect("a request");
    service.oneshot(request).await.expect("infallible").status().as_u16()
}

#[tokio::test]
#[ignore = "needs a server: ci/store.sh"]
async fn a_request_waits_for_the_store_and_blocks_nobody() {
    let name = format!("tower-{}", std::process::id());
    let machines = [machine(&name), machine(&name)];
    let mut statuses = Vec::new();
    for turn in 0..12 {
        statuses.push(ask(&machines[turn % 2], "ann").await);
    }
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 5, "{statuses:?}");
    // Many at once, in the one thread of this runtime.
    let keys: Vec<_> = (0..50).map(|number| format!("key {number}")).collect();
    let all = futures::future::join_all(keys.iter().map(|key| ask(&machines[0], key))).await;
    assert_eq!(all, [200; 50]);
}
