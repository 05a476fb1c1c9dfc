//! gRPC: Envoy's rate limit service, health checks and reflection.

mod body;
mod connection;
mod deadline;
mod descriptor;
mod framing;
mod health;
mod overrides;
mod proto;
mod protobuf_writer;
mod rate_limit;
mod reflection;
mod response;
mod size_limits;
mod time_unit;

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use tokio::time::timeout;
use tonic::{Code, Status};

use self::body::GrpcBody;
use self::reflection::Reflection;
use crate::context::Context;
use crate::server::ShutdownSignal;
use crate::store_stats::StoreStats;

const GRPC: HeaderValue = HeaderValue::from_static("application/grpc");
const ENCODING: HeaderName = HeaderName::from_static("grpc-encoding");
const ACCEPT_ENCODING: HeaderName = HeaderName::from_static("grpc-accept-encoding");
const IDENTITY: HeaderValue = HeaderValue::from_static("identity");

/// The gRPC services and the state that they share.
#[derive(Debug)]
pub(crate) struct Grpc<S> {
    context: Arc<Context<S>>,
    reflection: Option<Reflection>,
}

type GrpcResponse = Response<GrpcBody>;

impl<S: StoreStats> Grpc<S> {
    /// Creates the services; `reflection` enables the reflection service.
    pub(crate) fn new(context: Arc<Context<S>>, reflection: bool) -> Self {
        Self { context, reflection: reflection.then(Reflection::new).flatten() }
    }

    /// Answers a call of any method.
    async fn answer(&self, request: Request<Incoming>, signal: &ShutdownSignal) -> GrpcResponse {
        if request.method() != Method::POST || !is_grpc(request.headers()) {
            return not_grpc();
        }
        if is_compressed(request.headers()) {
            self.context.metrics.grpc().count(Code::Unimplemented);
            return compressed();
        }
        let path = request.uri().path();
        if let Some(reflection) = self.reflection.as_ref().filter(|service| service.serves(path)) {
            return reflection.answer(request).await;
        }
        let deadlines = deadline::deadlines(request.headers());
        let result = match path {
            "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit" => {
                // Boxed: the future is large, and hyper moves it before it is polled.
                let body = request.into_body();
                let answer = rate_limit::answer(&self.context, body, deadlines.store);
                within(deadlines, Box::pin(answer)).await.map(GrpcBody::message)
            }
            "/grpc.health.v1.Health/Check" => {
                let answer = health::check(request.into_body(), signal);
                within(deadlines, answer).await.map(GrpcBody::message)
            }
            "/grpc.health.v1.Health/Watch" => {
                let watch = health::watch(request.into_body(), signal);
                within(deadlines, watch).await.map(|watch| GrpcBody::Watching(Box::new(watch)))
            }
            path => {
                let path: String = path.chars().take(100).collect();
                Err(Status::unimplemented(format!("there is no method `{path}` here")))
            }
        };
        let code = result.as_ref().map_or_else(Status::code, |_| Code::Ok);
        self.context.metrics.grpc().count(code);
        match result {
            Ok(body) => response(body),
            Err(status) => failed(&status),
        }
    }
}

/// Returns the response, or an error after the deadline of the caller.
async fn within<T>(
    deadlines: deadline::Deadlines,
    answer: impl Future<Output = Result<T, Status>>,
) -> Result<T, Status> {
    let mut answer = pin!(answer);
    // Polled once without a timer, because the response is nearly always ready at once.
    if let Poll::Ready(result) = poll_fn(|context| Poll::Ready(answer.as_mut().poll(context))).await
    {
        return result;
    }
    timeout(deadlines.call, answer).await.unwrap_or_else(|_| Err(deadlines.exceeded()))
}

fn response(body: GrpcBody) -> GrpcResponse {
    let mut answer = Response::new(body);
    answer.headers_mut().insert(CONTENT_TYPE, GRPC);
    answer
}

/// Creates the response of a failed call, which has a status and no message.
fn failed(status: &Status) -> GrpcResponse {
    let mut answer = response(GrpcBody::Empty);
    // A message that is not a valid header value is left out; the code always is valid.
    let _ = status.add_header(answer.headers_mut());
    answer
}

fn is_grpc(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    let suffix = kind.and_then(|kind| kind.strip_prefix(b"application/grpc"));
    suffix.is_some_and(|rest| {
        rest.is_empty()
            || rest.starts_with(b";")
            || rest == b"+proto"
            || rest.starts_with(b"+proto;")
    })
}

fn not_grpc() -> GrpcResponse {
    let text = "this port speaks gRPC; use another for HTTP\n";
    let mut answer = Response::new(GrpcBody::plain(Bytes::from_static(text.as_bytes())));
    *answer.status_mut() = StatusCode::UNSUPPORTED_MEDIA_TYPE;
    answer
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    answer
}

fn is_compressed(headers: &HeaderMap) -> bool {
    headers.get(ENCODING).is_some_and(|encoding| encoding != IDENTITY)
}

fn compressed() -> GrpcResponse {
    let text = "compressed messages are not supported; send them uncompressed";
    let mut answer = failed(&Status::unimplemented(text));
    answer.headers_mut().insert(ACCEPT_ENCODING, IDENTITY);
    answer
}
