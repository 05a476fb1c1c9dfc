//! Real servers for tests, and the faults of a network to put in front of them.
//!
//! A [`Server`] is a Redis or a Valkey of its own, on a free port, gone when it is dropped; it can be
//! paused, killed, restarted, given another clock, and asked what it holds. [`Sentinels`] are several
//! of them that replace each other, a [`Cluster`] several that share the keys. A [`FaultProxy`] stands
//! between a client and a server and does to their connection what networks do. All work from any
//! test, with or without a runtime: what they do themselves happens in other processes and threads.

#![forbid(unsafe_code)]
// For tests only: it says what is wrong by panicking.
#![allow(clippy::panic, clippy::expect_used, clippy::unwrap_used, clippy::missing_panics_doc)]

mod certificates;
mod cluster;
mod connection;
mod fault_proxy;
mod frames;
mod ports;
mod process;
mod programs;
mod sentinels;
mod server;
mod setup;
mod share;
mod stall;
mod starting;
mod value;
mod waiting;

pub use cluster::{Cluster, ClusterSetup};
pub use connection::Connection;
pub use fault_proxy::{ConnectionId, Counts, FaultProxy};
pub use ports::free_port;
pub use programs::Kind;
pub use sentinels::{Sentinels, SentinelsSetup};
pub use server::Server;
pub use setup::Setup;
pub use stall::{StallMonitor, retry_if_stalled};
pub use value::Value;
pub use waiting::{PATIENCE, wait_until, wait_until_async};
