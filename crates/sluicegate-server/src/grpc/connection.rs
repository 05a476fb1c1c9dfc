//! Serves one gRPC connection.

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
use super::size_limits::STREAM_WINDOW;
use crate::server::{AcceptedStream, ShutdownSignal};
use crate::store_stats::StoreStats;

/// The interval of keep-alive pings on an idle connection …
const PING_EVERY: Duration = Duration::from_secs(30);
/// … and the time limit for their replies.
const PING_TIMEOUT: Duration = Duration::from_secs(10);
/// The limit on concurrent calls of one connection, which carries all calls of a proxy.
const MAX_CALLS: u32 = 1_024;
/// The limit on the headers of a call, as HTTP/2 counts them.
const MAX_HEADERS: u32 = 16 * 1_024;
/// The flow-control window of a connection.
const CONNECTION_WINDOW: u32 = 1_024 * 1_024;

impl<S: StoreStats> Grpc<S> {
    /// Answers the calls of one connection.
    pub(crate) async fn serve(
        self: Arc<Self>,
        stream: AcceptedStream,
        mut signal: ShutdownSignal,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder
            .timer(TokioTimer::new())
            .keep_alive_interval(PING_EVERY)
            .keep_alive_timeout(PING_TIMEOUT)
            .max_concurrent_streams(MAX_CALLS)
            .max_header_list_size(MAX_HEADERS)
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            // gRPC clients do not read it.
            .auto_date_header(false);
        // One `Arc` per connection, so that calls do not contend for the counts of shared ones.
        let shared = Arc::new((self, signal.clone()));
        let service = service_fn(move |request| {
            let shared = Arc::clone(&shared);
            async move {
                let (grpc, signal) = &*shared;
                Ok::<_, Infallible>(grpc.answer(request, signal).await)
            }
        });
        let mut connection = pin!(builder.serve_connection(stream.timed(), service));
        select! {
            biased;
            ended = connection.as_mut() => return Ok(ended?),
            () = signal.begun() => connection.as_mut().graceful_shutdown(),
        }
        Ok(connection.await?)
    }
}
