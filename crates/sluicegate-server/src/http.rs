//! HTTP: routes requests to endpoints, and turns errors into responses.

mod body;
mod connection;
mod connection_timer;
mod content_type;
pub(crate) mod endpoints;
mod home;
mod json;
mod openapi;
mod query;
mod ready;
mod request_error;
mod response;
mod route;
mod slot_body;

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

use self::connection_timer::ConnectionTimer;
use self::request_error::RequestError;
pub(crate) use self::route::Route;
use crate::context::Context;
use crate::metrics;
use crate::store_stats::StoreStats;

const TEXT: &str = "text/plain; charset=utf-8";

/// A response with its whole body.
type HttpResponse = Response<Full<Bytes>>;

/// The query and the body of a request.
#[derive(Debug, Clone, Copy)]
struct RequestParts<'a> {
    query: Option<&'a str>,
    body: &'a [u8],
}

/// The state that all endpoints share.
#[derive(Debug)]
pub(crate) struct Http<S> {
    context: Arc<Context<S>>,
}

impl<S: StoreStats> Http<S> {
    pub(crate) fn new(context: Arc<Context<S>>) -> Self {
        Self { context }
    }

    /// Answers a request of this peer.
    async fn answer(
        self: Arc<Self>,
        request: Request<Incoming>,
        peer: IpAddr,
        timer: ConnectionTimer,
    ) -> Result<HttpResponse, Infallible> {
        let route = Route::at(request.uri().path());
        // Boxed, because the future is large and hyper moves it several times.
        let handling = Box::pin(self.handle(route, request, peer, &timer));
        let answer = catch_panic(handling).await;
        let answer = answer.unwrap_or_else(RequestError::into_answer);
        self.context.metrics.responded(route, answer.status());
        Ok(answer)
    }

    async fn handle(
        &self,
        route: Option<Route>,
        request: Request<Incoming>,
        peer: IpAddr,
        timer: &ConnectionTimer,
    ) -> Result<HttpResponse, RequestError> {
        let Some(route) = route else { return Err(RequestError::not_found(request.uri().path())) };
        if !route.supports(request.method()) {
            return Err(RequestError::wrong_method(request.method(), route));
        }
        let (gate, metrics) = (&*self.context.gate, &self.context.metrics);
        let (head, incoming) = request.into_parts();
        let body = match route.longest_body() {
            Some(longest) => body::read(&head.headers, incoming, longest, timer).await?,
            // Some proxies forward a body; the rules do not use it.
            None if route == Route::Authorize => {
                body::skip(incoming).await;
                Bytes::new()
            }
            None => Bytes::new(),
        };
        let parts = RequestParts { query: head.uri.query(), body: &body };
        match route {
            Route::Index => Ok(plain(TEXT, home::text(&head.headers))),
            Route::Health => Ok(plain(TEXT, "ok\n")),
            Route::Ready => {
                let shared = gate.limiter().store().shared();
                ready::answer(shared.as_ref(), parts.query)
            }
            Route::Metrics => {
                let store = gate.limiter().store();
                match metrics.encode(&gate.rules(), store.size(), store.shared()) {
                    Ok(text) => Ok(plain(metrics::CONTENT_TYPE, text)),
                    Err(_) => Err(RequestError::internal("cannot write the metrics as text")),
                }
            }
            Route::Throttle => endpoints::throttle::answer(gate, metrics, parts).await,
            Route::ThrottleBatch => endpoints::throttle::batch::answer(gate, metrics, parts).await,
            // Futures with a plan in them are large. Boxed, they do not enlarge this future.
            Route::Check => Box::pin(endpoints::check::answer(gate, metrics, parts)).await,
            Route::CheckBatch => {
                Box::pin(endpoints::check::batch::answer(gate, metrics, parts)).await
            }
            Route::Settle => Box::pin(endpoints::settle::answer(gate, parts)).await,
            Route::Release => Box::pin(endpoints::release::answer(gate, parts)).await,
            Route::Renew => Box::pin(endpoints::renew::answer(gate, parts)).await,
            Route::Report => Box::pin(endpoints::report::answer(gate, parts)).await,
            Route::Authorize => {
                Box::pin(endpoints::authorize::answer(gate, metrics, peer, &head)).await
            }
            Route::OpenApi => Ok(plain("application/json", openapi::TEXT)),
        }
    }
}

fn plain(content_type: &'static str, text: impl Into<Bytes>) -> HttpResponse {
    let mut answer = Response::new(Full::new(text.into()));
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    answer
}

fn json_response(body: Vec<u8>) -> HttpResponse {
    let mut answer = plain("application/json", body);
    answer.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer
}

/// Turns a panic of a handler into an internal error, so that the connection can continue.
async fn catch_panic(
    mut handler: Pin<Box<impl Future<Output = Result<HttpResponse, RequestError>>>>,
) -> Result<HttpResponse, RequestError> {
    poll_fn(|context| {
        // Unwind-safe, because the future is not polled again after a panic.
        match catch_unwind(AssertUnwindSafe(|| handler.as_mut().poll(context))) {
            Ok(poll) => poll,
            Err(panic) => {
                error!(message = message(panic.as_ref()), "a request's handler panicked");
                let detail = "internal error of the server; it has been logged";
                Poll::Ready(Err(RequestError::internal(detail)))
            }
        }
    })
    .await
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let owned = panic.downcast_ref::<String>().map(String::as_str);
    owned.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message")
}
