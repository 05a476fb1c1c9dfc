//! State that earlier releases wrote.
//!
//! `tests/fixtures/VERSION` has a rule file, a snapshot and a dump of Redis for each of them.
//!
//! `scripts/write-fixtures` writes the folder of the present version.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;
use sluicegate_testkit::{RespValue, Server, ServerKind, retry_if_stalled};

use super::http::post;
use super::program::{Folder, Serving, sluicegate};

/// Noon of 2026-11-19 in microseconds: the time of the fixtures.
const NOON: u64 = 1_795_089_600_000_000;

const RULES: [&str; 10] = [
    "bucket", "fraction", "leaky", "queue", "fixed", "weighted", "strict", "log", "slots", "logins",
];

/// Seconds after noon, and then the remaining units of `ann`, which used three of each limit (two
/// failures of `logins`), and of `bob`, which used ten (four slots, three failures).
const REMAINING: [(u64, [u64; 10], [u64; 10]); 3] = [
    (0, [7, 17, 7, 8, 7, 7, 7, 7, 1, 1], [0, 10, 0, 1, 0, 0, 0, 0, 0, 0]),
    // Two units of 10/min are back; none of 7/3m, windows, slots and failures.
    (12, [9, 17, 9, 10, 7, 7, 7, 7, 1, 1], [2, 10, 2, 3, 0, 0, 0, 0, 0, 0]),
    // 3.5 units of 7/3m are back, and half of the previous window counts.
    (90, [10, 20, 10, 11, 7, 8, 10, 10, 1, 1], [10, 13, 10, 11, 0, 5, 10, 10, 0, 0]),
];

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

/// A program on a clock that a test sets.
struct Node {
    serving: Serving,
    clock: PathBuf,
}

impl Node {
    fn start(folder: &Folder, rules: &Path, store: &[&str]) -> Self {
        let clock = folder.path().join("clock");
        fs::write(&clock, NOON.to_le_bytes()).unwrap();
        let rules = rules.to_str().unwrap();
        let mut command = sluicegate(&["serve", "--http", "127.0.0.1:0", "--config", rules]);
        command.args(store).env("SLUICEGATE_TEST_CLOCK", &clock);
        Self { serving: Serving::start(command), clock }
    }

    fn set_clock(&self, seconds: u64) {
        let micros = NOON + seconds * 1_000_000;
        fs::write(&self.clock, micros.to_le_bytes()).unwrap();
    }

    /// The answer to a check of this rule.
    fn check(&self, rule: &str, user: &str, cost: u64) -> Json {
        let body =
            format!(r#"{{"attributes":{{"path":"/{rule}","user":"{user}"}},"cost":{cost}}}"#);
        json(&post(&self.serving.address, "/v1/check", &body))
    }

    /// Uses some units of every limit as `ann`, and all that there are as `bob`.
    fn spend(&self) {
        for (user, times, failures) in [("ann", 3, 2), ("bob", 10, 3)] {
            for rule in RULES.into_iter().filter(|rule| *rule != "logins") {
                for _ in 0..times {
                    self.check(rule, user, 1);
                }
            }
            for _ in 0..failures {
                let attributes = format!(r#"{{"path":"/logins","user":"{user}"}}"#);
                let body = format!(r#"{{"attributes":{attributes},"failed":true}}"#);
                post(&self.serving.address, "/v1/report", &body);
            }
        }
    }

    /// Asserts the remaining units of every limit at each of the times.
    fn assert_remaining(&self, what: &str) {
        for (seconds, ann, bob) in REMAINING {
            self.set_clock(seconds);
            for (user, expected) in [("ann", ann), ("bob", bob)] {
                let answers = RULES.map(|rule| self.check(rule, user, 0));
                // `memory` is the deny cache, which answers only what the store would.
                let of_store = |by: Option<&Json>| by.is_none_or(|by| by == "memory");
                let by_store = answers.iter().all(|answer| of_store(answer.get("by")));
                assert!(by_store, "{what}: decided without the store: {answers:?}");
                let found = answers.each_ref().map(|answer| answer["remaining"].as_u64().unwrap());
                assert_eq!(found, expected, "{what}: {user} after {seconds} s of {RULES:?}");
            }
            let wait = &self.check("logins", "bob", 0)["retry_after_ms"];
            assert_eq!(*wait, (900 - seconds) * 1_000, "{what}: the block after {seconds} s");
        }
    }
}

fn json(answer: &str) -> Json {
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}"))
}

/// The folders of the releases.
fn releases() -> Vec<PathBuf> {
    let entries = fs::read_dir(fixtures()).unwrap().map(|entry| entry.unwrap().path());
    let mut releases: Vec<PathBuf> = entries.filter(|path| path.is_dir()).collect();
    releases.sort();
    assert!(!releases.is_empty());
    releases
}

#[test]
fn reads_the_snapshots_of_earlier_releases() {
    for release in releases() {
        let folder = Folder::new();
        let snapshot = folder.at("snapshot");
        // A copy, because the program writes it at its end.
        fs::copy(release.join("snapshot"), &snapshot).unwrap();
        let store = ["--store", "memory", "--snapshot", &snapshot];
        let node = Node::start(&folder, &release.join("rules.yaml"), &store);
        node.assert_remaining(&format!("the snapshot of {}", release.display()));
    }
}

#[test]
fn reads_the_redis_state_of_earlier_releases() {
    for release in releases() {
        for kind in ServerKind::ALL {
            retry_if_stalled(|| {
                let (server, folder) = (Server::setup(kind).start(), Folder::new());
                restore(&server, &fs::read_to_string(release.join("redis")).unwrap());
                let store = ["--store", &server.url()];
                let node = Node::start(&folder, &release.join("rules.yaml"), &store);
                node.assert_remaining(&format!("{kind:?} of {}", release.display()));
            });
        }
    }
}

/// Writes the folder of the present version, for `scripts/write-fixtures`.
#[test]
fn the_state_of_this_version_is_written_on_request() {
    if std::env::var_os("SLUICEGATE_WRITE_FIXTURES").is_none() {
        return;
    }
    let release = fixtures().join(env!("CARGO_PKG_VERSION"));
    let rules = release.join("rules.yaml");
    assert!(rules.is_file(), "copy the rule file of the previous release to {}", rules.display());
    let folder = Folder::new();
    let snapshot = folder.at("snapshot");
    let memory = Node::start(&folder, &rules, &["--store", "memory", "--snapshot", &snapshot]);
    memory.spend();
    memory.serving.stop("-TERM");
    fs::copy(&snapshot, release.join("snapshot")).unwrap();

    let server = Server::redis();
    let node = Node::start(&folder, &rules, &["--store", &server.url()]);
    node.spend();
    node.serving.stop("-TERM");
    fs::write(release.join("redis"), dump(&server)).unwrap();
}

/// All keys of a server as lines of `key value`, in hexadecimal digits, the value as of `DUMP`.
fn dump(server: &Server) -> String {
    let mut lines = String::new();
    for key in server.keys() {
        let RespValue::Text(value) = server.command(&[b"DUMP", key.as_slice()]) else { continue };
        writeln!(lines, "{} {}", hex(&key), hex(&value)).unwrap();
    }
    lines
}

/// Restores the lines of [`dump`], with lifetimes that are longer than the test.
fn restore(server: &Server, lines: &str) {
    assert!(!lines.is_empty());
    for line in lines.lines() {
        let (key, value) = line.split_once(' ').unwrap();
        let (key, value) = (bytes(key), bytes(value));
        let restored = server.command(&[b"RESTORE", key.as_slice(), b"86400000", &value]);
        assert_eq!(restored.text(), "OK");
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(digits).collect()
}
