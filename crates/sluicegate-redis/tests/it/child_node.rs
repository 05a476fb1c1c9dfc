//! A node in a process of its own, which can be killed or have another clock: this test program,
//! started again with one task.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{self, ChildStdout, Command, Stdio};
use std::time::Duration;

use sluicegate::{Limiter, Plan, TryHold};
use sluicegate_conformance::limits::every_algorithm;
use sluicegate_core::{Check, Limit, Span};
use sluicegate_testkit::PATIENCE;

use crate::fault_trial::let_pass;
use crate::harness::{TestBed, options};

const URL: &str = "SLUICEGATE_CHILD_URL";
const TASK: &str = "SLUICEGATE_CHILD_ERRAND";
const KEY: &str = "SLUICEGATE_CHILD_KEY";
/// The test that runs the task.
const TEST: &str = "child_node::child_task";

/// The task of a child process.
#[derive(Clone, Copy)]
pub(crate) enum ChildTask<'a> {
    /// Check this key, a dozen times for every kind of limit, and print the decisions.
    Decide { key: &'a str },
    /// Take all slots of this key, report that, and never release them.
    Hold { key: &'a str },
}

pub(crate) const SLOTS: u32 = 3;
pub(crate) const LEASE: Span = Span::from_secs(2);

pub(crate) fn slots() -> Limit {
    Limit::concurrency("slots", SLOTS, LEASE).unwrap()
}

/// A node in a process of its own; killed on drop.
pub(crate) struct Child {
    process: process::Child,
    output: BufReader<ChildStdout>,
}

impl Child {
    /// Starts it on the server at `url`, with this clock offset.
    pub(crate) fn start(url: &str, task: ChildTask<'_>, clock: Option<&str>) -> Self {
        let (task, key) = match task {
            ChildTask::Decide { key } => ("decide", key),
            ChildTask::Hold { key } => ("hold", key),
        };
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args([TEST, "--exact", "--nocapture", "--test-threads=1"]);
        command.env(URL, url).env(TASK, task).env(KEY, key).stdout(Stdio::piped());
        if let Some(shift) = clock {
            command.env("LD_PRELOAD", faketime()).env("FAKETIME", shift);
            command.env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
        }
        let mut process = command.spawn().unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        Self { process, output }
    }

    /// Returns all output, once it has ended.
    pub(crate) fn said(mut self) -> String {
        let mut all = String::new();
        self.output.read_to_string(&mut all).unwrap();
        let said = all.lines().filter_map(|line| line.split_once("said ").map(|(_, said)| said));
        said.collect::<Vec<_>>().join("\n")
    }

    /// Waits until it has printed this.
    pub(crate) fn wait_for(&mut self, what: &str) {
        let mut lines = (&mut self.output).lines().map_while(Result::ok);
        assert!(lines.any(|line| line.contains(what)), "the child never said {what}");
    }

    /// Kills it.
    pub(crate) fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The library that shifts a program's clock.
fn faketime() -> PathBuf {
    let folders = fs::read_dir("/usr/lib").unwrap().flatten().map(|entry| entry.path());
    let mut libraries = folders.map(|folder| folder.join("faketime/libfaketime.so.1"));
    libraries.find(|library| library.is_file()).expect("run ./scripts/tools to install libfaketime")
}

/// Does nothing unless this process is such a child.
#[test]
#[allow(clippy::print_stdout, reason = "its output goes to the parent process")]
fn child_task() {
    let Some(task) = std::env::var_os(TASK) else { return };
    let (url, key) = (std::env::var(URL).unwrap(), std::env::var(KEY).unwrap());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let _within = runtime.enter();
    let options = options(&url).deadline(Duration::from_secs(1)).unwrap();
    let limiter = Limiter::new(sluicegate_redis::Redis::start(options).unwrap());
    assert!(runtime.block_on(limiter.store().wait_until_connected(PATIENCE)));
    if task == "hold" {
        let limit = slots();
        let held: Vec<TryHold<_>> = (0..SLOTS)
            .map(|_| {
                runtime.block_on(limiter.hold(Check::new(&limit, &key)).into_future()).unwrap()
            })
            .collect();
        assert!(held.iter().all(|hold| matches!(hold, TryHold::Held(_))));
        println!("said holding");
        let_pass(Duration::from_secs(60));
        return;
    }
    // As slow as possible, so that the clock offset cannot show in the decisions.
    for limit in every_algorithm(10, "100d") {
        for _ in 0..12 {
            let mut plan = Plan::new();
            plan.require(Check::new(&limit, &key));
            let verdict = runtime.block_on(limiter.check_plan(&plan).into_future()).unwrap();
            let decision = verdict.decisions()[0].unwrap();
            let (allowed, by) = (decision.is_allowed(), verdict.by().as_str());
            // Whether the server refuses or the deny cache depends on the time.
            let by = if by == "memory" { "store" } else { by };
            println!("said {} {allowed} {} {by}", limit.name(), decision.remaining());
        }
    }
}

/// Allows a harness to provide what a child needs.
impl TestBed {
    pub(crate) fn child(&self, task: ChildTask<'_>) -> Child {
        Child::start(&self.server.url(), task, None)
    }
}
