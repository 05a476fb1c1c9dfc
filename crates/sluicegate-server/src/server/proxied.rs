//! Connections that come through a proxy: each begins with a header that says from whom.

use std::fmt;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::time::Duration;

use hyper::body::Bytes;
use sluicegate_rules::TrustedNetworks;
use sluicegate_rules::proxy_protocol::{LONGEST, Parsed, ProxyError, parse};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::begun::Begun;

/// How long the header may take to arrive: a proxy sends it at once.
const PATIENCE: Duration = Duration::from_secs(1);

/// Why a connection is closed before anything is answered.
#[derive(Debug)]
pub(super) enum NotBegun {
    Untrusted,
    Late,
    /// It ended within the header.
    Ended,
    Malformed(ProxyError),
    Broken(io::Error),
}

impl fmt::Display for NotBegun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Untrusted => f.write_str("it does not come from a trusted proxy"),
            Self::Late => write!(f, "its PROXY header did not arrive within {PATIENCE:?}"),
            Self::Ended => f.write_str("it ended before its PROXY header was whole"),
            Self::Malformed(error) => error.fmt(f),
            Self::Broken(error) => error.fmt(f),
        }
    }
}

/// Reads the header that a connection has to begin with.
pub(super) async fn begin(
    stream: TcpStream,
    peer: SocketAddr,
    proxies: &TrustedNetworks,
) -> Result<Begun, NotBegun> {
    if !proxies.contains(peer.ip()) {
        return Err(NotBegun::Untrusted);
    }
    let read = timeout(PATIENCE, header(&stream)).await;
    let (source, ahead) = read.unwrap_or(Err(NotBegun::Late))?;
    Ok(Begun::new(stream, source.unwrap_or(peer)).with_ahead(ahead))
}

/// Who the header says is at the other end, and what was read behind it.
async fn header(stream: &TcpStream) -> Result<(Option<SocketAddr>, Bytes), NotBegun> {
    let mut bytes = vec![0; LONGEST];
    let mut filled = 0;
    loop {
        stream.readable().await.map_err(NotBegun::Broken)?;
        match stream.try_read(bytes.get_mut(filled..).unwrap_or_default()) {
            Ok(0) => return Err(NotBegun::Ended),
            Ok(read) => filled += read,
            Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
            Err(error) => return Err(NotBegun::Broken(error)),
        }
        let so_far = bytes.get(..filled).unwrap_or_default();
        if let Parsed::Header { length, source } = parse(so_far).map_err(NotBegun::Malformed)? {
            let ahead = so_far.get(length..).unwrap_or_default();
            return Ok((source, Bytes::copy_from_slice(ahead)));
        }
    }
}
