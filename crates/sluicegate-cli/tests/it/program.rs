//! The program as a child process.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

pub(super) fn sluicegate(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sluicegate"));
    command.args(arguments).env_remove("NO_COLOR");
    for setting in [
        "CONFIG",
        "GRPC_REFLECTION",
        "HTTP",
        "LOG",
        "MAX_CONNECTIONS",
        "MEMORY_MAX",
        "NODE",
        "RESP_PASSWORD_FILE",
        "SENTINEL_PASSWORD",
        "SENTINEL_PASSWORD_FILE",
        "SNAPSHOT",
        "SNAPSHOT_EVERY",
        "STORE",
        "STORE_PASSWORD",
        "STORE_PASSWORD_FILE",
        "THREADS",
        "TRACE",
    ] {
        command.env_remove(format!("SLUICEGATE_{setting}"));
    }
    // Free ports, because several servers run concurrently.
    for protocol in ["GRPC", "RESP"] {
        command.env(format!("SLUICEGATE_{protocol}"), "127.0.0.1:0");
    }
    command
}

/// Runs the program. Returns exit code, standard output and standard error.
pub(super) fn run(arguments: &[&str]) -> (Option<i32>, String, String) {
    ended(&mut sluicegate(arguments))
}

pub(super) fn ended(command: &mut Command) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = command.output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

/// A server that is killed at the end of the test.
pub(super) struct Serving {
    pub(super) child: Child,
    stdout: BufReader<ChildStdout>,
    pub(super) greeting: String,
    /// The HTTP address.
    pub(super) address: String,
}

impl Serving {
    pub(super) fn start(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut greeting = String::new();
        while !["is refused)\n", "PROXY header"].iter().any(|last| greeting.contains(last)) {
            if stdout.read_line(&mut greeting).unwrap() == 0 {
                let mut log = String::new();
                child.stderr.take().unwrap().read_to_string(&mut log).unwrap();
                panic!("ended after: {greeting}\n{log}");
            }
        }
        let address = listens(&greeting, "http");
        Self { child, stdout, greeting, address }
    }

    /// The address for a scheme: `http`, `grpc` or `redis`.
    pub(super) fn listens(&self, scheme: &str) -> String {
        listens(&self.greeting, scheme)
    }

    /// The address and the body of an example command.
    pub(super) fn example(&self, endpoint: &str) -> (&str, &str) {
        let (before, line) = self.greeting.split_once(&format!("/v1/{endpoint} -d '")).unwrap();
        let address = before.rsplit_once("curl -i http://").unwrap().1;
        (address, line.split_once('\'').unwrap().0)
    }

    pub(super) fn signal(&self, signal: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    }

    /// Sends a signal and waits for the end. Returns exit code, last lines and log.
    pub(super) fn stop(mut self, signal: &str) -> (Option<i32>, String, String) {
        self.signal(signal);
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

/// A temporary folder, removed at the end of the test.
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn new() -> Self {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let made = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("sluicegate-program-{}-{made}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// The path of an entry.
    pub(super) fn at(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    /// Writes a file in place. Returns its path.
    pub(super) fn write(&self, name: &str, text: &str) -> String {
        let path = self.at(name);
        fs::create_dir_all(Path::new(&path).parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn listens(greeting: &str, scheme: &str) -> String {
    let (_, address) = greeting.split_once(&format!("{scheme}://")).unwrap_or_default();
    address.split([' ', ',']).next().unwrap_or_default().to_owned()
}
