//! The protocol of Redis: `CL.THROTTLE` and `TOLLGATE.CHECK`.

use std::error::Error;
use std::sync::Arc;

use crate::context::Context;
use crate::measured::Measured;
use crate::server::{Begun, Stopping};

/// The commands, and whom they ask.
#[derive(Debug)]
pub(crate) struct Resp<S> {
    _context: Arc<Context<S>>,
    _password: Option<Arc<str>>,
}

impl<S: Measured> Resp<S> {
    pub(crate) fn new(context: Arc<Context<S>>, password: Option<Arc<str>>) -> Self {
        Self { _context: context, _password: password }
    }

    /// Answers the commands of one connection.
    #[allow(clippy::unused_async, reason = "to come")]
    pub(crate) async fn serve(
        self: Arc<Self>,
        _begun: Begun,
        _stopping: Stopping,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        Ok(())
    }
}
