//! gRPC: Envoy's rate limit service.

use std::error::Error;
use std::sync::Arc;

use crate::context::Context;
use crate::measured::Measured;
use crate::server::{Begun, Stopping};

/// The rate limit service, and whom it asks.
#[derive(Debug)]
pub(crate) struct Grpc<S> {
    _context: Arc<Context<S>>,
}

impl<S: Measured> Grpc<S> {
    pub(crate) fn new(context: Arc<Context<S>>) -> Self {
        Self { _context: context }
    }

    /// Answers the calls of one connection.
    #[allow(clippy::unused_async, reason = "to come")]
    pub(crate) async fn serve(
        self: Arc<Self>,
        _begun: Begun,
        _stopping: Stopping,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        Ok(())
    }
}
