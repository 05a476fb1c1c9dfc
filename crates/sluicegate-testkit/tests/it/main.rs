//! Each piece of the testbed, against real servers.

// A test says what is wrong by panicking, its helpers too.
#![allow(clippy::panic, clippy::expect_used, clippy::unwrap_used)]

mod clock;
mod cluster;
mod contents;
mod faults;
mod life;
mod sentinels;
mod setup;
mod tls;

use std::io::ErrorKind;
use std::time::Duration;

use sluicegate_testkit::{Connection, Kind, Value};

/// Longer than anything takes, unless it is broken.
const LONG: Duration = Duration::from_secs(60);

/// Shorter than anybody wants to wait for what does not come.
const SHORT: Duration = Duration::from_millis(150);

fn text(text: &str) -> Value {
    Value::Text(text.as_bytes().to_vec())
}

/// Does the same with both servers, at the same time: most of it is waiting.
fn with_both(test: impl Fn(Kind) + Sync) {
    std::thread::scope(|scope| {
        for kind in Kind::ALL {
            let test = &test;
            scope.spawn(move || test(kind));
        }
    });
}

/// Asserts that no answer comes for a while, and goes on to be patient.
#[track_caller]
fn assert_hangs(connection: &mut Connection) {
    connection.patience(SHORT).unwrap();
    let kind = connection.receive().expect_err("no answer was to come").kind();
    assert!(matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut), "{kind}");
    connection.patience(LONG).unwrap();
}

/// Asserts that the other side has closed.
#[track_caller]
fn assert_closed(connection: &mut Connection) {
    let kind = connection.receive().expect_err("the connection was to be closed").kind();
    assert!(matches!(kind, ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset), "{kind}");
}
