//! The program as it is started, asked and stopped.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Output, Stdio};

fn tollgate(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
    command.args(arguments);
    for setting in ["HTTP", "LOG", "MEMORY_MAX", "SNAPSHOT", "SNAPSHOT_EVERY"] {
        command.env_remove(format!("TOLLGATE_{setting}"));
    }
    command
}

/// Runs to the end.
fn run(arguments: &[&str]) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = tollgate(arguments).output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

/// A server that is stopped with the test, however the test ends.
struct Serving {
    child: Child,
    stdout: BufReader<ChildStdout>,
    greeting: String,
}

impl Serving {
    fn start(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut greeting = String::new();
        while !greeting.contains("is refused)") {
            assert_ne!(stdout.read_line(&mut greeting).unwrap(), 0, "ended after: {greeting}");
        }
        Self { child, stdout, greeting }
    }

    /// The address and the body of the line to try.
    fn example(&self) -> (&str, &str) {
        let (_, line) = self.greeting.split_once("curl -i http://").unwrap();
        let (address, line) = line.split_once("/v1/throttle -d '").unwrap();
        (address, line.split_once('\'').unwrap().0)
    }

    /// Sends a signal and waits for the end: exit code, last lines and log.
    fn stop(mut self, signal: &str) -> (Option<i32>, String, String) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
        let (mut out, mut log) = (String::new(), String::new());
        self.stdout.read_to_string(&mut out).unwrap();
        self.child.stderr.take().unwrap().read_to_string(&mut log).unwrap();
        (self.child.wait().unwrap().code(), out, log)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The status of the answer to what curl sends for `curl -d body`.
fn status(address: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let length = body.len();
    let request = format!(
        "POST /v1/throttle HTTP/1.1\r\nHost: {address}\r\nAccept: */*\r\n\
         Content-Length: {length}\r\nContent-Type: application/x-www-form-urlencoded\r\n\
         Connection: close\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split(' ').nth(1).unwrap().to_owned()
}

#[test]
fn the_line_it_prints_works_and_the_sixth_is_refused() {
    let serving = Serving::start(tollgate(&["serve", "--http", "127.0.0.1:0"]));
    let (address, body) = serving.example();
    let first = serving.greeting.lines().next().unwrap();
    let version = env!("CARGO_PKG_VERSION");
    let listening = format!("tollgate {version}: listening on http://{address} (memory store)");
    assert_eq!(first, listening);
    let statuses: Vec<_> = (0..6).map(|_| status(address, body)).collect();
    assert_eq!(statuses, ["200", "200", "200", "200", "200", "429"]);
}

#[test]
fn it_stops_cleanly_when_terminated_or_interrupted() {
    for signal in ["-TERM", "-INT"] {
        let serving = Serving::start(tollgate(&["serve", "--http", "127.0.0.1:0"]));
        let (code, out, log) = serving.stop(signal);
        assert_eq!(code, Some(0), "{signal}");
        assert_eq!(out, "tollgate: stopped; every request was answered\n");
        assert!(log.contains("listening for http"), "{log}");
        assert!(!log.contains('\u{1b}'), "no colours where nobody sees them");
    }
}

#[test]
fn settings_may_come_from_the_environment() {
    let mut command = tollgate(&["serve"]);
    command.env("TOLLGATE_HTTP", "127.0.0.1:0").env("TOLLGATE_LOG", "off");
    let serving = Serving::start(command);
    assert_eq!(status(serving.example().0, serving.example().1), "200");
    let (code, _, log) = serving.stop("-TERM");
    assert_eq!((code, log.as_str()), (Some(0), ""));
}

/// A file of its own, removed with the test.
struct Snapshot(PathBuf);

impl Snapshot {
    fn new(test: &str) -> Self {
        let name = format!("tollgate-program-{test}-{}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    fn serve(&self, every: &str) -> Serving {
        let path = self.0.to_str().unwrap();
        let arguments = ["serve", "--http", "127.0.0.1:0", "--snapshot", path];
        let more = ["--snapshot-every", every, "--log", "info,tollgate=debug"];
        Serving::start(tollgate(&[&arguments[..], &more].concat()))
    }

    /// The line about this file, with the name of the file left out.
    fn line(&self, said: &str) -> String {
        let name = self.0.display().to_string();
        let lines: Vec<_> = said.lines().filter(|line| line.contains(&name)).collect();
        assert_eq!(lines.len(), 1, "one line about {name}, in: {said}");
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
    (0..count).map(|_| status(serving.example().0, TEN_AN_HOUR)).collect()
}

#[test]
fn what_was_spent_is_still_spent_after_a_restart() {
    let snapshot = Snapshot::new("restart");
    let serving = snapshot.serve("1h");
    let line = "tollgate: the snapshot FILE is not there yet; starting empty";
    assert_eq!(snapshot.line(&serving.greeting), line);
    assert_eq!(statuses(&serving, 4), ["200"; 4]);
    let (code, out, _) = serving.stop("-TERM");
    assert_eq!(code, Some(0));
    assert_eq!(snapshot.line(&out), "tollgate: saved 1 counter in the snapshot FILE");

    let serving = snapshot.serve("1h");
    let line = snapshot.line(&serving.greeting);
    assert!(line.starts_with("tollgate: restored 1 counter from the snapshot FILE, taken "));
    assert_eq!(statuses(&serving, 6), ["200"; 6]);
    assert_eq!(statuses(&serving, 1), ["429"]);
}

#[test]
fn a_crash_loses_what_came_after_the_last_snapshot_at_most() {
    let snapshot = Snapshot::new("crash");
    let mut serving = snapshot.serve("1s");
    assert_eq!(statuses(&serving, 4), ["200"; 4]);
    assert_eq!(status(serving.example().0, r#"{"key":"marker","quota":"1/h"}"#), "200");
    // The first that has the marker may have been begun before it; the second was not.
    let log = BufReader::new(serving.child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let marked = log.filter(|line| line.contains("snapshot taken counters=2 "));
    assert_eq!(marked.take(2).count(), 2);
    serving.child.kill().unwrap();
    serving.child.wait().unwrap();
    let serving = snapshot.serve("1h");
    assert_eq!(statuses(&serving, 6), ["200"; 6]);
    assert_eq!(statuses(&serving, 1), ["429"]);
}

#[test]
fn with_a_file_that_can_not_be_read_it_says_so_and_serves() {
    let snapshot = Snapshot::new("damaged");
    fs::write(&snapshot.0, "this is not what it should be, by any means whatsoever").unwrap();
    let serving = snapshot.serve("1h");
    assert_eq!(
        snapshot.line(&serving.greeting),
        "tollgate: cannot restore the snapshot FILE: it is not a snapshot of Tollgate; starting \
         empty, and the next snapshot replaces it"
    );
    assert_eq!(statuses(&serving, 1), ["200"]);
    assert_eq!(serving.stop("-TERM").0, Some(0));
    let serving = snapshot.serve("1h");
    assert!(snapshot.line(&serving.greeting).contains("restored 1 counter"));
}

#[test]
fn a_snapshot_that_can_not_be_written_is_an_error_in_the_end() {
    let folder = Snapshot::new("nowhere");
    let path = folder.0.join("snapshot");
    let arguments = ["serve", "--http", "127.0.0.1:0", "--snapshot", path.to_str().unwrap()];
    let serving = Serving::start(tollgate(&arguments));
    assert_eq!(statuses(&serving, 1), ["200"]);
    let (code, out, log) = serving.stop("-TERM");
    assert_eq!(code, Some(1));
    assert!(out.ends_with("tollgate: stopped; every request was answered\n"), "{out}");
    let line = format!("error: cannot write the snapshot {}: ", path.display());
    assert!(log.lines().last().unwrap().starts_with(&line), "{log}");
}

#[test]
fn who_can_not_start_leaves_the_snapshot_alone() {
    let snapshot = Snapshot::new("alone");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let path = snapshot.0.to_str().unwrap();
    let (code, _, _) = run(&["serve", "--http", &address, "--snapshot", path]);
    assert_eq!((code, snapshot.0.exists()), (Some(1), false));
}

#[test]
fn the_most_memory_is_what_was_asked_for() {
    let arguments = ["serve", "--http", "127.0.0.1:0", "--memory-max", "2MiB"];
    let serving = Serving::start(tollgate(&arguments));
    let mut stream = TcpStream::connect(serving.example().0).unwrap();
    let request = "GET /metrics HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).unwrap();
    let mut scrape = String::new();
    stream.read_to_string(&mut scrape).unwrap();
    assert!(scrape.contains("\ntollgate_store_max_bytes 2097152\n"), "{scrape}");
}

#[test]
fn a_port_in_use_is_said_with_a_way_out() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let (code, out, error) = run(&["serve", "--http", &address]);
    assert_eq!((code, out.as_str()), (Some(1), ""));
    assert_eq!(
        error,
        format!(
            "error: cannot listen on {address}: address already in use\n\
             hint: stop what listens there, or use --http 127.0.0.1:0 for any free port\n"
        )
    );
}

#[test]
fn nothing_to_listen_on_is_an_error() {
    let (code, _, error) = run(&["serve", "--http", "off"]);
    assert_eq!(code, Some(1));
    assert!(error.starts_with("error: nothing to listen on: --http is off\nhint: "), "{error}");
}

#[test]
fn what_cannot_be_meant_is_refused_before_anything_starts() {
    for (arguments, words) in [
        (&["serve", "--htp", "x"][..], "--http"),
        (&["serve", "--http", "localhost"], "use one as in 127.0.0.1:7070"),
        (&["serve", "--log", "loud"], "`loud` is not a level"),
        (&["serve", "--shutdown-timeout", "soon"], "--shutdown-timeout"),
        (&["serve", "--memory-max", "256M"], "as in 256MiB"),
        (&["serve", "--memory-max", "1000"], "use at least 1MiB"),
        (&["serve", "--snapshot-every", "often"], "as in 60s"),
        (&["serve", "--snapshot-every", "10ms"], "use at least 1s"),
        (&["sevre"], "serve"),
        (&[], "Usage"),
    ] {
        let (code, out, error) = run(arguments);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{arguments:?}");
        assert!(error.contains(words), "{arguments:?}: {error}");
    }
}

#[test]
fn the_version_and_the_help_are_printed() {
    let version = concat!("tollgate ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(run(&["--version"]), (Some(0), version.to_owned(), String::new()));
    let (code, help, _) = run(&["serve", "--help"]);
    assert_eq!(code, Some(0));
    for word in ["--http", "TOLLGATE_HTTP", "127.0.0.1:7070", "--log", "--shutdown-timeout"] {
        assert!(help.contains(word), "{word}");
    }
    for word in ["--memory-max", "TOLLGATE_MEMORY_MAX", "--snapshot", "--snapshot-every", "60s"] {
        assert!(help.contains(word), "{word}");
    }
}
