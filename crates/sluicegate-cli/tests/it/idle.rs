//! Very many connections that nobody says anything on.

use std::fs;
use std::net::TcpStream;
use std::process::Command;

use super::eventually::eventually;
use super::http::{metrics, status};
use super::program::{Serving, sluicegate};
use super::tools::printed;

/// How many there are to be; as many as this process may have, if that is less.
const CONNECTIONS: u64 = 10_000;
/// What this process needs beside them, with other tests at the same time.
const OTHERS: u64 = 500;
/// How much larger they may make the server.
const MOST_BYTES: u64 = 100 * 1_024 * 1_024;

/// Lets this process have as many connections as it may, and what it starts; how many that are.
fn raise_limit() -> u64 {
    let id = std::process::id().to_string();
    let told = |limit: &str| -> u64 {
        let asked = ["--pid", &id, "--nofile", "--raw", "--noheadings", "--output", limit];
        let found = printed(Command::new("prlimit").args(asked));
        found.trim().parse().unwrap_or(u64::MAX)
    };
    let wanted = told("HARD").min(CONNECTIONS + OTHERS);
    if told("SOFT") < wanted {
        printed(Command::new("prlimit").args(["--pid", &id, &format!("--nofile={wanted}:")]));
    }
    wanted - OTHERS
}

/// How many bytes of memory a process has ever had.
fn peak(id: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1_024
}

#[test]
fn ten_thousand_idle_connections_are_in_nobodys_way() {
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
        let asked = redis::cmd("CL.THROTTLE").arg("a").arg(&[999, 1_000, 1]).query(&mut redis);
        let [limited, ..]: [i64; 5] = asked.unwrap();
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
    // Of those that speak HTTP some may have been silent for too long by now.
    let (line, those) = ("\nsluicegate_connections{protocol=\"resp\"}", connections * 3 / 4 + 1);
    eventually(|| metrics(http), |scrape| scrape.contains(&format!("{line} {those}\n")));
    is_answered();
    let grown = peak(serving.child.id()) - before;
    assert!(grown < MOST_BYTES, "{connections} connections take {grown} bytes");
    drop(idle);
    eventually(|| metrics(http), |scrape| scrape.contains(&format!("{line} 1\n")));
    is_answered();
}
