//! The program as it is started, asked and stopped.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, ChildStdout, Command, Output, Stdio};

fn tollgate(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
    command.args(arguments).env_remove("TOLLGATE_HTTP").env_remove("TOLLGATE_LOG");
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
}
