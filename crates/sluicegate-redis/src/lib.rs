//! Redis or Valkey as the shared store of Sluicegate: a hundred nodes, one answer.
//!
//! [`Redis`] is a [`Store`](sluicegate::Store) that decides exactly as the memory store does. A
//! request's whole set is one script on the server, one round trip; concurrent requests are
//! batched. If the server is slow or down, no request waits longer than the deadline, and each
//! check follows its [`OnStoreError`](sluicegate_core::OnStoreError) policy.
//!
//! | module | content |
//! |---|---|
//! | `options` | the server's address, and how to use it |
//! | `store` | the way of a set: deny cache, server, fallback |
//! | `script` | encoding of sets for the Lua scripts, and decoding of the answers |
//! | `topology` | the servers of a store: one, one named by `sentinel`s, or a `cluster` |
//! | `server_client` | the client of one server: its batchers and their supervisor |
//! | `connectivity` | whether a server is up, and why not |
//! | `batcher` | the queue of a server: batches requests, enforces the deadline |
//! | `connection` | connections: discovery, set-up, supervision, heartbeat |
//! | `deny_cache` | the last states of counters, to refuse without a round trip |
//! | `pending_charges` | charges admitted without the store, to be replayed to it |
//! | `passed_over_warning` | a warning about decisions without the store although it answers |
//! | `clock` | the server's clock, as followed by this process |
//! | `address` | hosts and ports |
//! | `error` | errors of the server, and how each is handled |
//! | `event` | events and health of the store |
//! | `stats` | counters of what the store does |
//! | `store_context` | clock, key space, caches and counters that all servers of a store use |

#![forbid(unsafe_code)]

mod address;
mod batcher;
mod clock;
mod cluster;
mod connection;
mod connectivity;
mod deny_cache;
mod error;
mod event;
mod options;
mod passed_over_warning;
mod pending_charges;
mod script;
mod sentinel;
mod server_client;
mod stats;
mod store;
mod store_context;
mod topology;

pub use clock::StoreClock;
pub use event::{Event, Health, ServerHealth, ServerInfo};
pub use options::{Options, OptionsError};
pub use stats::Stats;
pub use store::Redis;
