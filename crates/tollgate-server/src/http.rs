//! HTTP: finds the endpoint, and is the one place where problems become responses.

mod authorize;
mod body;
mod check;
mod connection;
mod content;
mod headers;
mod index;
mod openapi;
mod problem;
mod query;
mod reading;
mod ready;
mod release;
mod renew;
mod report;
mod route;
mod settle;
mod slot;
mod throttle;
mod verdict;

use std::any::Any;
use std::future::{Future, poll_fn};
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::{Request, Response};
use tracing::error;

pub(crate) use self::route::Route;
pub(crate) use self::verdict::Decided;

use self::problem::Problem;
use crate::context::Context;
use crate::measured::Measured;
use crate::metrics;

const TEXT: &str = "text/plain; charset=utf-8";

/// A response whose body is at hand.
type Answer = Response<Full<Bytes>>;

/// The endpoints and what they share.
#[derive(Debug)]
pub(crate) struct Http<S> {
    context: Arc<Context<S>>,
}

impl<S: Measured> Http<S> {
    pub(crate) fn new(context: Arc<Context<S>>) -> Self {
        Self { context }
    }

    /// Answers a request of this peer, whatever it is.
    pub(crate) async fn answer(&self, request: Request<Incoming>, peer: IpAddr) -> Answer {
        let route = Route::at(request.uri().path());
        let answer = unless_it_panics(self.handle(route, request, peer)).await;
        let answer = answer.unwrap_or_else(Problem::into_answer);
        self.context.metrics.answered(route, answer.status());
        answer
    }

    async fn handle(
        &self,
        route: Option<Route>,
        request: Request<Incoming>,
        peer: IpAddr,
    ) -> Result<Answer, Problem> {
        let Some(route) = route else { return Err(Problem::not_found(request.uri().path())) };
        if !route.takes(request.method()) {
            return Err(Problem::wrong_method(request.method(), route));
        }
        let (gate, metrics) = (&*self.context.gate, &self.context.metrics);
        match route {
            Route::Index => Ok(plain(TEXT, index::text(request.headers()))),
            Route::Health => Ok(plain(TEXT, "ok\n")),
            Route::Ready => {
                let shared = gate.limiter().store().shared();
                ready::answer(shared.as_ref(), request.uri().query())
            }
            Route::Metrics => {
                let store = gate.limiter().store();
                match metrics.encode(&gate.rules(), store.size(), store.shared()) {
                    Ok(text) => Ok(plain(metrics::CONTENT_TYPE, text)),
                    Err(_) => Err(Problem::internal("cannot write the metrics as text")),
                }
            }
            Route::Throttle => throttle::answer(gate, metrics, request).await,
            Route::ThrottleBatch => throttle::batch::answer(gate, metrics, request).await,
            Route::Check => check::answer(gate, metrics, request).await,
            Route::CheckBatch => check::batch::answer(gate, metrics, request).await,
            Route::Settle => settle::answer(gate, request).await,
            Route::Release => release::answer(gate, request).await,
            Route::Renew => renew::answer(gate, request).await,
            Route::Report => report::answer(gate, request).await,
            Route::Authorize => authorize::answer(gate, metrics, peer, request).await,
            Route::OpenApi => Ok(plain("application/json", openapi::TEXT)),
        }
    }
}

fn plain(content_type: &'static str, text: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(Full::new(text.into()));
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    answer
}

fn json(body: Vec<u8>) -> Answer {
    let mut answer = plain("application/json", body);
    answer.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer
}

/// A panic is our mistake, not the caller's: it is told so, and the connection goes on.
async fn unless_it_panics(
    answering: impl Future<Output = Result<Answer, Problem>>,
) -> Result<Answer, Problem> {
    let mut answering = pin!(answering);
    poll_fn(|context| {
        // Nothing of the future is looked at again after a panic.
        match catch_unwind(AssertUnwindSafe(|| answering.as_mut().poll(context))) {
            Ok(poll) => poll,
            Err(panic) => {
                error!(message = message(panic.as_ref()), "a request's handler panicked");
                let detail = "the request ran into a mistake of the server; it has been logged";
                Poll::Ready(Err(Problem::internal(detail)))
            }
        }
    })
    .await
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let owned = panic.downcast_ref::<String>().map(String::as_str);
    owned.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message")
}
