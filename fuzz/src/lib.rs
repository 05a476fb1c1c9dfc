//! The shared code of the fuzz targets.
//!
//! Numbers decoded from bytes, limits made of them, the counters that `decide` works on, and
//! servers for bodies and messages.

mod bytes;
mod counters;
mod fuzzed_check;
mod grpc;
mod invariants;
mod limits;
#[path = "../../crates/sluicegate-server/src/grpc/proto.rs"]
mod proto;
mod resp;
mod server;

pub use bytes::Bytes;
pub use counters::Counters;
pub use grpc::GrpcServer;
pub use proto::envoy::service::ratelimit::v3::{RateLimitRequest, RateLimitResponse};
pub use resp::RespServer;
pub use server::{Reply, Server};
