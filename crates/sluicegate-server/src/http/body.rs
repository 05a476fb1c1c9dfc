//! Reads the body of a request, with limits on its size and its time.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::HeaderMap;
use hyper::body::{Body, Bytes, Incoming};
use hyper::header::EXPECT;
use tokio::time::timeout;

use super::connection_timer::ConnectionTimer;
use super::content_type;
use super::request_error::RequestError;

/// The longest body.
pub(super) const MAX_LENGTH: usize = 64 * 1_024;
/// The longest body that is a list: a thousand requests with their headers fit.
pub(super) const MAX_LIST: usize = 1_024 * 1_024;
/// The longest body with a receipt: that of 64 limits with the longest keys fits.
pub(super) const MAX_RECEIPT: usize = 1_024 * 1_024;
/// The bytes of a body above the limit that are read and discarded.
///
/// Closing a connection with unread bytes resets it, and the response may be lost.
const MAX_DISCARDED: usize = 2 * 1_024 * 1_024;
/// The time limit for a body to arrive.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The outcome of reading a body.
enum BodyRead {
    Complete(Bytes),
    TooLong,
    Broken,
    Late,
}

/// Reads the body of a request, of at most `longest` bytes.
pub(super) async fn read(
    headers: &HeaderMap,
    mut body: Incoming,
    longest: usize,
    timer: &ConnectionTimer,
) -> Result<Bytes, RequestError> {
    if body.size_hint().lower() <= longest as u64 {
        match collect(&mut body, longest, timer).await {
            BodyRead::Complete(bytes) => {
                return content_type::check(headers)
                    .map(|()| bytes)
                    .map_err(RequestError::unreadable_body);
            }
            BodyRead::TooLong => {}
            BodyRead::Broken => return Err(RequestError::broken_body()),
            BodyRead::Late => return Err(RequestError::late_body(TIMEOUT.as_secs())),
        }
    } else if headers.contains_key(EXPECT) {
        // A client that sends `Expect` waits for this response and has sent no body to discard.
        return Err(RequestError::long_body(longest));
    }
    // The response is the same whether this times out or not.
    let _ = timeout(TIMEOUT, discard(body)).await;
    Err(RequestError::long_body(longest))
}

/// Joins the pieces of a body. A single piece, the usual case, is not copied.
async fn collect(body: &mut Incoming, longest: usize, timer: &ConnectionTimer) -> BodyRead {
    let mut late = pin!(timer.wait(TIMEOUT));
    let (mut first, mut more) = (Bytes::new(), Vec::new());
    poll_fn(|context| {
        while !body.is_end_stream() {
            let frame = match Pin::new(&mut *body).poll_frame(context) {
                Poll::Ready(Some(Ok(frame))) => frame,
                Poll::Ready(Some(Err(_))) => return Poll::Ready(BodyRead::Broken),
                Poll::Ready(None) => break,
                Poll::Pending => return late.as_mut().poll(context).map(|()| BodyRead::Late),
            };
            // Trailers are ignored.
            let Ok(piece) = frame.into_data() else { continue };
            if first.len() + more.len() + piece.len() > longest {
                return Poll::Ready(BodyRead::TooLong);
            }
            if first.is_empty() && more.is_empty() {
                first = piece;
                continue;
            }
            if more.is_empty() {
                more.extend_from_slice(&std::mem::take(&mut first));
            }
            more.extend_from_slice(&piece);
        }
        let whole = if more.is_empty() {
            std::mem::take(&mut first)
        } else {
            Bytes::from(std::mem::take(&mut more))
        };
        Poll::Ready(BodyRead::Complete(whole))
    })
    .await
}

/// Discards an unused body, so that the connection can continue.
pub(super) async fn skip(body: Incoming) {
    if !body.is_end_stream() {
        let _ = timeout(TIMEOUT, discard(body)).await;
    }
}

async fn discard(mut body: Incoming) {
    let mut left = MAX_DISCARDED;
    while let Some(Ok(frame)) = body.frame().await {
        left = left.saturating_sub(frame.data_ref().map_or(0, Bytes::len));
        if left == 0 {
            return;
        }
    }
}
