//! Where connections come in: an address for each protocol, and sockets that share it.

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener as Bound};

use socket2::{Domain, Socket, Type};
use tokio::net::TcpListener;

use crate::protocol::Protocol;

/// How many connections may wait to be accepted.
const BACKLOG: i32 = 4_096;

/// Where to listen for each protocol, if at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Addresses {
    /// For HTTP.
    pub http: Option<SocketAddr>,
    /// For gRPC.
    pub grpc: Option<SocketAddr>,
    /// For the protocol of Redis.
    pub resp: Option<SocketAddr>,
}

/// Sockets to accept connections from, at most one for each protocol.
#[derive(Debug, Default)]
pub struct Listeners {
    http: Option<Bound>,
    grpc: Option<Bound>,
    resp: Option<Bound>,
}

/// Why an address cannot be listened on.
#[derive(Debug)]
pub struct BindError {
    /// What was to be spoken there.
    pub protocol: Protocol,
    /// The address.
    pub address: SocketAddr,
    /// What the system says.
    pub error: io::Error,
}

impl Addresses {
    /// The address for a protocol.
    pub fn of(&self, protocol: Protocol) -> Option<SocketAddr> {
        match protocol {
            Protocol::Http => self.http,
            Protocol::Grpc => self.grpc,
            Protocol::Resp => self.resp,
        }
    }

    /// Listens on all of them, with sockets for so many threads, among whom the system spreads
    /// new connections.
    ///
    /// ```
    /// # use sluicegate_server::Addresses;
    /// let any_port = "127.0.0.1:0".parse()?;
    /// let listeners = Addresses { http: Some(any_port), ..Addresses::default() }.bind(2)?;
    /// // Whichever port it is, all sockets have the same one.
    /// assert_eq!(listeners[0].addresses(), listeners[1].addresses());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn bind(&self, threads: usize) -> Result<Vec<Listeners>, BindError> {
        let mut all: Vec<Listeners> = (0..threads.max(1)).map(|_| Listeners::default()).collect();
        for protocol in Protocol::ALL {
            let Some(mut address) = self.of(protocol) else { continue };
            let failed = |address| move |error| BindError { protocol, address, error };
            // Sockets that share a port do so with those of another process, too: whether
            // somebody is there already only one that does not share finds out.
            if address.port() != 0 {
                Bound::bind(address).map_err(failed(address))?;
            }
            for listeners in &mut all {
                let bound = share(address).map_err(failed(address))?;
                address = bound.local_addr().map_err(failed(address))?;
                *listeners.place(protocol) = Some(bound);
            }
        }
        Ok(all)
    }
}

/// A socket that shares its address with others.
fn share(address: SocketAddr) -> io::Result<Bound> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    #[cfg(unix)]
    socket.set_reuse_port(true)?;
    #[cfg(unix)]
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

impl Listeners {
    fn place(&mut self, protocol: Protocol) -> &mut Option<Bound> {
        match protocol {
            Protocol::Http => &mut self.http,
            Protocol::Grpc => &mut self.grpc,
            Protocol::Resp => &mut self.resp,
        }
    }

    /// The same, with this socket for a protocol.
    #[must_use]
    pub fn and(mut self, protocol: Protocol, bound: Bound) -> Self {
        *self.place(protocol) = Some(bound);
        self
    }

    /// Where they listen.
    pub fn addresses(&self) -> Addresses {
        let address = |bound: &Option<Bound>| bound.as_ref()?.local_addr().ok();
        Addresses {
            http: address(&self.http),
            grpc: address(&self.grpc),
            resp: address(&self.resp),
        }
    }

    /// The same for this runtime.
    pub(super) fn listen(self) -> io::Result<Listening> {
        let listen = |bound: Option<Bound>| {
            let set = |bound: Bound| {
                bound.set_nonblocking(true)?;
                TcpListener::from_std(bound)
            };
            bound.map(set).transpose()
        };
        Ok(Listening {
            http: listen(self.http)?,
            grpc: listen(self.grpc)?,
            resp: listen(self.resp)?,
        })
    }
}

/// For HTTP alone.
impl From<Bound> for Listeners {
    fn from(bound: Bound) -> Self {
        Self::default().and(Protocol::Http, bound)
    }
}

/// Listeners of one runtime.
#[derive(Debug)]
pub(super) struct Listening {
    http: Option<TcpListener>,
    grpc: Option<TcpListener>,
    resp: Option<TcpListener>,
}

impl Listening {
    /// The next connection, and what is spoken on it.
    pub(super) async fn accept(
        &self,
    ) -> (Protocol, io::Result<(tokio::net::TcpStream, SocketAddr)>) {
        tokio::select! {
            accepted = next(self.http.as_ref()) => (Protocol::Http, accepted),
            accepted = next(self.grpc.as_ref()) => (Protocol::Grpc, accepted),
            accepted = next(self.resp.as_ref()) => (Protocol::Resp, accepted),
        }
    }
}

async fn next(listener: Option<&TcpListener>) -> io::Result<(tokio::net::TcpStream, SocketAddr)> {
    match listener {
        Some(listener) => listener.accept().await,
        None => std::future::pending().await,
    }
}

impl fmt::Display for BindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot listen on {} for {}: {}", self.address, self.protocol, self.error)
    }
}

impl std::error::Error for BindError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}
