//! What is known of the rule file's readings, for the metrics.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use sluicegate::{Clock, SystemClock};

/// Counts how often the rules were read anew. Clones count together.
///
/// Whoever reads the file tells it what became of that; a [`Server`](crate::Server) that was given
/// it shows what it was told.
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
    /// Nothing told yet.
    pub fn new() -> Self {
        let outcomes = Family::<[(&str, &str); 1], Counter>::default();
        let outcome = |name| outcomes.get_or_create_owned(&[("outcome", name)]);
        let (loaded, refused) = (outcome("loaded"), outcome("refused"));
        let [stale, rules, loaded_at, pending] = [(); 4].map(|()| Gauge::default());
        Self { outcomes, loaded, refused, stale, rules, loaded_at, pending }
    }

    /// Tells that so many rules were put in force.
    pub fn loaded(&self, rules: usize) {
        self.loaded.inc();
        self.begin(rules);
    }

    /// Tells that the file cannot be used, and the rules before it stay in force.
    pub fn refused(&self) {
        self.refused.inc();
        self.stale.set(1);
    }

    /// Tells how many settings the file has otherwise than the program was started with: they wait
    /// for a restart.
    pub fn pending(&self, settings: usize) {
        self.pending.set(i64::try_from(settings).unwrap_or(i64::MAX));
    }

    /// These are in force now, and the file says no other.
    fn begin(&self, rules: usize) {
        self.stale.set(0);
        self.rules.set(i64::try_from(rules).unwrap_or(i64::MAX));
        let seconds = SystemClock::new().now().as_micros() / 1_000_000;
        self.loaded_at.set(i64::try_from(seconds).unwrap_or(i64::MAX));
    }

    /// Shows what is told; `rules` is how many are in force if nothing has been told yet.
    pub(crate) fn register(&self, registry: &mut Registry, rules: usize) {
        if self.loaded_at.get() == 0 {
            self.begin(rules);
        }
        registry.register(
            "rules_reloads",
            "Readings of a changed rule file, by whether its rules were put in force",
            self.outcomes.clone(),
        );
        registry.register(
            "rules_stale",
            "1 while the rule file cannot be used and the rules before it stay in force",
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
            "When the rules in force were read",
            self.loaded_at.clone(),
        );
    }
}
