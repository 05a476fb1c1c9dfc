//! Tests of the testkit, against real servers.

// A test and its helpers report failures by panicking.
#![allow(clippy::panic, clippy::expect_used, clippy::unwrap_used)]

mod builder;
mod clock;
mod cluster;
mod dump;
mod fault_proxy;
mod lifecycle;
mod sentinels;
mod tls;

use std::io::ErrorKind;
use std::time::Duration;

use sluicegate_testkit::{Connection, RespValue, ServerKind};

/// Longer than any step takes, unless it fails.
const LONG: Duration = Duration::from_secs(60);

/// A short wait for something that must not happen.
const SHORT: Duration = Duration::from_millis(150);

fn text(text: &str) -> RespValue {
    RespValue::Text(text.as_bytes().to_vec())
}

/// Does the same with both servers concurrently, because most of it is waiting.
fn with_both(test: impl Fn(ServerKind) + Sync) {
    std::thread::scope(|scope| {
        for kind in ServerKind::ALL {
            let test = &test;
            scope.spawn(move || test(kind));
        }
    });
}

/// Asserts that no answer arrives for a while, and restores the timeout.
#[track_caller]
fn assert_hangs(connection: &mut Connection) {
    connection.set_timeout(SHORT).unwrap();
    let kind = connection.receive().expect_err("no answer was to come").kind();
    assert!(matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut), "{kind}");
    connection.set_timeout(LONG).unwrap();
}

/// Asserts that the other side has closed.
#[track_caller]
fn assert_closed(connection: &mut Connection) {
    let kind = connection.receive().expect_err("the connection was to be closed").kind();
    assert!(matches!(kind, ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset), "{kind}");
}
