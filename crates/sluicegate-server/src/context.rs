//! What the protocols share: whom they ask, and where they count.

use std::sync::Arc;

use sluicegate_rules::RuleLimiter;

use crate::measured::Measured;
use crate::metrics::Metrics;

/// Whom every protocol asks, and where it counts.
#[derive(Debug)]
pub(crate) struct Context<S> {
    pub(crate) gate: Arc<RuleLimiter<S>>,
    pub(crate) metrics: Metrics,
}

impl<S: Measured> Context<S> {
    pub(crate) fn new(gate: Arc<RuleLimiter<S>>) -> Self {
        let mut metrics = Metrics::new();
        if gate.limiter().store().shared().is_some() {
            metrics.show_shared();
        }
        Self { gate, metrics }
    }
}
