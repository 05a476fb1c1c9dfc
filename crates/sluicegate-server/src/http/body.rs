//! Reads the body of a request: all of it, in time, and not too much.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::HeaderMap;
use hyper::body::{Body, Bytes, Incoming};
use hyper::header::EXPECT;
use tokio::time::timeout;

use super::content;
use super::patience::Patience;
use super::problem::Problem;

/// The longest body.
pub(super) const LONGEST: usize = 64 * 1_024;
/// The longest body that is a list: a thousand requests with their headers fit.
pub(super) const LONGEST_LIST: usize = 1_024 * 1_024;
/// The longest body that brings back a text of ours: that of 64 limits with the longest keys fits.
pub(super) const LONGEST_TEXT: usize = 1_024 * 1_024;
/// How much of a body that is too long is read and thrown away. Closing a connection with
/// bytes unread resets it, and the answer may be lost with it.
const THROWN_AWAY: usize = 2 * 1_024 * 1_024;
/// How long a body may take to arrive.
const MOST: Duration = Duration::from_secs(10);

/// What came of reading a body.
enum Came {
    Whole(Bytes),
    TooLong,
    Broken,
    Late,
}

/// The whole body of a request, of at most `longest` bytes.
pub(super) async fn read(
    headers: &HeaderMap,
    mut body: Incoming,
    longest: usize,
    patience: &Patience,
) -> Result<Bytes, Problem> {
    if body.size_hint().lower() <= longest as u64 {
        match collect(&mut body, longest, patience).await {
            Came::Whole(bytes) => {
                return content::check(headers).map(|()| bytes).map_err(Problem::unreadable_body);
            }
            Came::TooLong => {}
            Came::Broken => return Err(Problem::broken_body()),
            Came::Late => return Err(Problem::late_body(MOST.as_secs())),
        }
    } else if headers.contains_key(EXPECT) {
        // Who asks before sending is told before sending; there is nothing to throw away.
        return Err(Problem::long_body(longest));
    }
    // Too long, however this ends.
    let _ = timeout(MOST, throw_away(body)).await;
    Err(Problem::long_body(longest))
}

/// Puts the pieces of a body together. Nearly always there is one, and it is not copied.
async fn collect(body: &mut Incoming, longest: usize, patience: &Patience) -> Came {
    let mut late = pin!(patience.wait(MOST));
    let (mut first, mut more) = (Bytes::new(), Vec::new());
    poll_fn(|context| {
        while !body.is_end_stream() {
            let frame = match Pin::new(&mut *body).poll_frame(context) {
                Poll::Ready(Some(Ok(frame))) => frame,
                Poll::Ready(Some(Err(_))) => return Poll::Ready(Came::Broken),
                Poll::Ready(None) => break,
                Poll::Pending => return late.as_mut().poll(context).map(|()| Came::Late),
            };
            // Trailers say nothing about the body.
            let Ok(piece) = frame.into_data() else { continue };
            if first.len() + more.len() + piece.len() > longest {
                return Poll::Ready(Came::TooLong);
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
        Poll::Ready(Came::Whole(whole))
    })
    .await
}

/// Reads past a body that nobody wants, so that the connection can go on.
pub(super) async fn skip(body: Incoming) {
    if !body.is_end_stream() {
        let _ = timeout(MOST, throw_away(body)).await;
    }
}

async fn throw_away(mut body: Incoming) {
    let mut left = THROWN_AWAY;
    while let Some(Ok(frame)) = body.frame().await {
        left = left.saturating_sub(frame.data_ref().map_or(0, Bytes::len));
        if left == 0 {
            return;
        }
    }
}
