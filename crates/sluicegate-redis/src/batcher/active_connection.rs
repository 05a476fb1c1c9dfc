//! The connection that a queue currently uses.

use std::sync::Arc;

use redis::aio::MultiplexedConnection;
use tokio::sync::Notify;

/// A connection that is in use.
#[derive(Debug, Clone)]
pub(super) struct ActiveConnection {
    pub(super) connection: MultiplexedConnection,
    pub(super) generation: u64,
    /// Notified when the connection is given up.
    pub(super) broken: Arc<Notify>,
}
