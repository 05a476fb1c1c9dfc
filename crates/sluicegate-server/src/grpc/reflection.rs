//! Reflection: tells clients which services and messages there are.

use std::fmt;

use hyper::Request;
use hyper::body::Incoming;
use tonic::Status;
use tonic::body::Body as TonicBody;
use tonic::codegen::Service;
use tonic_reflection::server::Builder;
use tonic_reflection::server::v1::{ServerReflection, ServerReflectionServer};

use super::body::Body;
use super::proto::DESCRIPTORS;
use super::{Answer, failed};

/// The service that tells them.
pub(super) struct Reflection {
    ask: Box<dyn Asked>,
}

/// A service whose type has no name.
trait Asked: Send + Sync {
    fn of(&self, request: Request<Incoming>) -> Answering;
}

type Answering =
    std::pin::Pin<Box<dyn std::future::Future<Output = Option<hyper::Response<TonicBody>>> + Send>>;

impl<T: ServerReflection> Asked for ServerReflectionServer<T> {
    fn of(&self, request: Request<Incoming>) -> Answering {
        let mut service = self.clone();
        Box::pin(async move { service.call(request).await.ok() })
    }
}

impl Reflection {
    /// `None` if what is told could not be read, which a test would have seen.
    pub(super) fn new() -> Option<Self> {
        let builder = Builder::configure().register_encoded_file_descriptor_set(DESCRIPTORS);
        Some(Self { ask: Box::new(builder.build_v1().ok()?) })
    }

    /// Whether a path is one of its own.
    #[allow(clippy::unused_self, reason = "only where there is one, anything is")]
    pub(super) fn serves(&self, path: &str) -> bool {
        path.starts_with("/grpc.reflection.v1.ServerReflection/")
    }

    pub(super) async fn answer(&self, request: Request<Incoming>) -> Answer {
        match self.ask.of(request).await {
            Some(answer) => answer.map(Body::Framed),
            None => failed(&Status::internal("reflection failed")),
        }
    }
}

impl fmt::Debug for Reflection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reflection").finish_non_exhaustive()
    }
}
