//! gRPC: Envoy's rate limit service, with health checks and reflection beside it.

mod body;
mod connection;
mod deadline;
mod descriptor;
mod framing;
mod health;
mod limits;
mod overrides;
mod proto;
mod rate_limit;
mod reflection;
mod response;
mod unit;
mod wire;

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use tokio::time::timeout;
use tonic::{Code, Status};

use self::body::Body;
use self::reflection::Reflection;
use crate::context::Context;
use crate::measured::Measured;
use crate::server::Stopping;

const GRPC: HeaderValue = HeaderValue::from_static("application/grpc");
const ENCODING: HeaderName = HeaderName::from_static("grpc-encoding");
const ACCEPT_ENCODING: HeaderName = HeaderName::from_static("grpc-accept-encoding");
const IDENTITY: HeaderValue = HeaderValue::from_static("identity");

/// The services, and whom they ask.
#[derive(Debug)]
pub(crate) struct Grpc<S> {
    context: Arc<Context<S>>,
    reflection: Option<Reflection>,
}

type Answer = Response<Body>;

impl<S: Measured> Grpc<S> {
    /// The services, of which `reflection` tells who asks, if it is wanted.
    pub(crate) fn new(context: Arc<Context<S>>, reflection: bool) -> Self {
        Self { context, reflection: reflection.then(Reflection::new).flatten() }
    }

    /// Answers a call, whatever it is.
    async fn answer(&self, request: Request<Incoming>, stopping: &Stopping) -> Answer {
        if request.method() != Method::POST || !is_grpc(request.headers()) {
            return not_grpc();
        }
        if is_compressed(request.headers()) {
            self.context.metrics.grpc().answered(Code::Unimplemented);
            return compressed();
        }
        let path = request.uri().path();
        if let Some(reflection) = self.reflection.as_ref().filter(|known| known.serves(path)) {
            return reflection.answer(request).await;
        }
        let patience = deadline::patience(request.headers());
        let answered = match path {
            "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit" => {
                // In a box: it is large, and calls are moved about before they are begun.
                let body = request.into_body();
                let answer = rate_limit::answer(&self.context, body, patience.store);
                within(patience, Box::pin(answer)).await.map(Body::message)
            }
            "/grpc.health.v1.Health/Check" => {
                let answer = health::check(request.into_body(), stopping);
                within(patience, answer).await.map(Body::message)
            }
            "/grpc.health.v1.Health/Watch" => {
                let watch = health::watch(request.into_body(), stopping);
                within(patience, watch).await.map(|watch| Body::Watching(Box::new(watch)))
            }
            path => {
                let path: String = path.chars().take(100).collect();
                Err(Status::unimplemented(format!("there is no method `{path}` here")))
            }
        };
        let code = answered.as_ref().map_or_else(Status::code, |_| Code::Ok);
        self.context.metrics.grpc().answered(code);
        match answered {
            Ok(body) => with(body),
            Err(status) => failed(&status),
        }
    }
}

/// The answer, unless it takes longer than whoever asks waits for it.
async fn within<T>(
    patience: deadline::Patience,
    answer: impl Future<Output = Result<T, Status>>,
) -> Result<T, Status> {
    let mut answer = pin!(answer);
    // Nearly always it is there at once, and a timer would be made for nothing.
    if let Poll::Ready(answered) =
        poll_fn(|context| Poll::Ready(answer.as_mut().poll(context))).await
    {
        return answered;
    }
    timeout(patience.longest, answer).await.unwrap_or_else(|_| Err(patience.lost()))
}

fn with(body: Body) -> Answer {
    let mut answer = Response::new(body);
    answer.headers_mut().insert(CONTENT_TYPE, GRPC);
    answer
}

/// A call that failed: its status is all there is.
fn failed(status: &Status) -> Answer {
    let mut answer = with(Body::Empty);
    // A text that is no header is left out; the code is always one.
    let _ = status.add_header(answer.headers_mut());
    answer
}

fn is_grpc(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    let behind = kind.and_then(|kind| kind.strip_prefix(b"application/grpc"));
    behind.is_some_and(|rest| {
        rest.is_empty()
            || rest.starts_with(b";")
            || rest == b"+proto"
            || rest.starts_with(b"+proto;")
    })
}

fn not_grpc() -> Answer {
    let words = "this port speaks gRPC; use another for HTTP\n";
    let mut answer = Response::new(Body::plain(Bytes::from_static(words.as_bytes())));
    *answer.status_mut() = StatusCode::UNSUPPORTED_MEDIA_TYPE;
    answer
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    answer
}

fn is_compressed(headers: &HeaderMap) -> bool {
    headers.get(ENCODING).is_some_and(|encoding| encoding != IDENTITY)
}

fn compressed() -> Answer {
    let words = "compressed messages are not read here; send them as they are";
    let mut answer = failed(&Status::unimplemented(words));
    answer.headers_mut().insert(ACCEPT_ENCODING, IDENTITY);
    answer
}
