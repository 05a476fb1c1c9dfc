//! The server threads, each with its own runtime.

use std::io;
use std::sync::Arc;
use std::thread;

use tokio::runtime::Builder;
use tokio::sync::oneshot;

use super::listeners::Listeners;
use super::shutdown::ShutdownSignal;
use super::{Drained, Server, worker};
use crate::store_stats::StoreStats;

/// The running threads; each serves until shutdown.
pub(super) struct Threads {
    outcomes: Vec<oneshot::Receiver<io::Result<Drained>>>,
}

impl Threads {
    pub(super) fn start<S: StoreStats>(
        server: &Arc<Server<S>>,
        listeners: Vec<Listeners>,
        signal: &ShutdownSignal,
    ) -> io::Result<Self> {
        let mut outcomes = Vec::with_capacity(listeners.len());
        for (number, listeners) in listeners.into_iter().enumerate() {
            let runtime = Builder::new_current_thread().enable_all().build()?;
            let (server, signal) = (Arc::clone(server), signal.clone());
            let (sender, ended) = oneshot::channel();
            thread::Builder::new().name(format!("serving-{number}")).spawn(move || {
                let drained = runtime.block_on(worker::run(server, listeners, signal));
                // The receiver may be gone.
                let _ = sender.send(drained);
            })?;
            outcomes.push(ended);
        }
        Ok(Self { outcomes })
    }

    /// Waits until every thread has ended, and returns the outcome for all connections.
    pub(super) async fn join(self) -> io::Result<Drained> {
        let mut all = Drained::All;
        for ended in self.outcomes {
            let panicked = |_| Err(io::Error::other("a server thread has panicked"));
            all = all.and(ended.await.unwrap_or_else(panicked)?);
        }
        Ok(all)
    }
}
