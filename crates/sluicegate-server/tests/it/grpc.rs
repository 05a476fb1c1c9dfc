//! A gRPC test server, and tonic as its client.

use std::net::{SocketAddr, TcpListener};

use sluicegate::{ManualClock, Memory};
use sluicegate_server::{Drained, Listeners, Protocol, Server, StoreStats};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status};

use super::test_server::by_rules;

#[path = "../../src/grpc/proto.rs"]
mod proto;

pub(crate) use self::proto::envoy::extensions::common::ratelimit::v3::RateLimitDescriptor;
pub(crate) use self::proto::envoy::extensions::common::ratelimit::v3::rate_limit_descriptor::{
    Entry, RateLimitOverride,
};
pub(crate) use self::proto::envoy::service::ratelimit::v3::rate_limit_response::{
    self, DescriptorStatus, rate_limit::Unit,
};
pub(crate) use self::proto::envoy::service::ratelimit::v3::{RateLimitRequest, RateLimitResponse};
pub(crate) use self::proto::health::{HealthCheckRequest, HealthCheckResponse};

/// A running server.
pub(crate) struct GrpcTestServer {
    pub(crate) address: SocketAddr,
    pub(crate) channel: Channel,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<Drained>,
}

impl GrpcTestServer {
    pub(crate) async fn by(rules: &str) -> Self {
        let limiter = by_rules(Memory::with_clock(ManualClock::default()), rules);
        Self::open(Server::new(limiter)).await
    }

    #[allow(clippy::unused_async, reason = "spawning needs a runtime")]
    pub(crate) async fn open<S: StoreStats>(server: Server<S>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = tokio::spawn(async move {
            let stopped = async {
                let _ = stopped.await;
            };
            let listeners = Listeners::default().and(Protocol::Grpc, listener);
            server.serve(listeners, stopped).await.unwrap()
        });
        let channel = Endpoint::from_shared(format!("http://{address}")).unwrap().connect_lazy();
        Self { address, channel, stop, serving }
    }

    /// Makes a call of any method.
    pub(crate) async fn call<M, A>(&self, path: &'static str, message: M) -> Result<A, Status>
    where
        M: prost::Message + 'static,
        A: prost::Message + Default + 'static,
    {
        let mut client = Grpc::new(self.channel.clone());
        client.ready().await.unwrap();
        let codec = tonic_prost::ProstCodec::default();
        let path = PathAndQuery::from_static(path);
        client
            .unary(tonic::Request::new(message), path, codec)
            .await
            .map(tonic::Response::into_inner)
    }

    pub(crate) async fn limit(&self, call: RateLimitRequest) -> Result<RateLimitResponse, Status> {
        self.call(LIMIT, call).await
    }

    /// Sends these descriptors in the domain `edge`.
    pub(crate) async fn ask(&self, descriptors: &[RateLimitDescriptor]) -> RateLimitResponse {
        let descriptors = descriptors.to_vec();
        let call = RateLimitRequest { domain: "edge".to_owned(), descriptors, hits_addend: 0 };
        self.limit(call).await.unwrap()
    }

    /// Returns for each descriptor whether it is over its limit, and the remaining units.
    pub(crate) async fn statuses(&self, descriptors: &[RateLimitDescriptor]) -> Vec<(bool, u32)> {
        let answer = self.ask(descriptors).await;
        assert_eq!(answer.statuses.len(), descriptors.len());
        let over =
            |status: &DescriptorStatus| status.code() == rate_limit_response::Code::OverLimit;
        let overall = answer.overall_code() == rate_limit_response::Code::OverLimit;
        assert_eq!(overall, answer.statuses.iter().any(over));
        answer.statuses.iter().map(|status| (over(status), status.limit_remaining)).collect()
    }

    pub(crate) fn stop(self) -> JoinHandle<Drained> {
        self.stop.send(()).unwrap();
        self.serving
    }
}

pub(crate) const LIMIT: &str = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";

/// Returns a descriptor with these entries.
pub(crate) fn descriptor(entries: &[(&str, &str)]) -> RateLimitDescriptor {
    let entry = |(key, value): &(&str, &str)| Entry { key: (*key).into(), value: (*value).into() };
    RateLimitDescriptor { entries: entries.iter().map(entry).collect(), ..Default::default() }
}

/// Returns the code and the message of a failed call.
pub(crate) fn error_of<T: std::fmt::Debug>(answer: Result<T, Status>) -> (Code, String) {
    let status = answer.unwrap_err();
    (status.code(), status.message().to_owned())
}
