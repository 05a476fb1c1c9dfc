//! One connection that speaks HTTP.

use std::convert::Infallible;
use std::error::Error;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioTimer;
use tokio::select;

use super::Http;
use crate::measured::Measured;
use crate::server::{Begun, Stopping};

/// How long the head of a request may take to arrive, and how long an idle connection is kept.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// The largest head; a longer one is answered with 431.
const MAX_HEAD: usize = 16 * 1_024;
/// What is read, and what is written, of one connection ahead of time.
const MAX_BUFFER: usize = 64 * 1_024;

impl<S: Measured> Http<S> {
    /// Answers the requests of one connection.
    pub(crate) async fn serve(
        self: Arc<Self>,
        begun: Begun,
        mut stopping: Stopping,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        let mut builder = http1::Builder::new();
        builder
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIMEOUT)
            .max_header_size(MAX_HEAD)
            .max_buf_size(MAX_BUFFER)
            // Who has sent everything and closed its side still gets its answer.
            .half_close(true);
        let peer = begun.peer().ip();
        let service = service_fn(move |request| {
            let http = Arc::clone(&self);
            async move { Ok::<_, Infallible>(http.answer(request, peer).await) }
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
