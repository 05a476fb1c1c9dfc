//! Serves one HTTP connection.

use std::error::Error;
use std::future::{Future, poll_fn};
use std::mem::replace;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use tokio::io::{AsyncRead, AsyncReadExt, copy, sink};
use tokio::select;
use tokio::time::timeout;

use super::Http;
use super::connection_timer::ConnectionTimer;
use crate::server::{AcceptedStream, ShutdownSignal};
use crate::store_stats::StoreStats;

/// The time limit for the head of a request, and for an idle connection.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// The largest head; a larger one gets a 431.
const MAX_HEAD: usize = 16 * 1_024;
/// The bytes of an unreadable request that are discarded.
const MAX_DISCARDED: u64 = 2 * 1_024 * 1_024;
/// The size limit of the read and write buffers of a connection.
const MAX_BUFFER: usize = 64 * 1_024;

impl<S: StoreStats> Http<S> {
    /// Serves the requests of one connection.
    pub(crate) async fn serve(
        self: Arc<Self>,
        stream: AcceptedStream,
        signal: ShutdownSignal,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        let timer = ConnectionTimer::new();
        let mut builder = http1::Builder::new();
        builder
            .timer(timer.clone())
            .header_read_timeout(HEAD_TIMEOUT)
            .max_header_size(MAX_HEAD)
            .max_buf_size(MAX_BUFFER)
            // Responses are small: copying them together is faster than a vectored write.
            .writev(false)
            // A client that has closed its sending side still gets its response.
            .half_close(true);
        let peer = stream.peer().ip();
        let bodies = timer.clone();
        let service =
            service_fn(move |request| Arc::clone(&self).answer(request, peer, bodies.clone()));
        let mut connection = builder.serve_connection(stream.timed(), service);
        let mut shutdown = signal.clone();
        let mut shutdown = pin!(shutdown.begun());
        let (mut is_registered, mut is_draining) = (false, false);
        let served = poll_fn(|context| {
            if let Poll::Ready(ended) = Pin::new(&mut connection).poll(context) {
                return Poll::Ready(ended);
            }
            // One poll registers the waker for good; later polls only read the flag.
            let was_registered = replace(&mut is_registered, true);
            if is_draining || (was_registered && !signal.has_begun()) {
                return Poll::Pending;
            }
            if shutdown.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
            is_draining = true;
            Pin::new(&mut connection).graceful_shutdown();
            Pin::new(&mut connection).poll(context)
        });
        let served = timer.drive(HEAD_TIMEOUT, served).await;
        if served.as_ref().is_err_and(hyper::Error::is_parse) {
            discard(connection.into_parts().io.into_inner(), signal).await;
        }
        Ok(served?)
    }
}

/// Reads and discards the rest of a request that was answered before it was read.
///
/// Closing a connection with unread bytes resets it, and the response may be lost. A proxy that
/// fails open would then let this request through.
async fn discard(stream: impl AsyncRead + Unpin, mut signal: ShutdownSignal) {
    let (mut rest, mut nowhere) = (stream.take(MAX_DISCARDED), sink());
    select! {
        _ = timeout(HEAD_TIMEOUT, copy(&mut rest, &mut nowhere)) => {}
        () = signal.begun() => {}
    }
}
