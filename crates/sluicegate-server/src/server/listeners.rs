//! Listening sockets: one address per protocol, shared by the sockets of all threads.

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener as StdListener};

use socket2::{Domain, Socket, Type};
use tokio::net::TcpListener;

use crate::protocol::Protocol;

/// The number of connections that may wait to be accepted.
const BACKLOG: i32 = 4_096;

/// The addresses to listen on, by protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Addresses {
    /// For HTTP.
    pub http: Option<SocketAddr>,
    /// For gRPC.
    pub grpc: Option<SocketAddr>,
    /// For RESP.
    pub resp: Option<SocketAddr>,
}

/// Sockets to accept connections from, at most one for each protocol.
#[derive(Debug, Default)]
pub struct Listeners {
    http: Option<StdListener>,
    grpc: Option<StdListener>,
    resp: Option<StdListener>,
}

/// An address could not be bound.
#[derive(Debug)]
pub struct BindError {
    /// The protocol of the listener.
    pub protocol: Protocol,
    /// The address.
    pub address: SocketAddr,
    /// The error of the operating system.
    pub error: io::Error,
}

impl Addresses {
    /// Returns the address for a protocol.
    pub fn of(&self, protocol: Protocol) -> Option<SocketAddr> {
        match protocol {
            Protocol::Http => self.http,
            Protocol::Grpc => self.grpc,
            Protocol::Resp => self.resp,
        }
    }

    /// Binds all addresses, with one set of sockets per thread.
    ///
    /// The operating system spreads new connections over the threads.
    ///
    /// ```
    /// # use sluicegate_server::Addresses;
    /// let any_port = "127.0.0.1:0".parse()?;
    /// let listeners = Addresses { http: Some(any_port), ..Addresses::default() }.bind(2)?;
    /// // All sockets have the same port.
    /// assert_eq!(listeners[0].addresses(), listeners[1].addresses());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn bind(&self, threads: usize) -> Result<Vec<Listeners>, BindError> {
        let mut all: Vec<Listeners> = (0..threads.max(1)).map(|_| Listeners::default()).collect();
        for protocol in Protocol::ALL {
            let Some(mut address) = self.of(protocol) else { continue };
            let failed = |address| move |error| BindError { protocol, address, error };
            // SO_REUSEPORT would share the port with another process, too. Binding once without it
            // detects that the port is in use.
            if address.port() != 0 {
                StdListener::bind(address).map_err(failed(address))?;
            }
            for listeners in &mut all {
                let bound = share(address).map_err(failed(address))?;
                address = bound.local_addr().map_err(failed(address))?;
                *listeners.slot(protocol) = Some(bound);
            }
        }
        Ok(all)
    }
}

/// Binds a socket that shares its address with other sockets.
fn share(address: SocketAddr) -> io::Result<StdListener> {
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
    fn slot(&mut self, protocol: Protocol) -> &mut Option<StdListener> {
        match protocol {
            Protocol::Http => &mut self.http,
            Protocol::Grpc => &mut self.grpc,
            Protocol::Resp => &mut self.resp,
        }
    }

    /// Sets the socket of a protocol.
    #[must_use]
    pub fn and(mut self, protocol: Protocol, bound: StdListener) -> Self {
        *self.slot(protocol) = Some(bound);
        self
    }

    /// Returns the addresses of the sockets.
    pub fn addresses(&self) -> Addresses {
        let address = |bound: &Option<StdListener>| bound.as_ref()?.local_addr().ok();
        Addresses {
            http: address(&self.http),
            grpc: address(&self.grpc),
            resp: address(&self.resp),
        }
    }

    /// Registers the sockets with this runtime.
    pub(super) fn listen(self) -> io::Result<TokioListeners> {
        let listen = |bound: Option<StdListener>| {
            let set = |bound: StdListener| {
                bound.set_nonblocking(true)?;
                TcpListener::from_std(bound)
            };
            bound.map(set).transpose()
        };
        Ok(TokioListeners {
            http: listen(self.http)?,
            grpc: listen(self.grpc)?,
            resp: listen(self.resp)?,
        })
    }
}

/// Listens for HTTP only.
impl From<StdListener> for Listeners {
    fn from(bound: StdListener) -> Self {
        Self::default().and(Protocol::Http, bound)
    }
}

/// The listeners of one runtime.
#[derive(Debug)]
pub(super) struct TokioListeners {
    http: Option<TcpListener>,
    grpc: Option<TcpListener>,
    resp: Option<TcpListener>,
}

impl TokioListeners {
    /// Accepts the next connection, and returns its protocol.
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
