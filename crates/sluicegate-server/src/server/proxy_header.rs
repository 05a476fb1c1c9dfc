//! Reads the PROXY header at the start of a connection.

use std::fmt;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::time::Duration;

use hyper::body::Bytes;
use sluicegate_rules::TrustedNetworks;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::accepted::AcceptedStream;
use crate::proxy_protocol::{MAX_LENGTH, ParsedHeader, ProxyError, parse};

/// The time limit for the header, which a proxy sends at once.
const HEADER_TIMEOUT: Duration = Duration::from_secs(1);

/// The reason to close a connection before its first request.
#[derive(Debug)]
pub(super) enum ProxyHeaderError {
    Untrusted,
    Late,
    /// The connection ended within the header.
    Ended,
    Malformed(ProxyError),
    Broken(io::Error),
}

impl fmt::Display for ProxyHeaderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Untrusted => f.write_str("the peer is not a trusted proxy"),
            Self::Late => write!(f, "the PROXY header did not arrive within {HEADER_TIMEOUT:?}"),
            Self::Ended => f.write_str("the connection ended before the PROXY header was complete"),
            Self::Malformed(error) => error.fmt(f),
            Self::Broken(error) => error.fmt(f),
        }
    }
}

/// Reads the PROXY header, and applies its source address.
pub(super) async fn accept(
    stream: TcpStream,
    peer: SocketAddr,
    proxies: &TrustedNetworks,
) -> Result<AcceptedStream, ProxyHeaderError> {
    if !proxies.contains(peer.ip()) {
        return Err(ProxyHeaderError::Untrusted);
    }
    let read = timeout(HEADER_TIMEOUT, header(&stream)).await;
    let (source, ahead) = read.unwrap_or(Err(ProxyHeaderError::Late))?;
    Ok(AcceptedStream::new(stream, source.unwrap_or(peer)).with_ahead(ahead))
}

/// Returns the source address of the header, and the bytes read after it.
async fn header(stream: &TcpStream) -> Result<(Option<SocketAddr>, Bytes), ProxyHeaderError> {
    let mut bytes = vec![0; MAX_LENGTH];
    let mut filled = 0;
    loop {
        stream.readable().await.map_err(ProxyHeaderError::Broken)?;
        match stream.try_read(&mut bytes[filled..]) {
            Ok(0) => return Err(ProxyHeaderError::Ended),
            Ok(read) => filled += read,
            Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
            Err(error) => return Err(ProxyHeaderError::Broken(error)),
        }
        let so_far = &bytes[..filled];
        if let ParsedHeader::Header { length, source } =
            parse(so_far).map_err(ProxyHeaderError::Malformed)?
        {
            return Ok((source, Bytes::copy_from_slice(&so_far[length..])));
        }
    }
}
