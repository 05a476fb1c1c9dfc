//! End-to-end tests of the program.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking, in its helpers too"
)]

mod it {
    mod arguments;
    mod audit;
    mod buf;
    mod build_info;
    mod check_and_bench;
    mod compatibility;
    mod config;
    mod documented_proxies;
    mod emptied_rules;
    mod envoy;
    mod eventually;
    mod explain;
    mod external_tools;
    mod guide;
    mod health;
    mod http;
    mod idle_connections;
    mod login_evasion;
    mod login_guesses;
    mod program;
    mod proxies;
    mod proxy_setup;
    mod redis_store;
    mod reload;
    mod resp_clients;
    mod sentinel_and_cluster;
    mod snapshots;
    mod start_and_stop;
    mod traces;
    mod validate;
}
