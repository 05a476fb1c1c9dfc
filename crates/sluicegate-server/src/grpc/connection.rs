//! One connection that speaks gRPC.

use std::convert::Infallible;
use std::error::Error;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::select;

use super::Grpc;
use super::limits::STREAM_WINDOW;
use crate::measured::Measured;
use crate::server::{Begun, Stopping};

/// How often a quiet connection is asked whether anybody is there …
const PING_EVERY: Duration = Duration::from_secs(30);
/// … and how long it may take to say so.
const PING_TIMEOUT: Duration = Duration::from_secs(10);
/// How many calls may be under way on one connection: all that a proxy forwards at a time.
const MOST_CALLS: u32 = 1_024;
/// The longest headers of a call, as HTTP/2 counts them.
const LONGEST_HEADERS: u32 = 16 * 1_024;
/// How much of all calls of a connection may be on its way.
const CONNECTION_WINDOW: u32 = 1_024 * 1_024;

impl<S: Measured> Grpc<S> {
    /// Answers the calls of one connection.
    pub(crate) async fn serve(
        self: Arc<Self>,
        begun: Begun,
        mut stopping: Stopping,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder
            .timer(TokioTimer::new())
            .keep_alive_interval(PING_EVERY)
            .keep_alive_timeout(PING_TIMEOUT)
            .max_concurrent_streams(MOST_CALLS)
            .max_header_list_size(LONGEST_HEADERS)
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            // Nobody who speaks gRPC reads it.
            .auto_date_header(false);
        // What every call needs, behind one count that only this thread touches.
        let shared = Arc::new((self, stopping.clone()));
        let service = service_fn(move |request| {
            let shared = Arc::clone(&shared);
            async move {
                let (grpc, stopping) = &*shared;
                Ok::<_, Infallible>(grpc.answer(request, stopping).await)
            }
        });
        let mut connection = pin!(builder.serve_connection(begun.timed(), service));
        select! {
            biased;
            ended = connection.as_mut() => return Ok(ended?),
            () = stopping.begun() => connection.as_mut().graceful_shutdown(),
        }
        Ok(connection.await?)
    }
}
