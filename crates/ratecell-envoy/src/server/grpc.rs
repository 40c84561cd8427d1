//! The methods of the service, and those of health.

use std::convert::Infallible;
use std::future::{Future, Ready, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use tokio::time::timeout;
use tonic::body::Body;
use tonic::codegen::Service as _;
use tonic::server::UnaryService;
use tonic::{Code, Status};
use tonic_health::ServingStatus;
use tonic_health::pb::health_server::HealthServer;
use tonic_health::server::{HealthReporter, HealthService};
use tonic_prost::ProstCodec;

use crate::proto::{RateLimitRequest, RateLimitResponse};
use crate::service::Service;

/// What health is asked for by.
const NAME: &str = "envoy.service.ratelimit.v3.RateLimitService";
const SHOULD_RATE_LIMIT: &str = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";
const HEALTH: &str = "/grpc.health.v1.Health/";
/// The longest request.
const MAX_REQUEST: usize = 64 * 1024;
/// How long a request may take to come.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Clone)]
pub(super) struct Grpc {
    service: Arc<Service>,
    reporter: HealthReporter,
    health: HealthServer<HealthService>,
}

impl Grpc {
    pub(super) fn new(service: Arc<Service>) -> Self {
        // The server as a whole, whose name is empty, serves from the beginning.
        let reporter = HealthReporter::new();
        let health = HealthServer::new(HealthService::from_health_reporter(reporter.clone()));
        Self { service, reporter, health }
    }

    pub(super) async fn serving(&self) {
        self.reporter.set_service_status(NAME, ServingStatus::Serving).await;
    }

    pub(super) async fn not_serving(&self) {
        for name in ["", NAME] {
            self.reporter.set_service_status(name, ServingStatus::NotServing).await;
        }
    }
}

impl hyper::service::Service<Request<Incoming>> for Grpc {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let path = request.uri().path();
        if path == SHOULD_RATE_LIMIT {
            let method = Method(Arc::clone(&self.service));
            return Box::pin(async move {
                let codec = ProstCodec::<RateLimitResponse, RateLimitRequest>::default();
                let mut server = tonic::server::Grpc::new(codec).max_decoding_message_size(MAX_REQUEST);
                let answered = timeout(PATIENCE, server.unary(method, request)).await;
                let late = |_| {
                    Status::new(Code::DeadlineExceeded, "the request did not come within 10 s").into_http()
                };
                Ok(answered.unwrap_or_else(late))
            });
        }
        if path.starts_with(HEALTH) {
            return self.health.clone().call(request);
        }
        let unknown = Status::unimplemented(format!("{path}: expected {SHOULD_RATE_LIMIT}"));
        Box::pin(ready(Ok(unknown.into_http())))
    }
}

struct Method(Arc<Service>);

impl UnaryService<RateLimitRequest> for Method {
    type Response = RateLimitResponse;
    type Future = Ready<Result<tonic::Response<RateLimitResponse>, Status>>;

    fn call(&mut self, request: tonic::Request<RateLimitRequest>) -> Self::Future {
        ready(self.0.should_rate_limit(request.get_ref()).map(tonic::Response::new))
    }
}
