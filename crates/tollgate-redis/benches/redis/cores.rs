//! Who runs on which core: the server has one for itself, as it would have in earnest.

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_setaffinity};
use tollgate_testbed::{Kind, Server};

const OF_THE_SERVER: usize = 0;
const OURS: usize = 1;

/// This process, and what it starts, keep to one core.
pub(crate) fn keep_to_ours() {
    sched_setaffinity(None, &only(OURS)).unwrap();
}

/// A server with a core of its own.
pub(crate) fn start(kind: Kind) -> Server {
    let server = Server::setup(kind).start();
    let pid = Pid::from_raw(server.pid().cast_signed());
    sched_setaffinity(pid, &only(OF_THE_SERVER)).unwrap();
    server
}

fn only(core: usize) -> CpuSet {
    let mut cores = CpuSet::new();
    cores.set(core);
    cores
}
