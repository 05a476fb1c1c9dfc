//! Tests of the server over real connections, with a manual clock.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking, in its helpers too"
)]

mod it {
    mod authorize;
    mod bad_bodies;
    mod bad_checks;
    mod batch;
    mod check;
    mod connection_limit;
    mod connections;
    mod contract;
    mod flaky_store;
    mod grpc;
    mod grpc_calls;
    mod grpc_deadlines;
    mod grpc_descriptors;
    mod grpc_health;
    mod grpc_refusals;
    mod metrics;
    mod outage;
    mod pages;
    mod protobuf_messages;
    mod proxy_protocol;
    mod random_bodies;
    mod rate_limit_headers;
    mod raw_client;
    mod readiness;
    mod receipt_tokens;
    mod reloading;
    mod resp_checks;
    mod resp_client;
    mod resp_connections;
    mod resp_session;
    mod resp_throttle;
    mod resp_waiting;
    mod rule_metrics;
    mod shared_counters;
    mod shutdown;
    mod test_server;
    mod throttle;
    mod undecided_requests;
}
