//! A server's process: its signals, its statistics, and its reliable termination.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::poll::wait_until;

/// Waits until its input ends, as it does when the test program ends in any way. Then it kills the
/// process `$0` and removes the files of the other arguments.
const GUARD: &str = r#"read -r _; kill -KILL "$0"; rm -rf "$@""#;

/// How long a signal may take to arrive; machines can be busy.
const SIGNALLED: Duration = Duration::from_secs(60);

/// A process that is killed on drop, or when the test program ends.
pub(crate) struct Process {
    child: Child,
    guard: Child,
}

impl Process {
    /// Starts it in `folder`; its output is appended to `log`.
    pub(crate) fn start(mut command: Command, folder: &Path, log: &Path) -> Self {
        let printed = File::options()
            .create(true)
            .append(true)
            .open(log)
            .unwrap_or_else(|error| panic!("could not open {}: {error}", log.display()));
        let errors = printed.try_clone().expect("an open file can be cloned");
        let child = command
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(printed)
            .stderr(errors)
            // Interrupting the tests must not affect the server; the guard ends it.
            .process_group(0)
            .spawn()
            .unwrap_or_else(|error| panic!("could not start {command:?}: {error}"));
        let guard = Command::new("sh")
            .args(["-c", GUARD, &child.id().to_string()])
            .arg(folder)
            .args(faketime_files(child.id()))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .unwrap_or_else(|error| panic!("could not start sh: {error}"));
        Self { child, guard }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Whether it has ended by itself.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().is_ok_and(|status| status.is_some())
    }

    /// Stops it; returns when it has stopped.
    pub(crate) fn pause(&self) {
        self.signal(Signal::STOP);
        wait_until("the server is paused", SIGNALLED, || self.is_paused());
    }

    /// Continues it; returns when it runs.
    pub(crate) fn resume(&self) {
        self.signal(Signal::CONT);
        wait_until("the server moves again", SIGNALLED, || !self.is_paused());
    }

    /// Whether it is stopped.
    pub(crate) fn is_paused(&self) -> bool {
        self.fields()[0] == "T"
    }

    /// Processor time used so far, by all of its threads, in user and kernel mode.
    pub(crate) fn cpu_time(&self) -> Duration {
        let fields = self.fields();
        let ticks = |field: usize| fields[field].parse::<u64>().expect("ticks are a number");
        let per_second = rustix::param::clock_ticks_per_second();
        Duration::from_nanos((ticks(11) + ticks(12)) * (1_000_000_000 / per_second))
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal)
            .unwrap_or_else(|error| panic!("could not signal the server: {error}"));
    }

    /// The fields of `/proc/<pid>/stat`, from the state on.
    fn fields(&self) -> Vec<String> {
        let file = format!("/proc/{}/stat", self.id());
        let line = fs::read_to_string(&file)
            .unwrap_or_else(|error| panic!("could not read {file}: {error}"));
        // The program's name precedes them in parentheses, and may contain any character.
        let (_, fields) = line.rsplit_once(')').expect("a line of this file has a name in it");
        fields.split_whitespace().map(str::to_owned).collect()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The guard first, because the id of an ended server may be reused.
        for process in [&mut self.guard, &mut self.child] {
            let _ = process.kill();
            let _ = process.wait();
        }
        for file in faketime_files(self.id()) {
            let _ = fs::remove_file(file);
        }
    }
}

/// Files that libfaketime shares between the processes of a program, and leaves behind on a kill.
fn faketime_files(process: u32) -> [String; 2] {
    ["faketime_shm_", "sem.faketime_sem_"].map(|name| format!("/dev/shm/{name}{process}"))
}
