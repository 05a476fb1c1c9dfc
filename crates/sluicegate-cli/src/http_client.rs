//! An HTTP client for single requests.

use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// The time limit for the answer.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Sends a request to `host:port` and returns status and body.
///
/// `hint` completes the error if the host cannot be reached.
pub(crate) async fn send(
    address: &str,
    request: Request<Full<Bytes>>,
    hint: &str,
) -> Result<(StatusCode, Bytes)> {
    let late = |_| anyhow!("{address} did not answer within {} s", TIMEOUT.as_secs());
    timeout(TIMEOUT, exchange(address, request, hint)).await.map_err(late)?
}

async fn exchange(
    address: &str,
    request: Request<Full<Bytes>>,
    hint: &str,
) -> Result<(StatusCode, Bytes)> {
    let stream = TcpStream::connect(address)
        .await
        .with_context(|| format!("cannot reach {address}; {hint}"))?;
    let io = TokioIo::new(stream);
    let protocol_error = || format!("{address} does not speak HTTP");
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(io).await.with_context(protocol_error)?;
    let connection = tokio::spawn(connection);
    let response = sender.send_request(request).await.with_context(protocol_error)?;
    let status = response.status();
    let text = response.into_body().collect().await.with_context(protocol_error)?.to_bytes();
    connection.abort();
    Ok((status, text))
}
