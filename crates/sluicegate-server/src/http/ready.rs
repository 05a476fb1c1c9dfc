//! `GET /readyz`: readiness of the server, and the state of the store.
//!
//! An unreachable shared store does not make a node unready: it would take all nodes out of service
//! at once, and none would apply the fallbacks of the rules. The state is reported, and the query
//! `?strict` makes it a 503.

use std::time::Duration;

use hyper::StatusCode;
use serde::Serialize;
use sluicegate_http::FieldError;
use sluicegate_redis::ServerHealth;

use super::request_error::RequestError;
use super::{HttpResponse, json_response};
use crate::store_stats::RemoteStats;

const STRICT: &str = "strict";

#[derive(Serialize)]
struct ReadyBody<'a> {
    ready: bool,
    degraded: bool,
    store: StoreReadiness<'a>,
}

#[derive(Serialize)]
struct StoreReadiness<'a> {
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<&'static str>,
    /// The time since the last change of the state.
    #[serde(skip_serializing_if = "Option::is_none")]
    for_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    clock_offset_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nodes: Option<u32>,
    /// Decisions made without the store although it answered, since the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    passed_over: Option<u64>,
    /// The address of the server, if one has all counters.
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<&'a str>,
    /// The primaries of a cluster.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<Primary<'a>>,
}

/// A server that has the counters of some slots.
#[derive(Serialize)]
struct Primary<'a> {
    address: &'a str,
    state: &'static str,
    for_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    slots: Option<usize>,
}

impl StoreReadiness<'_> {
    const MEMORY: Self = Self {
        kind: "memory",
        state: None,
        for_ms: None,
        why: None,
        server: None,
        version: None,
        clock_offset_ms: None,
        nodes: None,
        passed_over: None,
        address: None,
        parts: Vec::new(),
    };
}

impl<'a> From<&'a RemoteStats> for StoreReadiness<'a> {
    fn from(RemoteStats { health, counts }: &'a RemoteStats) -> Self {
        let server = health.server.as_ref();
        let (address, parts) = match &*health.parts {
            [part] if part.slots.is_none() => (Some(&*part.address), Vec::new()),
            parts => (None, parts.iter().map(Primary::from).collect()),
        };
        Self {
            kind: "redis",
            state: Some(state(health.up)),
            for_ms: Some(millis(health.since)),
            why: health.why.as_deref().filter(|_| !health.up),
            server: server.map(|server| server.kind),
            version: server.map(|server| &*server.version).filter(|version| !version.is_empty()),
            clock_offset_ms: health.clock_offset_micros.map(in_millis),
            nodes: Some(health.nodes),
            passed_over: Some(counts.passed_over),
            address,
            parts,
        }
    }
}

impl<'a> From<&'a ServerHealth> for Primary<'a> {
    fn from(part: &'a ServerHealth) -> Self {
        Self {
            address: &part.address,
            state: state(part.up),
            for_ms: millis(part.since),
            why: part.why.as_deref().filter(|_| !part.up),
            slots: part.slots,
        }
    }
}

const fn state(up: bool) -> &'static str {
    if up { "reached" } else { "degraded" }
}

/// Returns the state of the store; 503 only if the query is `strict`.
pub(super) fn answer(
    shared: Option<&RemoteStats>,
    query: Option<&str>,
) -> Result<HttpResponse, RequestError> {
    let strict = match query {
        None | Some("") => false,
        // Some clients append `=` to a parameter without a value.
        Some(STRICT | "strict=") => true,
        Some(_) => {
            let detail = format!("the only query parameter is `{STRICT}`, without a value");
            return Err(RequestError::invalid(vec![FieldError::new("query", detail)]));
        }
    };
    let degraded = shared.is_some_and(|shared| !shared.health.up);
    let ready = !(strict && degraded);
    let store = shared.map_or(StoreReadiness::MEMORY, StoreReadiness::from);
    let body = ReadyBody { ready, degraded, store };
    // Serializing texts and numbers does not fail.
    let mut answer = json_response(serde_json::to_vec(&body).unwrap_or_default());
    if !ready {
        *answer.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    }
    Ok(answer)
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[allow(clippy::cast_precision_loss, reason = "displayed, where fewer digits are enough")]
fn in_millis(micros: i64) -> f64 {
    micros as f64 / 1_000.0
}
