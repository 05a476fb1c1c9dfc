//! Envoy's rate limit service: each caller is a descriptor.

use std::error::Error;
use std::net::SocketAddr;
use std::time::Instant;

use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::decided_by::DecidedBy;
use super::driver::Course;
use super::keys::name;
use super::pace::Began;
use super::tally::Outcome;
use super::written::{Noting, Written};

const PATH: &str = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";

type Failed = Box<dyn Error + Send + Sync>;

/// Asks over one connection until it is over.
pub(super) async fn converse(address: SocketAddr, domain: &str, mut course: Course) -> Course {
    match asking(address, domain, &mut course).await {
        Ok(()) => {}
        Err(error) => course.tally.complain(|| error.to_string()),
    }
    course
}

async fn asking(address: SocketAddr, domain: &str, course: &mut Course) -> Result<(), Failed> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let written = Written::new();
    let noting = Noting { connection: TokioIo::new(stream), written: written.clone() };
    let (sender, connection) = handshake(TokioExecutor::new(), noting).await?;
    let connection = tokio::spawn(connection);
    let url = format!("http://{address}{PATH}");
    while let Some(turn) = course.pace.next().await? {
        if turn.began == Began::WhenDue {
            written.look();
        }
        let mut calls = JoinSet::new();
        for _ in 0..course.pipeline {
            let message = message(domain, course.keys.draw());
            calls.spawn(call(sender.clone(), url.clone(), message));
        }
        while let Some(done) = calls.join_next().await {
            let wait = Instant::now().saturating_duration_since(turn.due);
            let (outcome, by) = done??;
            course.tally.add(outcome, wait);
            if let Some(all) = &mut course.tally.by {
                all.merge(by);
            }
        }
        course.tally.sent(turn.began, course.pipeline, || {
            written.first().saturating_duration_since(turn.due)
        });
        course.counted();
    }
    connection.abort();
    Ok(())
}

async fn call(
    mut sender: SendRequest<Full<Bytes>>,
    url: String,
    message: Bytes,
) -> Result<(Outcome, DecidedBy), Failed> {
    let request = Request::post(url)
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .body(Full::new(message))?;
    sender.ready().await?;
    let response = sender.send_request(request).await?;
    let body = response.into_body().collect().await?;
    let failed = body.trailers().is_some_and(|trailers| {
        trailers.get("grpc-status").is_some_and(|status| status.as_bytes() != b"0")
    });
    let body = body.to_bytes();
    let mut by = DecidedBy::default();
    by.add_protobuf(&body);
    // Behind five bytes of frame the message begins with the code of all: field 1, a number.
    let outcome = match body.get(5..7) {
        Some([8, 1]) if !failed => Outcome::Allowed,
        Some([8, 2]) if !failed => Outcome::Refused,
        _ => Outcome::Failed,
    };
    Ok((outcome, by))
}

/// A request in a frame: a domain, and one descriptor `key` with the name of the caller.
fn message(domain: &str, key: u64) -> Bytes {
    let entry = [field(1, b"key"), field(2, &name(key))].concat();
    let descriptor = field(1, &entry);
    let request = [field(1, domain.as_bytes()), field(2, &descriptor)].concat();
    let length = u32::try_from(request.len()).unwrap_or(u32::MAX).to_be_bytes();
    [&[0][..], &length, &request].concat().into()
}

/// A field with a length, as messages have them.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![number << 3 | 2];
    let mut length = bytes.len();
    while length >= 0x80 {
        out.push(length.to_le_bytes()[0] | 0x80);
        length >>= 7;
    }
    out.push(length.to_le_bytes()[0]);
    out.extend_from_slice(bytes);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Worked out by hand from the fields' numbers.
    #[test]
    fn a_message_is_framed_and_has_its_fields() {
        let expected = b"\0\0\0\0\x1c\x0a\x05bench\x12\x13\x0a\x11\x0a\x03key\x12\x0au000000007";
        assert_eq!(&message("bench", 7)[..], &expected[..]);
        assert_eq!(field(1, &[7; 200])[..4], [0x0a, 0xc8, 0x01, 7]);
    }
}
