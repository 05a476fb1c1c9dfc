//! gRPC reflection: describes the services and messages to clients.

use std::fmt;

use hyper::Request;
use hyper::body::Incoming;
use tonic::Status;
use tonic::body::Body as TonicBody;
use tonic::codegen::Service;
use tonic_reflection::server::Builder;
use tonic_reflection::server::v1::{ServerReflection, ServerReflectionServer};

use super::body::GrpcBody;
use super::proto::DESCRIPTORS;
use super::{GrpcResponse, failed};

/// The reflection service.
pub(super) struct Reflection {
    service: Box<dyn ReflectionService>,
}

/// An object-safe wrapper of the service, whose type cannot be named.
trait ReflectionService: Send + Sync {
    fn call(&self, request: Request<Incoming>) -> ReflectionFuture;
}

type ReflectionFuture =
    std::pin::Pin<Box<dyn std::future::Future<Output = Option<hyper::Response<TonicBody>>> + Send>>;

impl<T: ServerReflection> ReflectionService for ServerReflectionServer<T> {
    fn call(&self, request: Request<Incoming>) -> ReflectionFuture {
        let mut service = self.clone();
        Box::pin(async move { Service::call(&mut service, request).await.ok() })
    }
}

impl Reflection {
    /// Creates the service; `None` if the descriptors are invalid, which a test rules out.
    pub(super) fn new() -> Option<Self> {
        let builder = Builder::configure().register_encoded_file_descriptor_set(DESCRIPTORS);
        Some(Self { service: Box::new(builder.build_v1().ok()?) })
    }

    /// Returns whether a path belongs to this service.
    #[allow(clippy::unused_self, reason = "only an enabled service has paths")]
    pub(super) fn serves(&self, path: &str) -> bool {
        path.starts_with("/grpc.reflection.v1.ServerReflection/")
    }

    pub(super) async fn answer(&self, request: Request<Incoming>) -> GrpcResponse {
        match self.service.call(request).await {
            Some(answer) => answer.map(GrpcBody::Framed),
            None => failed(&Status::internal("reflection failed")),
        }
    }
}

impl fmt::Debug for Reflection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reflection").finish_non_exhaustive()
    }
}
