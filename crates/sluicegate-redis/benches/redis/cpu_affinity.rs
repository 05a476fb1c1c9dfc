//! The cores that server and client run on.

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_setaffinity};
use sluicegate_testkit::Server;

const OF_THE_SERVER: usize = 0;
const OURS: usize = 1;

/// Pins this process, and those it starts, to one core.
pub(crate) fn keep_to_ours() {
    sched_setaffinity(None, &only(OURS)).unwrap();
}

/// Pins a server to its core.
pub(crate) fn keep_to_its_own(server: &Server) {
    let pid = Pid::from_raw(server.pid().cast_signed());
    sched_setaffinity(pid, &only(OF_THE_SERVER)).unwrap();
}

fn only(core: usize) -> CpuSet {
    let mut cores = CpuSet::new();
    cores.set(core);
    cores
}
