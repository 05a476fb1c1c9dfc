//! One connection that speaks HTTP.

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
use super::patience::Patience;
use crate::measured::Measured;
use crate::server::{Begun, Stopping};

/// How long the head of a request may take to arrive, and how long an idle connection is kept.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// The largest head; a longer one is answered with 431.
const MAX_HEAD: usize = 16 * 1_024;
/// How much is discarded of a request that cannot be read.
const DISCARDED: u64 = 2 * 1_024 * 1_024;
/// What is read, and what is written, of one connection ahead of time.
const MAX_BUFFER: usize = 64 * 1_024;

impl<S: Measured> Http<S> {
    /// Answers the requests of one connection.
    pub(crate) async fn serve(
        self: Arc<Self>,
        begun: Begun,
        stopping: Stopping,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        let patience = Patience::new();
        let mut builder = http1::Builder::new();
        builder
            .timer(patience.clone())
            .header_read_timeout(HEAD_TIMEOUT)
            .max_header_size(MAX_HEAD)
            .max_buf_size(MAX_BUFFER)
            // Answers are small: to copy them together takes less than a write of two pieces.
            .writev(false)
            // Who has sent everything and closed its side still gets its answer.
            .half_close(true);
        let peer = begun.peer().ip();
        let bodies = patience.clone();
        let service =
            service_fn(move |request| Arc::clone(&self).answer(request, peer, bodies.clone()));
        let mut connection = builder.serve_connection(begun.timed(), service);
        let mut heard = stopping.clone();
        let mut stop = pin!(heard.begun());
        let (mut is_woken, mut is_told) = (false, false);
        let served = poll_fn(|context| {
            if let Poll::Ready(ended) = Pin::new(&mut connection).poll(context) {
                return Poll::Ready(ended);
            }
            // Asked to wake this task once, it does so whenever that may be; a look will do then.
            let asked = replace(&mut is_woken, true);
            if is_told || (asked && !stopping.has_begun()) {
                return Poll::Pending;
            }
            if stop.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
            is_told = true;
            Pin::new(&mut connection).graceful_shutdown();
            Pin::new(&mut connection).poll(context)
        });
        let served = patience.drive(HEAD_TIMEOUT, served).await;
        if served.as_ref().is_err_and(hyper::Error::is_parse) {
            discard(connection.into_parts().io.into_inner(), stopping).await;
        }
        Ok(served?)
    }
}

/// Reads and discards the rest of a request that was answered before it was read.
///
/// Closing a connection with bytes unread resets it, and the answer may be lost with it. A proxy
/// that lets requests through while it gets no answer would let this one through.
async fn discard(stream: impl AsyncRead + Unpin, mut stopping: Stopping) {
    let (mut rest, mut nowhere) = (stream.take(DISCARDED), sink());
    select! {
        _ = timeout(HEAD_TIMEOUT, copy(&mut rest, &mut nowhere)) => {}
        () = stopping.begun() => {}
    }
}
