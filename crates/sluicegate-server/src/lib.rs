//! The Sluicegate server: HTTP, gRPC and RESP over one limiter.
//!
//! A request becomes a plan, the store applies it, and the verdict becomes a response. This crate
//! translates at both ends and decides nothing: [`sluicegate_rules`] selects the limits of a
//! request, [`sluicegate`] admits or refuses it.
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use sluicegate::Limiter;
//! use sluicegate_rules::{RuleLimiter, RuleSet};
//! use sluicegate_server::{Drained, Server};
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let rules = RuleSet::parse("rules: [{ name: per-address, key: ip, limit: 100/min }]")?;
//! let gate = Arc::new(RuleLimiter::new(Limiter::in_memory(), rules)?);
//! let listener = std::net::TcpListener::bind("127.0.0.1:7070")?;
//! let never = std::future::pending();
//! let drained = Server::new(gate).serve(listener, never).await?;
//! assert_eq!(drained, Drained::All);
//! # Ok(())
//! # }
//! ```
//!
//! | endpoint | returns |
//! |---|---|
//! | `POST /v1/check` | whether a request may go ahead under the rules |
//! | `POST /v1/check/batch` | the same for a list of requests |
//! | `POST /v1/release` | the number of slots given back |
//! | `POST /v1/report` | whether the caller is blocked after this failure |
//! | `POST /v1/throttle` | whether a key may go ahead under the quota sent with it |
//! | `POST /v1/throttle/batch` | the same for a list of keys |
//! | `GET /healthz` | `ok` |
//! | `GET /readyz` | whether requests can be answered, and the state of the store |
//! | `GET /metrics` | `OpenMetrics` text |
//! | `GET /` | a list of the endpoints, and an example |

#![forbid(unsafe_code)]

mod context;
mod grpc;
mod http;
mod metrics;
mod protocol;
mod proxy_protocol;
mod store_stats;

mod resp;
mod server;

mod inline_limit;
mod limit_cache;

pub use metrics::reloads::Reloads;
pub use metrics::snapshots::Snapshots;
pub use protocol::Protocol;
pub use server::{Addresses, BindError, Drained, Listeners, Server};
pub use store_stats::{RemoteStats, StoreSize, StoreStats};
