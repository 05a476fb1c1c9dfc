//! Reads the body of a request: all of it, in time, and not too much.

use std::time::Duration;

use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::Request;
use hyper::body::{Body, Bytes, Incoming};
use hyper::header::EXPECT;
use tokio::time::timeout;

use super::content;
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
const PATIENCE: Duration = Duration::from_secs(10);

/// The whole body of a request, of at most `longest` bytes.
pub(super) async fn read(request: Request<Incoming>, longest: usize) -> Result<Bytes, Problem> {
    // Who asks before sending is told before sending; there is nothing to throw away.
    let asks_first = request.headers().contains_key(EXPECT);
    let readable = content::check(request.headers());
    let mut body = request.into_body();
    let declared = body.size_hint().lower();
    if declared <= longest as u64 {
        match timeout(PATIENCE, Limited::new(&mut body, longest).collect()).await {
            Ok(Ok(collected)) => {
                return readable.map(|()| collected.to_bytes()).map_err(Problem::unreadable_body);
            }
            Ok(Err(error)) if error.is::<LengthLimitError>() => {}
            Ok(Err(_)) => return Err(Problem::broken_body()),
            Err(_) => return Err(Problem::late_body(PATIENCE.as_secs())),
        }
    } else if asks_first {
        return Err(Problem::long_body(longest));
    }
    // Too long, however this ends.
    let _ = timeout(PATIENCE, throw_away(body)).await;
    Err(Problem::long_body(longest))
}

/// Reads past a body that nobody wants, so that the connection can go on.
pub(super) async fn skip(body: Incoming) {
    if !body.is_end_stream() {
        let _ = timeout(PATIENCE, throw_away(body)).await;
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
