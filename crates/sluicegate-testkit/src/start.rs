//! Starts several servers of a group concurrently.

use std::thread;
use std::time::Duration;

use crate::poll::wait_until;
use crate::server::Server;
use crate::server::builder::ServerBuilder;

/// How long a first copy may take; machines can be busy.
const COPYING: Duration = Duration::from_secs(60);

/// This number of servers with the same settings.
pub(crate) fn start_all(setup: &ServerBuilder, count: usize) -> Vec<Server> {
    thread::scope(|scope| {
        let begun: Vec<_> = (0..count).map(|_| scope.spawn(|| setup.clone().start())).collect();
        let failed = |_| panic!("a server could not be started; its message is above");
        begun.into_iter().map(|server| server.join().unwrap_or_else(failed)).collect()
    })
}

/// Waits until each server has a copy of its primary's data.
pub(crate) fn wait_for_copies<'a>(replicas: impl Iterator<Item = &'a Server>) {
    for replica in replicas {
        wait_until("a replica has its first copy", COPYING, || replica.copies_from().is_some());
    }
}
