//! The gRPC health service.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use hyper::HeaderMap;
use hyper::body::{Bytes, Frame, Incoming};
use tonic::Status;

use super::framing;
use super::proto::health::health_check_response::ServingStatus;
use super::proto::health::{HealthCheckRequest, HealthCheckResponse};
use crate::server::ShutdownSignal;

/// The known services: the whole server, and the rate limit service under both of its names.
const SERVICES: [&str; 3] = ["", "envoy.service.ratelimit.v3.RateLimitService", "ratelimit"];

/// Returns the status of a service.
pub(super) async fn check(body: Incoming, signal: &ShutdownSignal) -> Result<Bytes, Status> {
    let request: HealthCheckRequest = framing::read(body).await?;
    if !is_known(&request) {
        return Err(Status::not_found(format!(
            "unknown service; the known one is {}",
            SERVICES[1]
        )));
    }
    Ok(message(now(signal)))
}

/// Streams the status of a service, now and when it changes.
pub(super) async fn watch(body: Incoming, signal: &ShutdownSignal) -> Result<Watch, Status> {
    let request: HealthCheckRequest = framing::read(body).await?;
    let known = is_known(&request);
    let mut shutdown = signal.clone();
    Ok(Watch {
        first: Some(if known { now(signal) } else { ServingStatus::ServiceUnknown }),
        known,
        shutdown: Some(Box::pin(async move { shutdown.begun().await })),
        ended: false,
    })
}

fn is_known(request: &HealthCheckRequest) -> bool {
    SERVICES.contains(&request.service.as_str())
}

fn now(signal: &ShutdownSignal) -> ServingStatus {
    if signal.has_begun() { ServingStatus::NotServing } else { ServingStatus::Serving }
}

fn message(status: ServingStatus) -> Bytes {
    framing::frame(&HealthCheckResponse { status: status.into() })
}

/// A watch on a service.
///
/// It ends at shutdown, so that it does not keep the server from stopping.
pub(super) struct Watch {
    first: Option<ServingStatus>,
    known: bool,
    shutdown: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    ended: bool,
}

impl Watch {
    pub(super) fn poll_frame(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(Ok(Frame::data(message(first)))));
        }
        if let Some(shutdown) = &mut self.shutdown {
            ready!(shutdown.as_mut().poll(context));
            self.shutdown = None;
            if self.known {
                return Poll::Ready(Some(Ok(Frame::data(message(ServingStatus::NotServing)))));
            }
        }
        if self.ended {
            return Poll::Ready(None);
        }
        self.ended = true;
        let mut trailers = HeaderMap::with_capacity(2);
        let _ = Status::unavailable("the server is stopping").add_header(&mut trailers);
        Poll::Ready(Some(Ok(Frame::trailers(trailers))))
    }
}
