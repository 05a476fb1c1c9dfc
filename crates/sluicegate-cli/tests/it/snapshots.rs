//! Snapshots, which keep counters over a restart.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::PathBuf;

use super::http::status;
use super::program::{Serving, run, sluicegate};

/// The path of a snapshot, removed at the end of the test.
struct Snapshot(PathBuf);

impl Snapshot {
    fn new(test: &str) -> Self {
        let name = format!("sluicegate-program-{test}-{}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    fn serve(&self, every: &str) -> Serving {
        let path = self.0.to_str().unwrap();
        let arguments = ["serve", "--http", "127.0.0.1:0", "--snapshot", path];
        let more = ["--snapshot-every", every, "--log", "info,sluicegate=debug"];
        Serving::start(sluicegate(&[&arguments[..], &more].concat()))
    }

    /// The only line about this file, with its path replaced by `FILE`.
    fn line(&self, text: &str) -> String {
        let name = self.0.display().to_string();
        let lines: Vec<_> = text.lines().filter(|line| line.contains(&name)).collect();
        assert_eq!(lines.len(), 1, "one line about {name}, in: {text}");
        lines[0].replace(&name, "FILE")
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

const TEN_AN_HOUR: &str = r#"{"key":"user:42","quota":"10/h"}"#;

fn statuses(serving: &Serving, count: usize) -> Vec<String> {
    (0..count).map(|_| status(&serving.address, "/v1/throttle", TEN_AN_HOUR)).collect()
}

#[test]
fn used_units_stay_used_after_a_restart() {
    let snapshot = Snapshot::new("restart");
    let serving = snapshot.serve("1h");
    let line = "sluicegate: the snapshot FILE is not there yet; starting empty";
    assert_eq!(snapshot.line(&serving.greeting), line);
    assert_eq!(statuses(&serving, 4), ["200"; 4]);
    let (code, out, _) = serving.stop("-TERM");
    assert_eq!(code, Some(0));
    assert_eq!(snapshot.line(&out), "sluicegate: saved 1 counter in the snapshot FILE");

    let serving = snapshot.serve("1h");
    let line = snapshot.line(&serving.greeting);
    assert!(line.starts_with("sluicegate: restored 1 counter from the snapshot FILE, taken "));
    assert_eq!(statuses(&serving, 6), ["200"; 6]);
    assert_eq!(statuses(&serving, 1), ["429"]);
}

#[test]
fn a_crash_loses_only_units_since_the_last_snapshot() {
    let snapshot = Snapshot::new("crash");
    let mut serving = snapshot.serve("1s");
    assert_eq!(statuses(&serving, 4), ["200"; 4]);
    let marker = r#"{"key":"marker","quota":"1/h"}"#;
    assert_eq!(status(&serving.address, "/v1/throttle", marker), "200");
    // The first snapshot with the marker may have begun before it; the second has not.
    let log = BufReader::new(serving.child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let with_it = log.filter(|line| line.contains("snapshot taken counters=2 "));
    assert_eq!(with_it.take(2).count(), 2);
    serving.child.kill().unwrap();
    serving.child.wait().unwrap();
    let serving = snapshot.serve("1h");
    assert_eq!(statuses(&serving, 6), ["200"; 6]);
    assert_eq!(statuses(&serving, 1), ["429"]);
}

#[test]
fn starts_empty_with_an_unreadable_snapshot() {
    let snapshot = Snapshot::new("damaged");
    fs::write(&snapshot.0, "this is not what it should be, by any means whatsoever").unwrap();
    let serving = snapshot.serve("1h");
    assert_eq!(
        snapshot.line(&serving.greeting),
        "sluicegate: cannot restore the snapshot FILE: it is not a snapshot of Sluicegate; starting \
         empty, and the next snapshot replaces it"
    );
    assert_eq!(statuses(&serving, 1), ["200"]);
    assert_eq!(serving.stop("-TERM").0, Some(0));
    let serving = snapshot.serve("1h");
    assert!(snapshot.line(&serving.greeting).contains("restored 1 counter"));
}

#[test]
fn an_unwritable_snapshot_is_an_error_at_the_end() {
    let folder = Snapshot::new("nowhere");
    let path = folder.0.join("snapshot");
    let arguments = ["serve", "--http", "127.0.0.1:0", "--snapshot", path.to_str().unwrap()];
    let serving = Serving::start(sluicegate(&arguments));
    assert_eq!(statuses(&serving, 1), ["200"]);
    let (code, out, log) = serving.stop("-TERM");
    assert_eq!(code, Some(1));
    assert!(out.ends_with("sluicegate: stopped; every request was answered\n"), "{out}");
    let line = format!("error: cannot write the snapshot {}: ", path.display());
    assert!(log.lines().last().unwrap().starts_with(&line), "{log}");
}

#[test]
fn a_failed_start_leaves_the_snapshot_untouched() {
    let snapshot = Snapshot::new("alone");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let path = snapshot.0.to_str().unwrap();
    let (code, _, _) = run(&["serve", "--http", &address, "--snapshot", path]);
    assert_eq!((code, snapshot.0.exists()), (Some(1), false));
}
