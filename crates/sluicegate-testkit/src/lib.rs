//! Real servers for tests, and the faults of a network to put in front of them.
//!
//! A [`Server`] is a Redis or a Valkey of its own, on a free port, terminated on drop; it can be
//! paused, killed, restarted, given another clock, and inspected. [`Sentinels`] are a group of them
//! with failover, a [`Cluster`] shares the keys among them. A [`FaultProxy`] between a client and a
//! server injects the faults of networks. All work from any test, with or without a runtime,
//! because they run in other processes and threads.

#![forbid(unsafe_code)]
// For tests only, so failures are reported by panicking.
#![allow(clippy::panic, clippy::expect_used, clippy::unwrap_used, clippy::missing_panics_doc)]

#[cfg(feature = "servers")]
mod certificates;
#[cfg(feature = "servers")]
mod cluster;
#[cfg(feature = "servers")]
mod connection;
#[cfg(feature = "servers")]
mod fault_proxy;
mod resp;

#[cfg(feature = "servers")]
mod binaries;
#[cfg(feature = "servers")]
mod ports;
#[cfg(feature = "servers")]
mod process;
#[cfg(feature = "servers")]
mod sentinels;
#[cfg(feature = "servers")]
mod server;

#[cfg(feature = "servers")]
mod fraction;
#[cfg(feature = "servers")]
mod stall;
#[cfg(feature = "servers")]
mod start;

mod futures;
#[cfg(feature = "servers")]
mod poll;
mod rng;

#[cfg(feature = "servers")]
pub use binaries::ServerKind;
#[cfg(feature = "servers")]
pub use cluster::{Cluster, ClusterBuilder};
#[cfg(feature = "servers")]
pub use connection::Connection;
#[cfg(feature = "servers")]
pub use fault_proxy::{ConnectionId, Counts, FaultProxy};
pub use futures::{at_once, block_on, poll_once};
#[cfg(feature = "servers")]
pub use poll::{PATIENCE, wait_until, wait_until_async};
#[cfg(feature = "servers")]
pub use ports::free_port;
pub use resp::raw::{ParseFailure, RawValue, encode_command};
#[cfg(feature = "servers")]
pub use resp::value::RespValue;
pub use rng::Rng;
#[cfg(feature = "servers")]
pub use sentinels::{Sentinels, SentinelsBuilder};
#[cfg(feature = "servers")]
pub use server::Server;
#[cfg(feature = "servers")]
pub use server::builder::ServerBuilder;
#[cfg(feature = "servers")]
pub use stall::{StallMonitor, retry_if_stalled};
