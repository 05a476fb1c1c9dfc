//! Sluicegate as a service.
//!
//! A request becomes a plan, the store answers it, the verdict becomes a response. This crate
//! translates at both ends and decides nothing: what a request owes is up to [`sluicegate_rules`], what is
//! admitted up to [`sluicegate`].
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
//! | endpoint | answers |
//! |---|---|
//! | `POST /v1/check` | whether a request may go ahead under the rules |
//! | `POST /v1/check/batch` | the same for a list of them |
//! | `POST /v1/release` | that a slot was given back |
//! | `POST /v1/report` | whether a failure was one too many |
//! | `POST /v1/throttle` | whether a key may go ahead under the quota sent with it |
//! | `POST /v1/throttle/batch` | the same for a list of them |
//! | `GET /healthz` | `ok` |
//! | `GET /readyz` | whether requests can be answered, and how the store is doing |
//! | `GET /metrics` | `OpenMetrics` text |
//! | `GET /` | what this is and how to try it |

#![forbid(unsafe_code)]

mod context;
mod grpc;
mod http;
mod measured;
mod metrics;
mod protocol;
mod reloads;
mod resp;
mod server;
mod snapshots;
mod throttled;
mod told;

pub use measured::{Measured, Shared, Size};
pub use protocol::Protocol;
pub use reloads::Reloads;
pub use server::{Addresses, BindError, Drained, Listeners, Server};
pub use snapshots::Snapshots;
