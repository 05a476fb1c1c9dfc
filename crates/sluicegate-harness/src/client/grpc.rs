//! A client of Envoy's rate limit service, with messages of its own.

use std::net::SocketAddr;

use prost_types::Struct;
use tokio::runtime::{Builder, Runtime};
use tonic::transport::{Channel, Endpoint};
use tonic_prost::ProstCodec;

/// The domain of every call.
const DOMAIN: &str = "edge";
const METHOD: &str = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";

#[derive(Clone, PartialEq, prost::Message)]
struct Call {
    #[prost(string, tag = "1")]
    domain: String,
    #[prost(message, repeated, tag = "2")]
    descriptors: Vec<Descriptor>,
    #[prost(uint32, tag = "3")]
    hits_addend: u32,
}

/// One descriptor of a call.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Descriptor {
    #[prost(message, repeated, tag = "1")]
    pub(crate) entries: Vec<Entry>,
    #[prost(message, optional, tag = "3")]
    pub(crate) hits_addend: Option<u64>,
    #[prost(bool, tag = "4")]
    pub(crate) is_negative_hits: bool,
}

/// One entry of a descriptor.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Entry {
    #[prost(string, tag = "1")]
    pub(crate) key: String,
    #[prost(string, tag = "2")]
    pub(crate) value: String,
}

/// The answer to a call.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Answer {
    #[prost(int32, tag = "1")]
    pub(crate) overall_code: i32,
    #[prost(message, repeated, tag = "2")]
    pub(crate) statuses: Vec<Status>,
    #[prost(message, repeated, tag = "3")]
    pub(crate) headers: Vec<Header>,
    #[prost(bytes = "vec", tag = "5")]
    pub(crate) raw_body: Vec<u8>,
    #[prost(message, optional, tag = "6")]
    pub(crate) metadata: Option<Struct>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Header {
    #[prost(string, tag = "1")]
    pub(crate) key: String,
    #[prost(string, tag = "2")]
    pub(crate) value: String,
    #[prost(bytes = "vec", tag = "3")]
    pub(crate) raw_value: Vec<u8>,
}

/// The status of one descriptor.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Status {
    #[prost(int32, tag = "1")]
    pub(crate) code: i32,
    #[prost(message, optional, tag = "2")]
    pub(crate) current_limit: Option<CurrentLimit>,
    #[prost(uint32, tag = "3")]
    pub(crate) limit_remaining: u32,
    #[prost(message, optional, tag = "4")]
    pub(crate) duration_until_reset: Option<prost_types::Duration>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct CurrentLimit {
    #[prost(uint32, tag = "1")]
    pub(crate) requests_per_unit: u32,
    #[prost(int32, tag = "2")]
    pub(crate) unit: i32,
    #[prost(string, tag = "3")]
    pub(crate) name: String,
}

/// A channel to one listener, driven by a runtime of its own.
pub(crate) struct GrpcClient {
    runtime: Runtime,
    channel: Channel,
}

impl GrpcClient {
    pub(crate) fn new(address: SocketAddr) -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime starts");
        let within = runtime.enter();
        let endpoint =
            Endpoint::from_shared(format!("http://{address}")).expect("an address is a URI");
        let channel = endpoint.connect_lazy();
        drop(within);
        Self { runtime, channel }
    }

    pub(crate) fn call(&mut self, descriptors: Vec<Descriptor>) -> Result<Answer, String> {
        let call = Call { domain: DOMAIN.to_owned(), descriptors, hits_addend: 0 };
        let mut client = tonic::client::Grpc::new(self.channel.clone());
        let answer = self.runtime.block_on(async {
            client.ready().await.map_err(|error| error.to_string())?;
            let path = METHOD.parse().expect("the method is a path");
            let codec: ProstCodec<Call, Answer> = ProstCodec::default();
            let answer = client.unary(tonic::Request::new(call), path, codec).await;
            answer.map_err(|status| format!("{:?}: {}", status.code(), status.message()))
        });
        answer.map(tonic::Response::into_inner)
    }
}
