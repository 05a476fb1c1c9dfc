//! The health service: whether calls are answered, and until when.

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
use crate::server::Stopping;

/// What may be asked about: everything, and the rate limit service under both of its names.
const SERVICES: [&str; 3] = ["", "envoy.service.ratelimit.v3.RateLimitService", "ratelimit"];

/// How a service is doing now.
pub(super) async fn check(body: Incoming, stopping: &Stopping) -> Result<Bytes, Status> {
    let asked: HealthCheckRequest = framing::read(body).await?;
    if !is_known(&asked) {
        return Err(Status::not_found(format!(
            "there is no service of that name here; ask about {}",
            SERVICES[1]
        )));
    }
    Ok(message(now(stopping)))
}

/// How a service is doing, and again when that changes.
pub(super) async fn watch(body: Incoming, stopping: &Stopping) -> Result<Watch, Status> {
    let asked: HealthCheckRequest = framing::read(body).await?;
    let known = is_known(&asked);
    let mut ending = stopping.clone();
    Ok(Watch {
        first: Some(if known { now(stopping) } else { ServingStatus::ServiceUnknown }),
        known,
        ending: Some(Box::pin(async move { ending.begun().await })),
        ended: false,
    })
}

fn is_known(asked: &HealthCheckRequest) -> bool {
    SERVICES.contains(&asked.service.as_str())
}

fn now(stopping: &Stopping) -> ServingStatus {
    if stopping.has_begun() { ServingStatus::NotServing } else { ServingStatus::Serving }
}

fn message(status: ServingStatus) -> Bytes {
    framing::frame(&HealthCheckResponse { status: status.into() })
}

/// A service that is being watched. It ends with the server: a watch must not keep that from stopping.
pub(super) struct Watch {
    first: Option<ServingStatus>,
    known: bool,
    ending: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
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
        if let Some(ending) = &mut self.ending {
            ready!(ending.as_mut().poll(context));
            self.ending = None;
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
