//! The server over real connections, under a clock that is moved by hand.

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
    mod client;
    mod connections;
    mod contract;
    mod counters;
    mod crowded;
    mod fading;
    mod gate;
    mod grpc;
    mod grpc_calls;
    mod grpc_deadlines;
    mod grpc_descriptors;
    mod grpc_health;
    mod grpc_refusals;
    mod messages;
    mod metrics;
    mod outage;
    mod pages;
    mod proxied;
    mod random_bodies;
    mod readiness;
    mod reloading;
    mod resp_checks;
    mod resp_client;
    mod resp_connections;
    mod resp_session;
    mod resp_throttle;
    mod resp_waiting;
    mod rule_metrics;
    mod shutdown;
    mod throttle;
    mod tokens;
    mod told;
    mod undecided;
}
