//! Free ports.

use std::net::TcpListener;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU16, Ordering};

use rustix::net::{Shutdown, shutdown};

/// Below the ports that systems use for outgoing connections, so that a listener that is closed for
/// a while can be opened on the same port again.
const FIRST: u16 = 10_240;
const COUNT: u16 = 20_000;

static NEXT: AtomicU16 = AtomicU16::new(0);

/// A port of 127.0.0.1 that is free now, and that this process has not returned for long.
pub fn free_port() -> u16 {
    // Concurrent programs start at different ports.
    let [low, high, ..] = std::process::id().wrapping_mul(7_919).to_le_bytes();
    let begin = u16::from_le_bytes([low, high]) % COUNT;
    (0..COUNT)
        .map(|_| {
            let number = NEXT.fetch_add(1, Ordering::Relaxed) % COUNT;
            FIRST + (begin + number) % COUNT
        })
        .find(|port| TcpListener::bind(("127.0.0.1", *port)).map(stop_listening).is_ok())
        .expect("looked for a free port of 127.0.0.1 and found all taken: end what listens there")
}

/// The ports of one server. Its settings determine which of them it listens on.
#[derive(Clone, Copy)]
pub(crate) struct Ports {
    /// Without TLS.
    pub(crate) plain: u16,
    pub(crate) tls: u16,
    /// The bus of the nodes of a cluster.
    pub(crate) bus: u16,
}

impl Ports {
    /// Free ports; the first is `plain`, if given.
    pub(crate) fn find(plain: Option<u16>) -> Self {
        Self { plain: plain.unwrap_or_else(free_port), tls: free_port(), bus: free_port() }
    }
}

/// Shuts a listener down now. Closing it is not enough: a process that another thread is about to
/// start has a copy of it for a moment, which would still accept connections, and keep the port.
#[allow(clippy::needless_pass_by_value, reason = "the listener must not be used afterwards")]
pub(crate) fn stop_listening(listener: impl AsFd) {
    let _ = shutdown(&listener, Shutdown::Both);
}

#[cfg(test)]
mod tests {
    use super::free_port;

    #[test]
    fn is_not_given_twice() {
        let first = free_port();
        assert!((0..100).all(|_| free_port() != first));
    }
}
