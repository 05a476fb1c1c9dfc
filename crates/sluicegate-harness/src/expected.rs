//! Expected answers: an evaluation in the format of each transport.

mod grpc;
mod headers;
mod http;
mod problem;
mod resp;
mod settlements;

pub(crate) use self::grpc::group;
pub(crate) use self::http::{authorize, batch, check, report, throttle, throttle_batch};
pub(crate) use self::resp::{checked, throttled};
pub(crate) use self::settlements::{released, renewed, settled};

/// Replaces slots and reservations, whose text is unpredictable.
pub(crate) const TOKEN: &str = "<token>";

/// Milliseconds, rounded up.
fn millis(micros: u64) -> u64 {
    micros.div_ceil(1_000)
}

/// Seconds, rounded up.
fn seconds(micros: u64) -> u64 {
    micros.div_ceil(1_000_000)
}
