//! A client for Envoy's rate limit service, with a descriptor for each caller.

use std::error::Error;
use std::net::SocketAddr;
use std::time::Instant;

use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};
use sluicegate_core::varint;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::decided_by::DecisionSources;
use super::driver::ConnectionRun;
use super::keys::name;
use super::pace::StartReason;
use super::tally::CallOutcome;
use super::write_times::{TimedIo, WriteTimes};

const PATH: &str = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";

type CallError = Box<dyn Error + Send + Sync>;

/// Sends requests on one connection until the run ends.
pub(super) async fn run_connection(
    address: SocketAddr,
    domain: &str,
    mut run: ConnectionRun,
) -> ConnectionRun {
    match exchange(address, domain, &mut run).await {
        Ok(()) => {}
        Err(error) => run.tally.fail(|| error.to_string()),
    }
    run
}

async fn exchange(
    address: SocketAddr,
    domain: &str,
    run: &mut ConnectionRun,
) -> Result<(), CallError> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let written = WriteTimes::new();
    let timed = TimedIo { connection: TokioIo::new(stream), written: written.clone() };
    let (sender, connection) = handshake(TokioExecutor::new(), timed).await?;
    let connection = tokio::spawn(connection);
    let url = format!("http://{address}{PATH}");
    while let Some(turn) = run.pace.next().await? {
        if turn.began == StartReason::WhenDue {
            written.arm();
        }
        let mut calls = JoinSet::new();
        for _ in 0..run.pipeline {
            let message = message(domain, run.keys.next());
            calls.spawn(call(sender.clone(), url.clone(), message));
        }
        while let Some(done) = calls.join_next().await {
            let wait = Instant::now().saturating_duration_since(turn.due);
            let (outcome, by) = done??;
            run.tally.add(outcome, wait);
            if let Some(all) = &mut run.tally.by {
                all.merge(by);
            }
        }
        run.tally
            .sent(turn.began, run.pipeline, || written.first().saturating_duration_since(turn.due));
        run.count_answers();
    }
    connection.abort();
    Ok(())
}

async fn call(
    mut sender: SendRequest<Full<Bytes>>,
    url: String,
    message: Bytes,
) -> Result<(CallOutcome, DecisionSources), CallError> {
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
    let mut by = DecisionSources::default();
    by.add_protobuf(&body);
    // After the frame header of five bytes, the message begins with the overall code: field 1.
    let outcome = match body.get(5..7) {
        Some([8, 1]) if !failed => CallOutcome::Allowed,
        Some([8, 2]) if !failed => CallOutcome::Refused,
        _ => CallOutcome::Failed,
    };
    Ok((outcome, by))
}

/// A framed request: the domain, and one descriptor `key` with the name of the caller.
fn message(domain: &str, key: u64) -> Bytes {
    let entry = [field(1, b"key"), field(2, &name(key))].concat();
    let descriptor = field(1, &entry);
    let request = [field(1, domain.as_bytes()), field(2, &descriptor)].concat();
    let length = u32::try_from(request.len()).unwrap_or(u32::MAX).to_be_bytes();
    [&[0][..], &length, &request].concat().into()
}

/// A length-delimited protobuf field.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![number << 3 | 2];
    varint::put(&mut out, bytes.len() as u64);
    out.extend_from_slice(bytes);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Encoded by hand from the field numbers.
    #[test]
    fn encodes_frame_and_fields() {
        let expected = b"\0\0\0\0\x1c\x0a\x05bench\x12\x13\x0a\x11\x0a\x03key\x12\x0au000000007";
        assert_eq!(&message("bench", 7)[..], &expected[..]);
        assert_eq!(field(1, &[7; 200])[..4], [0x0a, 0xc8, 0x01, 7]);
    }
}
