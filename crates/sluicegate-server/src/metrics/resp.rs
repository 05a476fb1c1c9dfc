//! What was asked in the protocol of Redis.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

/// What was asked in the protocol of Redis.
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
        registry.register("resp_commands", "Commands answered in the protocol of Redis", commands);
        registry.register(
            "resp_protocol_errors",
            "Connections closed because they did not speak the protocol of Redis",
            metrics.protocol_errors.clone(),
        );
        metrics
    }

    /// Counts throttles that were answered together.
    pub(crate) fn throttles(&self, count: u64) {
        self.throttles.inc_by(count);
    }

    /// Counts checks that were answered together.
    pub(crate) fn checks(&self, count: usize) {
        self.checks.inc_by(u64::try_from(count).unwrap_or(u64::MAX));
    }

    /// Counts a throttle, or a check, that was answered with what is wrong with it.
    pub(crate) fn mistaken(&self, is_throttle: bool) {
        if is_throttle { &self.throttles } else { &self.checks }.inc();
    }

    /// Counts a command about the connection or the server.
    pub(crate) fn other(&self) {
        self.others.inc();
    }

    /// Counts a command that does not exist.
    pub(crate) fn unknown(&self) {
        self.unknown.inc();
    }

    /// Counts a connection that sent something else than commands.
    pub(crate) fn protocol_error(&self) {
        self.protocol_errors.inc();
    }
}
