//! Tollgate as a service.
//!
//! A request becomes a plan, the store answers it, the verdict becomes a response. This crate
//! translates at both ends and decides nothing: what is admitted is up to [`tollgate`].
//!
//! ```no_run
//! use tollgate::Limiter;
//! use tollgate_server::{Drained, Server};
//!
//! # async fn run() -> std::io::Result<()> {
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:7070").await?;
//! let never = std::future::pending();
//! let drained = Server::new(Limiter::in_memory()).serve(listener, never).await;
//! assert_eq!(drained, Drained::All);
//! # Ok(())
//! # }
//! ```
//!
//! | endpoint | answers |
//! |---|---|
//! | `POST /v1/throttle` | whether a key may go ahead under the quota sent with it |
//! | `GET /healthz` | `ok` |
//! | `GET /metrics` | `OpenMetrics` text |
//! | `GET /` | what this is and how to try it |

#![forbid(unsafe_code)]

mod algorithm;
mod http;
mod measured;
mod metrics;
mod server;
mod snapshots;

pub use measured::{Measured, Size};
pub use server::{Drained, Server};
pub use snapshots::Snapshots;
