//! HTTP: finds the endpoint, and is the one place where problems become responses.

mod authorize;
mod body;
mod check;
mod connection;
mod content;
mod headers;
mod index;
mod object;
mod openapi;
mod patience;
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
use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::{Request, Response};
use tracing::error;

pub(crate) use self::route::Route;
pub(crate) use self::verdict::Decided;

use self::patience::Patience;
use self::problem::Problem;
use crate::context::Context;
use crate::measured::Measured;
use crate::metrics;

const TEXT: &str = "text/plain; charset=utf-8";

/// A response whose body is at hand.
type Answer = Response<Full<Bytes>>;

/// What a request asks: its query and its body.
#[derive(Debug, Clone, Copy)]
struct Asked<'a> {
    query: Option<&'a str>,
    body: &'a [u8],
}

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
    async fn answer(
        self: Arc<Self>,
        request: Request<Incoming>,
        peer: IpAddr,
        patience: Patience,
    ) -> Result<Answer, Infallible> {
        let route = Route::at(request.uri().path());
        // Set aside: it is large, and what hyper is handed is moved about.
        let handling = Box::pin(self.handle(route, request, peer, &patience));
        let answer = unless_it_panics(handling).await;
        let answer = answer.unwrap_or_else(Problem::into_answer);
        self.context.metrics.answered(route, answer.status());
        Ok(answer)
    }

    async fn handle(
        &self,
        route: Option<Route>,
        request: Request<Incoming>,
        peer: IpAddr,
        patience: &Patience,
    ) -> Result<Answer, Problem> {
        let Some(route) = route else { return Err(Problem::not_found(request.uri().path())) };
        if !route.takes(request.method()) {
            return Err(Problem::wrong_method(request.method(), route));
        }
        let (gate, metrics) = (&*self.context.gate, &self.context.metrics);
        let (head, sent) = request.into_parts();
        let body = match route.longest_body() {
            Some(longest) => body::read(&head.headers, sent, longest, patience).await?,
            // Some proxies pass a body on; it says nothing that rules go by.
            None if route == Route::Authorize => {
                body::skip(sent).await;
                Bytes::new()
            }
            None => Bytes::new(),
        };
        let asked = Asked { query: head.uri.query(), body: &body };
        match route {
            Route::Index => Ok(plain(TEXT, index::text(&head.headers))),
            Route::Health => Ok(plain(TEXT, "ok\n")),
            Route::Ready => {
                let shared = gate.limiter().store().shared();
                ready::answer(shared.as_ref(), asked.query)
            }
            Route::Metrics => {
                let store = gate.limiter().store();
                match metrics.encode(&gate.rules(), store.size(), store.shared()) {
                    Ok(text) => Ok(plain(metrics::CONTENT_TYPE, text)),
                    Err(_) => Err(Problem::internal("cannot write the metrics as text")),
                }
            }
            Route::Throttle => throttle::answer(gate, metrics, asked).await,
            Route::ThrottleBatch => throttle::batch::answer(gate, metrics, asked).await,
            // What has a plan in it is large, and set aside: the others need no room for it.
            Route::Check => Box::pin(check::answer(gate, metrics, asked)).await,
            Route::CheckBatch => Box::pin(check::batch::answer(gate, metrics, asked)).await,
            Route::Settle => Box::pin(settle::answer(gate, asked)).await,
            Route::Release => Box::pin(release::answer(gate, asked)).await,
            Route::Renew => Box::pin(renew::answer(gate, asked)).await,
            Route::Report => Box::pin(report::answer(gate, asked)).await,
            Route::Authorize => Box::pin(authorize::answer(gate, metrics, peer, &head)).await,
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
    mut answering: Pin<Box<impl Future<Output = Result<Answer, Problem>>>>,
) -> Result<Answer, Problem> {
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
