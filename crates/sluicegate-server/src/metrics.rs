//! The metrics of the server, and their `OpenMetrics` text.
//!
//! Labels come from fixed sets and the rule file, never from a request, so that the number of
//! series is fixed. Every series is looked up once, at the start or with the rules; counting is one
//! atomic addition.

mod grpc;
pub(crate) mod reloads;
mod remote_store;
mod resp;
mod rules;
pub(crate) mod snapshots;
mod store_size;

use std::array;
use std::borrow::Cow;
use std::fmt;

use hyper::StatusCode;
use prometheus_client::encoding::text;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;
use sluicegate::{Algorithm, Verdict};
use sluicegate_rules::{Evaluation, RuleSet};

use self::grpc::GrpcMetrics;
use self::remote_store::RemoteStoreMetrics;
use self::resp::RespMetrics;
use self::rules::{Labels, RuleMetrics};
use self::store_size::StoreSizeMetrics;
use crate::http::Route;
use crate::metrics::reloads::Reloads;
use crate::metrics::snapshots::Snapshots;
use crate::protocol::Protocol;
use crate::store_stats::{RemoteStats, StoreSize};

/// The content type of [`Metrics::encode`].
pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

const OUTCOMES: [&str; 3] = ["allowed", "delayed", "refused"];
/// Without 1xx, which only hyper sends.
const CLASSES: [&str; 4] = ["2xx", "3xx", "4xx", "5xx"];
const PATHS: usize = Route::ALL.len() + 1;

/// The metrics of the server.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    /// By algorithm and outcome.
    throttled: [[Counter; OUTCOMES.len()]; Algorithm::ALL.len()],
    rules: RuleMetrics,
    resp: RespMetrics,
    grpc: GrpcMetrics,
    /// By path and class of status; the last path is "other".
    requests: [[Counter; CLASSES.len()]; PATHS],
    /// By protocol.
    connections: [Gauge; Protocol::ALL.len()],
    size: StoreSizeMetrics,
    /// Of the shared store, if there is one.
    shared: Option<RemoteStoreMetrics>,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let decisions = Family::<Labels, Counter>::default();
        let requests = Family::<[(&str, &str); 2], Counter>::default();
        let throttled = Algorithm::ALL.map(|algorithm| {
            OUTCOMES.map(|outcome| {
                let labels =
                    [("rule", "throttle"), ("algorithm", algorithm.as_str()), ("outcome", outcome)];
                let labels = labels.map(|(name, value)| (name, Cow::Borrowed(value)));
                decisions.get_or_create_owned(&labels.to_vec())
            })
        });
        let by_path = array::from_fn(|path| {
            let path = Route::ALL.get(path).map_or("other", |route| route.path());
            CLASSES.map(|class| requests.get_or_create_owned(&[("path", path), ("status", class)]))
        });
        let open = Family::<[(&str, &str); 1], Gauge>::default();
        let connections = Protocol::ALL
            .map(|protocol| open.get_or_create_owned(&[("protocol", protocol.as_str())]));
        let size = StoreSizeMetrics::default();

        let mut registry = Registry::with_prefix("sluicegate");
        registry.register(
            "build",
            "The running version",
            Info::new([("version", env!("CARGO_PKG_VERSION"))]),
        );
        registry.register("decisions", "Decisions by rule and outcome", decisions.clone());
        let rules = RuleMetrics::new(decisions, &mut registry);
        registry.register("http_requests", "HTTP requests answered", requests);
        registry.register("connections", "Connections open now", open);
        let resp = RespMetrics::new(&mut registry);
        let grpc = GrpcMetrics::new(&mut registry);
        size.register(&mut registry);
        let shared = None;
        Self {
            registry,
            throttled,
            rules,
            resp,
            grpc,
            requests: by_path,
            connections,
            size,
            shared,
        }
    }

    /// Adds the metrics of snapshots.
    pub(crate) fn register_snapshots(&mut self, snapshots: &Snapshots) {
        snapshots.register(&mut self.registry);
    }

    /// Adds the metrics of rule reloads; `rules` is the number of rules in force.
    pub(crate) fn register_reloads(&mut self, reloads: &Reloads, rules: usize) {
        reloads.register(&mut self.registry, rules);
    }

    /// Adds the metrics of the shared store.
    pub(crate) fn register_remote_store(&mut self) {
        self.shared = Some(RemoteStoreMetrics::new(&mut self.registry));
    }

    /// Counts the evaluation of a request by rules.
    pub(crate) fn evaluated(&self, evaluation: &Evaluation<'_>) {
        self.rules.count(evaluation);
    }

    /// Counts a decision on the quota of a request.
    pub(crate) fn throttled(&self, algorithm: Algorithm, verdict: &Verdict) {
        let outcome = match verdict.is_allowed() {
            true if verdict.delay().is_zero() => 0,
            true => 1,
            false => 2,
        };
        self.throttled[algorithm as usize][outcome].inc();
    }

    /// Counts a batch of decisions on the quotas of requests, of which none was delayed.
    pub(crate) fn throttled_many(&self, algorithm: Algorithm, allowed: u64, refused: u64) {
        let [by_allowed, _, by_refused] = &self.throttled[algorithm as usize];
        by_allowed.inc_by(allowed);
        by_refused.inc_by(refused);
    }

    /// Returns the metrics of RESP.
    pub(crate) fn resp(&self) -> &RespMetrics {
        &self.resp
    }

    /// Returns the metrics of gRPC.
    pub(crate) fn grpc(&self) -> &GrpcMetrics {
        &self.grpc
    }

    /// Counts a response; `None` is every path that does not exist.
    pub(crate) fn responded(&self, route: Option<Route>, status: StatusCode) {
        let path = route.map_or(PATHS - 1, |route| route as usize);
        let class = usize::from(status.as_u16() / 100).saturating_sub(2).min(CLASSES.len() - 1);
        self.requests[path][class].inc();
    }

    /// Counts a connection as open until the returned guard is dropped.
    pub(crate) fn connected(&self, protocol: Protocol) -> ConnectionGuard {
        let connections = self.connections[protocol as usize].clone();
        connections.inc();
        ConnectionGuard { connections }
    }

    /// Returns all metrics as `OpenMetrics` text.
    ///
    /// `rules` are those in force, `size` is the current size of the store, and `shared` the state
    /// of the shared store.
    pub(crate) fn encode(
        &self,
        rules: &RuleSet,
        size: StoreSize,
        shared: Option<RemoteStats>,
    ) -> Result<String, fmt::Error> {
        if let (Some(metrics), Some(shared)) = (&self.shared, shared) {
            metrics.set(&shared);
        }
        self.rules.ensure_series(rules);
        self.size.set(size);
        let mut out = String::with_capacity(8 * 1_024);
        text::encode(&mut out, &self.registry)?;
        Ok(out)
    }
}

/// A guard that counts one open connection.
#[derive(Debug)]
pub(crate) struct ConnectionGuard {
    connections: Gauge,
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        self.connections.dec();
    }
}
