//! The program from outside.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking, in its helpers too"
)]

mod it {
    mod arguments;
    mod asking;
    mod attacks;
    mod audit;
    mod buf;
    mod config;
    mod documented;
    mod edge;
    mod emptied;
    mod envoy;
    mod eventually;
    mod explain;
    mod guide;
    mod http;
    mod idle;
    mod logins;
    mod program;
    mod proxies;
    mod reload;
    mod resp_clients;
    mod serving;
    mod several;
    mod shared;
    mod snapshots;
    mod tools;
    mod traces;
    mod validate;
}
