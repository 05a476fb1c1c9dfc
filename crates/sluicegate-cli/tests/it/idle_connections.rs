//! Ten thousand idle connections.

use std::fs;
use std::net::TcpStream;
use std::process::Command;

use super::eventually::eventually;
use super::external_tools::printed;
use super::http::{metrics, status};
use super::program::{Serving, sluicegate};

/// The number of idle connections, unless the limit of this process is lower.
const CONNECTIONS: u64 = 10_000;
/// File descriptors for other tests in this process.
const OTHERS: u64 = 500;
/// The limit for the additional memory of the server.
const MAX_BYTES: u64 = 100 * 1_024 * 1_024;

/// Raises the descriptor limit of this process and its children; returns the number of connections.
fn raise_limit() -> u64 {
    let id = std::process::id().to_string();
    let limit = |name: &str| -> u64 {
        let arguments = ["--pid", &id, "--nofile", "--raw", "--noheadings", "--output", name];
        let found = printed(Command::new("prlimit").args(arguments));
        found.trim().parse().unwrap_or(u64::MAX)
    };
    let wanted = limit("HARD").min(CONNECTIONS + OTHERS);
    if limit("SOFT") < wanted {
        printed(Command::new("prlimit").args(["--pid", &id, &format!("--nofile={wanted}:")]));
    }
    wanted - OTHERS
}

/// The peak resident memory of a process, in bytes.
fn peak(id: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1_024
}

#[test]
fn idle_connections_do_not_delay_others() {
    let connections = raise_limit();
    assert!(connections >= 1_000, "the machine allows {connections}; raise `ulimit -Hn`");
    let arguments = ["serve", "--http", "127.0.0.1:0", "--log", "warn"];
    let serving = Serving::start(sluicegate(&arguments));
    let (http, resp) = (&serving.address, serving.listens("redis"));
    let client = redis::Client::open(format!("redis://{resp}")).unwrap();
    let mut redis = client.get_connection().unwrap();
    let mut is_answered = || {
        let body = r#"{"key":"user:42","quota":"1000000/s"}"#;
        assert_eq!(status(http, "/v1/throttle", body), "200");
        let reply = redis::cmd("CL.THROTTLE").arg("a").arg(&[999, 1_000, 1]).query(&mut redis);
        let [limited, ..]: [i64; 5] = reply.unwrap();
        assert_eq!(limited, 0);
    };
    is_answered();
    let before = peak(serving.child.id());
    let mut idle = Vec::new();
    for number in 0..connections {
        let address = if number % 4 == 0 { http } else { &resp };
        idle.push(TcpStream::connect(address).unwrap());
        if number % 500 == 0 {
            is_answered();
        }
    }
    // Only RESP connections are counted, because idle HTTP ones may have timed out by now.
    let (line, count) = ("\nsluicegate_connections{protocol=\"resp\"}", connections * 3 / 4 + 1);
    eventually(|| metrics(http), |scrape| scrape.contains(&format!("{line} {count}\n")));
    is_answered();
    let grown = peak(serving.child.id()) - before;
    assert!(grown < MAX_BYTES, "{connections} connections take {grown} bytes");
    drop(idle);
    eventually(|| metrics(http), |scrape| scrape.contains(&format!("{line} 1\n")));
    is_answered();
}
