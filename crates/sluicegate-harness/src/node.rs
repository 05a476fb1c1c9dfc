//! One node: the program as a child, and a client for each of its listeners.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use sluicegate_testkit::{Connection, PATIENCE, wait_until};

use crate::client::{Answer, Descriptor, GrpcClient, HttpClient};

/// A running program. It ends when this value is dropped.
pub(crate) struct Node {
    child: Child,
    pub(crate) http: HttpClient,
    /// For requests while another one is in flight.
    probe: HttpClient,
    pub(crate) resp: Connection,
    /// Absent once the node is being ended.
    grpc: Option<GrpcClient>,
    log: std::path::PathBuf,
}

/// A program that was started and does not listen yet.
pub(crate) struct Starting {
    child: Child,
    log: std::path::PathBuf,
}

/// The configuration of a node.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Start<'a> {
    pub(crate) program: &'a Path,
    pub(crate) folder: &'a Path,
    pub(crate) number: usize,
    pub(crate) rules: &'a Path,
    pub(crate) clock: &'a Path,
    /// The URL of the shared store, if there is one.
    pub(crate) store: Option<&'a str>,
}

impl Starting {
    /// Starts the program with its defaults, but for ports and files.
    pub(crate) fn start(start: Start<'_>) -> Self {
        let log = start.folder.join(format!("node-{}.log", start.number));
        let errors = File::create(&log).expect("the folder can be written to");
        let mut command = Command::new(start.program);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("SLUICEGATE_") {
                command.env_remove(name);
            }
        }
        command.arg("serve").arg("--config").arg(start.rules);
        for listener in ["--http", "--grpc", "--resp"] {
            command.args([listener, "127.0.0.1:0"]);
        }
        if let Some(store) = start.store {
            command.args(["--store", store]);
        }
        command.env("SLUICEGATE_TEST_CLOCK", start.clock);
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(errors).spawn();
        let child = child
            .unwrap_or_else(|error| panic!("cannot start {}: {error}", start.program.display()));
        Self { child, log }
    }

    /// Waits until the program listens.
    pub(crate) fn listening(mut self) -> Result<Node, String> {
        let stdout = self.child.stdout.take().expect("the output is a pipe");
        let mut greeting = String::new();
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            greeting.push_str(&line);
            greeting.push('\n');
            if line.contains("listening on") {
                break;
            }
        }
        let address = |scheme: &str| -> Option<SocketAddr> {
            let (_, after) = greeting.split_once(&format!("{scheme}://"))?;
            after.split([' ', ',', '\n']).next()?.parse().ok()
        };
        let addresses = (address("http"), address("grpc"), address("redis"));
        let (Some(http), Some(grpc), Some(resp)) = addresses else {
            let _ = self.child.kill();
            let _ = self.child.wait();
            let log = fs::read_to_string(&self.log).unwrap_or_default();
            return Err(format!("the program did not start:\n{greeting}{log}"));
        };
        let resp = Connection::to(resp).map_err(|error| format!("no RESP connection: {error}"))?;
        Ok(Node {
            child: self.child,
            http: HttpClient::new(http),
            probe: HttpClient::new(http),
            resp,
            grpc: Some(GrpcClient::new(grpc)),
            log: self.log,
        })
    }
}

impl Node {
    /// Calls Envoy's rate limit service.
    pub(crate) fn call(&mut self, descriptors: Vec<Descriptor>) -> Result<Answer, String> {
        let client = self.grpc.as_mut().ok_or("the node has ended")?;
        client.call(descriptors)
    }

    /// The program's log.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Makes the program reload its rule file.
    pub(crate) fn hang_up(&self) {
        let _ = kill_process(Pid::from_child(&self.child), Signal::HUP);
    }

    /// Terminates the program with a signal, and waits until it has ended.
    pub(crate) fn terminate(mut self) {
        // The program would wait for open connections.
        self.http.close();
        self.probe.close();
        self.grpc = None;
        let child = Pid::from_child(&self.child);
        let _ = kill_process(child, Signal::TERM);
        let _ = self.child.wait();
    }

    /// All series of `/metrics` with their values.
    pub(crate) fn metrics(&mut self) -> Vec<(String, u64)> {
        let Ok(response) = self.probe.get("/metrics") else { return Vec::new() };
        let text = response.text();
        let series = text.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
            let (name, value) = line.rsplit_once(' ')?;
            Some((name.to_owned(), value.parse().ok()?))
        });
        series.collect()
    }

    pub(crate) fn metric(&mut self, name: &str) -> u64 {
        self.metrics().into_iter().find(|(one, _)| one == name).map_or(0, |(_, value)| value)
    }

    /// Waits until a series has at least this value.
    pub(crate) fn wait_for(&mut self, name: &str, value: u64) {
        wait_until(&format!("{name} reaches {value}"), PATIENCE, || self.metric(name) >= value);
    }

    /// The store as `/readyz` describes it.
    pub(crate) fn readiness(&mut self) -> Value {
        let response = self.probe.get("/readyz").ok();
        response.and_then(|it| serde_json::from_slice(&it.body).ok()).unwrap_or_default()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
