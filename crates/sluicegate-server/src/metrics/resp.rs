//! Metrics of RESP commands.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

/// Counts RESP commands and protocol errors.
#[derive(Debug, Default)]
pub(crate) struct RespMetrics {
    throttles: Counter,
    checks: Counter,
    others: Counter,
    unknown: Counter,
    protocol_errors: Counter,
}

impl RespMetrics {
    pub(super) fn new(registry: &mut Registry) -> Self {
        let commands = Family::<[(&str, &str); 1], Counter>::default();
        let named = |name| commands.get_or_create_owned(&[("command", name)]);
        let metrics = Self {
            throttles: named("cl.throttle"),
            checks: named("sluicegate.check"),
            others: named("other"),
            unknown: named("unknown"),
            protocol_errors: Counter::default(),
        };
        registry.register("resp_commands", "RESP commands answered", commands);
        registry.register(
            "resp_protocol_errors",
            "Connections closed because of a RESP protocol error",
            metrics.protocol_errors.clone(),
        );
        metrics
    }

    /// Counts a batch of throttles.
    pub(crate) fn throttles(&self, count: u64) {
        self.throttles.inc_by(count);
    }

    /// Counts a batch of checks.
    pub(crate) fn checks(&self, count: usize) {
        self.checks.inc_by(u64::try_from(count).unwrap_or(u64::MAX));
    }

    /// Counts a throttle or a check with invalid arguments.
    pub(crate) fn invalid(&self, is_throttle: bool) {
        if is_throttle { &self.throttles } else { &self.checks }.inc();
    }

    /// Counts a command about the connection or the server.
    pub(crate) fn other(&self) {
        self.others.inc();
    }

    /// Counts an unknown command.
    pub(crate) fn unknown(&self) {
        self.unknown.inc();
    }

    /// Counts a connection that sent something other than commands.
    pub(crate) fn protocol_error(&self) {
        self.protocol_errors.inc();
    }
}
