//! The state that all protocols share: the limiter and the metrics.

use std::sync::Arc;

use sluicegate_rules::RuleLimiter;

use crate::metrics::Metrics;
use crate::store_stats::StoreStats;

/// The limiter and the metrics that every protocol uses.
#[derive(Debug)]
pub(crate) struct Context<S> {
    pub(crate) gate: Arc<RuleLimiter<S>>,
    pub(crate) metrics: Metrics,
}

impl<S: StoreStats> Context<S> {
    pub(crate) fn new(gate: Arc<RuleLimiter<S>>) -> Self {
        let mut metrics = Metrics::new();
        if gate.limiter().store().shared().is_some() {
            metrics.register_remote_store();
        }
        Self { gate, metrics }
    }
}
