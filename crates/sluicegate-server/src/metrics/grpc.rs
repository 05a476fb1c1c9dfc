//! Metrics of gRPC calls, by status.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use tonic::Code;

/// The status codes of this server; the last entry counts all others.
const CODES: [(Code, &str); 8] = [
    (Code::Ok, "OK"),
    (Code::InvalidArgument, "INVALID_ARGUMENT"),
    (Code::DeadlineExceeded, "DEADLINE_EXCEEDED"),
    (Code::NotFound, "NOT_FOUND"),
    (Code::ResourceExhausted, "RESOURCE_EXHAUSTED"),
    (Code::Unimplemented, "UNIMPLEMENTED"),
    (Code::Unavailable, "UNAVAILABLE"),
    (Code::Unknown, "other"),
];

/// Counts gRPC calls by status.
#[derive(Debug)]
pub(crate) struct GrpcMetrics {
    /// In the order of the codes.
    calls: [Counter; CODES.len()],
}

impl GrpcMetrics {
    pub(super) fn new(registry: &mut Registry) -> Self {
        let calls = Family::<[(&str, &str); 1], Counter>::default();
        let metrics =
            Self { calls: CODES.map(|(_, name)| calls.get_or_create_owned(&[("code", name)])) };
        registry.register("grpc_calls", "gRPC calls answered, by status", calls);
        metrics
    }

    /// Counts a call with this status.
    pub(crate) fn count(&self, code: Code) {
        let named = CODES.iter().zip(&self.calls).find(|((named, _), _)| *named == code);
        if let Some(calls) = named.map(|(_, calls)| calls).or(self.calls.last()) {
            calls.inc();
        }
    }
}
