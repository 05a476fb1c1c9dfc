//! What the server counts about itself, and the text it is scraped as.
//!
//! Labels come from fixed sets and the rule file, never from a request, so the number of series is
//! fixed too. Every series is looked up once, at the start or with the rules; counting is one atomic
//! addition.

mod grpc;
mod resp;
mod rules;
mod shared;
mod size;

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
use sluicegate::Verdict;
use sluicegate_rules::{Algorithm, Answered, RuleSet};

use self::grpc::GrpcMetrics;
use self::resp::RespMetrics;
use self::rules::{Labels, RuleMetrics};
use self::shared::SharedMetrics;
use self::size::SizeMetrics;
use crate::http::Route;
use crate::measured::{Shared, Size};
use crate::protocol::Protocol;
use crate::reloads::Reloads;
use crate::snapshots::Snapshots;

/// The content type of [`Metrics::encode`].
pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

const OUTCOMES: [&str; 3] = ["allowed", "delayed", "refused"];
/// Informational statuses are hyper's own and never answered by a handler.
const CLASSES: [&str; 4] = ["2xx", "3xx", "4xx", "5xx"];
const PATHS: usize = Route::ALL.len() + 1;

/// What the server counts about itself.
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
    size: SizeMetrics,
    /// Of the store that nodes share, where they share one.
    shared: Option<SharedMetrics>,
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
        let size = SizeMetrics::default();

        let mut registry = Registry::with_prefix("sluicegate");
        registry.register(
            "build",
            "The version that is running",
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

    /// Shows what is told of snapshots, too.
    pub(crate) fn show(&mut self, snapshots: &Snapshots) {
        snapshots.register(&mut self.registry);
    }

    /// Shows what is told of readings of the rule file, too; so many are in force now.
    pub(crate) fn show_reloads(&mut self, reloads: &Reloads, rules: usize) {
        reloads.register(&mut self.registry, rules);
    }

    /// Shows how the store is doing that nodes share, too.
    pub(crate) fn show_shared(&mut self) {
        self.shared = Some(SharedMetrics::new(&mut self.registry));
    }

    /// Counts what became of a request that goes by rules.
    pub(crate) fn answered_by_rules(&self, answered: &Answered<'_>) {
        self.rules.count(answered);
    }

    /// Counts a decision for a quota that came with its request.
    pub(crate) fn throttled(&self, algorithm: Algorithm, verdict: &Verdict) {
        let outcome = match verdict.is_allowed() {
            true if verdict.delay().is_zero() => 0,
            true => 1,
            false => 2,
        };
        self.throttled[algorithm as usize][outcome].inc();
    }

    /// Counts decisions that were made together, for quotas that came with their requests; none of
    /// the requests is held back.
    pub(crate) fn throttled_many(&self, algorithm: Algorithm, allowed: u64, refused: u64) {
        let [by_allowed, _, by_refused] = &self.throttled[algorithm as usize];
        by_allowed.inc_by(allowed);
        by_refused.inc_by(refused);
    }

    /// What was asked in the protocol of Redis.
    pub(crate) fn resp(&self) -> &RespMetrics {
        &self.resp
    }

    /// What became of calls by gRPC.
    pub(crate) fn grpc(&self) -> &GrpcMetrics {
        &self.grpc
    }

    /// Counts an answered request; `None` stands for every path that does not exist.
    pub(crate) fn answered(&self, route: Option<Route>, status: StatusCode) {
        let path = route.map_or(PATHS - 1, |route| route as usize);
        let class = usize::from(status.as_u16() / 100).saturating_sub(2).min(CLASSES.len() - 1);
        self.requests[path][class].inc();
    }

    /// Counts a connection as open until what is returned is dropped.
    pub(crate) fn connected(&self, protocol: Protocol) -> Connected {
        let connections = self.connections[protocol as usize].clone();
        connections.inc();
        Connected { connections }
    }

    /// Everything counted, as `OpenMetrics` text; `rules` are those in force, `size` is the size of
    /// the store now, and `shared` how the one is doing that nodes share.
    pub(crate) fn encode(
        &self,
        rules: &RuleSet,
        size: Size,
        shared: Option<Shared>,
    ) -> Result<String, fmt::Error> {
        if let (Some(metrics), Some(shared)) = (&self.shared, shared) {
            metrics.set(&shared);
        }
        self.rules.show(rules);
        self.size.set(size);
        let mut out = String::with_capacity(8 * 1_024);
        text::encode(&mut out, &self.registry)?;
        Ok(out)
    }
}

/// An open connection.
#[derive(Debug)]
pub(crate) struct Connected {
    connections: Gauge,
}

impl Drop for Connected {
    fn drop(&mut self) {
        self.connections.dec();
    }
}
