//! The protocols of the server.

use std::fmt;

/// The protocol of a listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.1 with JSON.
    Http,
    /// gRPC: Envoy's rate limit service.
    Grpc,
    /// RESP, the protocol of Redis.
    Resp,
}

impl Protocol {
    /// All protocols.
    pub const ALL: [Self; 3] = [Self::Http, Self::Grpc, Self::Resp];

    /// Returns its name in flags and metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Grpc => "grpc",
            Self::Resp => "resp",
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
