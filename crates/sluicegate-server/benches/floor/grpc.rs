//! A lower bound for gRPC: tonic reads each `ShouldRateLimit` and sends a constant message.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::net::TcpListener as Bound;
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost::Message;
use tokio::net::TcpListener;
use tonic::server::{Grpc, UnaryService};
use tonic::{Request, Response, Status};
use tonic_prost::ProstCodec;

use super::proto::envoy::service::ratelimit::v3::{RateLimitRequest, RateLimitResponse};

/// A real response.
const ANSWER: &[u8] = b"\x08\x01\x12\x19\x08\x01\x12\x0d\x08\xc0\x84=\x10\x01\x1a\x05bench\
    \x18\xbf\x84=\"\x02\x08\x01\x1a\x1c\x0a\x11x-ratelimit-limit\x12\x071000000\
    \x1a\x1f\x0a\x15x-ratelimit-remaining\x12\x06999999\x1a\x16\x0a\x11x-ratelimit-reset\x12\x011\
    \x1a)\x0a\x10ratelimit-policy\x12\x15\"bench\";q=1000000;w=1\
    \x1a!\x0a\x09ratelimit\x12\x14\"bench\";r=999999;t=12\x11\x0a\x0f\x0a\x04rule\x12\x07\x1a\x05bench";

/// A service that sends the same message for every call.
#[derive(Clone)]
struct ConstantService(Arc<RateLimitResponse>);

impl UnaryService<RateLimitRequest> for ConstantService {
    type Response = RateLimitResponse;
    type Future = Ready<Result<Response<RateLimitResponse>, Status>>;

    fn call(&mut self, _: Request<RateLimitRequest>) -> Self::Future {
        ready(Ok(Response::new(RateLimitResponse::clone(&self.0))))
    }
}

/// Answers calls until the process ends.
pub(super) async fn serve(bound: Bound) {
    let listener = TcpListener::from_std(bound).unwrap();
    let service_impl = ConstantService(Arc::new(RateLimitResponse::decode(ANSWER).unwrap()));
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        stream.set_nodelay(true).unwrap();
        let service_impl = service_impl.clone();
        // The code that tonic would generate for the service.
        let service = service_fn(move |request: hyper::Request<Incoming>| {
            let service_impl = service_impl.clone();
            async move {
                let codec = ProstCodec::<RateLimitResponse, RateLimitRequest>::default();
                Ok::<_, Infallible>(Grpc::new(codec).unary(service_impl, request).await)
            }
        });
        tokio::spawn(async move {
            let builder = http2::Builder::new(TokioExecutor::new());
            let _ = builder.serve_connection(TokioIo::new(stream), service).await;
        });
    }
}
