//! Tests that only a server's time of day can be shifted.

use std::time::{SystemTime, UNIX_EPOCH};

use sluicegate_testkit::{RespValue, Server, ServerKind, wait_until};

use crate::LONG;

/// The difference of the server's clock to the real one, in milliseconds; bounded on both sides.
fn shift(server: &Server) -> (i64, i64) {
    #[allow(clippy::disallowed_methods, reason = "compared with another process's clock")]
    let now = || {
        i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
    };
    let before = now();
    let answer = server.command(&["TIME"]);
    let after = now();
    let part = |at: usize| answer.items()[at].text().parse::<i64>().unwrap();
    let theirs = part(0) * 1000 + part(1) / 1000;
    (theirs - after, theirs - before)
}

#[track_caller]
fn assert_shifted(server: &Server, expected: i64) {
    let (least, most) = shift(server);
    // A millisecond on either side is lost to rounding.
    assert!(least - 1 <= expected && expected <= most + 1, "{expected}: {least} to {most}");
}

#[test]
fn equals_the_real_clock_unless_shifted() {
    for kind in ServerKind::ALL {
        assert_shifted(&Server::setup(kind).start(), 0);
        assert_shifted(&Server::setup(kind).movable_clock().start(), 0);
    }
}

#[test]
fn shifts_at_once_in_both_directions_and_survives_a_restart() {
    for kind in ServerKind::ALL {
        let server = Server::setup(kind).movable_clock().start();
        for milliseconds in [250, 3_600_000, -1, -86_400_000, 10 * 365 * 86_400_000, 0, 5_001] {
            server.shift_clock(milliseconds);
            assert_shifted(&server, milliseconds);
        }
        server.restart();
        assert_shifted(&server, 5_001);
    }
}

#[test]
fn keys_expire_by_the_shifted_clock() {
    for kind in ServerKind::ALL {
        let server = Server::setup(kind).movable_clock().start();
        server.command(&["SET", "a", "1", "EX", "3600"]);
        server.shift_clock(3_599_000 - 60_000);
        assert_eq!(server.command(&["EXISTS", "a"]).integer(), 1);
        server.shift_clock(3_600_001);
        assert_eq!(server.command(&["GET", "a"]), RespValue::Null);
    }
}

#[test]
fn background_tasks_continue_when_the_clock_is_set_back() {
    for kind in ServerKind::ALL {
        let server = Server::setup(kind).movable_clock().start();
        server.shift_clock(-3_600_000);
        server.command(&["SET", "a", "1", "PX", "1"]);
        // The key is not accessed: it is removed by a background task of the server.
        wait_until("the key is removed", LONG, || server.info("stats")["expired_keys"] == "1");
    }
}

#[test]
fn can_be_shifted_while_the_server_is_paused_and_leaves_no_files() {
    for kind in ServerKind::ALL {
        let server = Server::setup(kind).movable_clock().start();
        server.pause();
        server.shift_clock(60_000);
        server.resume();
        wait_until("the clock has moved", LONG, || shift(&server).1 >= 60_000);
        let pid = server.pid().to_string();
        drop(server);
        let left = std::fs::read_dir("/dev/shm").unwrap().flatten().map(|entry| entry.file_name());
        let left: Vec<_> = left.filter(|name| name.to_string_lossy().ends_with(&pid)).collect();
        assert!(left.is_empty(), "{left:?}");
    }
}
