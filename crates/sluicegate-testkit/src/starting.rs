//! Several servers that belong together, started at the same time.

use std::thread;
use std::time::Duration;

use crate::server::Server;
use crate::setup::Setup;
use crate::waiting::wait_until;

/// How long a first copy may take; machines can be busy.
const COPYING: Duration = Duration::from_secs(60);

/// So many servers of one setup.
pub(crate) fn start_all(setup: &Setup, count: usize) -> Vec<Server> {
    thread::scope(|scope| {
        let begun: Vec<_> = (0..count).map(|_| scope.spawn(|| setup.clone().start())).collect();
        let failed = |_| panic!("a server could not be started; its message is above");
        begun.into_iter().map(|server| server.join().unwrap_or_else(failed)).collect()
    })
}

/// Returns once each has a copy of what its primary holds.
pub(crate) fn wait_for_copies<'a>(replicas: impl Iterator<Item = &'a Server>) {
    for replica in replicas {
        wait_until("a replica has its first copy", COPYING, || replica.copies_from().is_some());
    }
}
