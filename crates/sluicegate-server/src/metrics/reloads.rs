//! Metrics of rule reloads.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use sluicegate::{Clock, SystemClock};

/// Counts reloads of the rule file. Clones share their counts.
///
/// The reader of the file reports every outcome here; a [`Server`](crate::Server) publishes them.
#[derive(Debug, Clone)]
pub struct Reloads {
    outcomes: Family<[(&'static str, &'static str); 1], Counter>,
    loaded: Counter,
    refused: Counter,
    stale: Gauge,
    rules: Gauge,
    loaded_at: Gauge,
    pending: Gauge,
}

impl Default for Reloads {
    fn default() -> Self {
        Self::new()
    }
}

impl Reloads {
    /// Creates metrics without any reload.
    pub fn new() -> Self {
        let outcomes = Family::<[(&str, &str); 1], Counter>::default();
        let outcome = |name| outcomes.get_or_create_owned(&[("outcome", name)]);
        let (loaded, refused) = (outcome("loaded"), outcome("refused"));
        let [stale, rules, loaded_at, pending] = [(); 4].map(|()| Gauge::default());
        Self { outcomes, loaded, refused, stale, rules, loaded_at, pending }
    }

    /// Reports that a file was loaded, with this number of rules.
    pub fn loaded(&self, rules: usize) {
        self.loaded.inc();
        self.set_current(rules);
    }

    /// Reports that the file is invalid, and that the previous rules stay in force.
    pub fn refused(&self) {
        self.refused.inc();
        self.stale.set(1);
    }

    /// Reports the number of changed settings that take effect only after a restart.
    pub fn pending(&self, settings: usize) {
        self.pending.set(i64::try_from(settings).unwrap_or(i64::MAX));
    }

    /// Records that the rules in force are those of the file.
    fn set_current(&self, rules: usize) {
        self.stale.set(0);
        self.rules.set(i64::try_from(rules).unwrap_or(i64::MAX));
        let seconds = SystemClock::new().now().as_micros() / 1_000_000;
        self.loaded_at.set(i64::try_from(seconds).unwrap_or(i64::MAX));
    }

    /// Registers the metrics; `rules` is the number of rules in force if none was reported yet.
    pub(crate) fn register(&self, registry: &mut Registry, rules: usize) {
        if self.loaded_at.get() == 0 {
            self.set_current(rules);
        }
        registry.register(
            "rules_reloads",
            "Reloads of a changed rule file, by outcome",
            self.outcomes.clone(),
        );
        registry.register(
            "rules_stale",
            "1 while the rule file is invalid and the previous rules stay in force",
            self.stale.clone(),
        );
        registry.register("rules", "Rules in force", self.rules.clone());
        registry.register(
            "settings_pending",
            "Settings in the rule file, such as store, that wait for a restart",
            self.pending.clone(),
        );
        registry.register(
            "rules_loaded_timestamp_seconds",
            "When the rules in force were loaded",
            self.loaded_at.clone(),
        );
    }
}
