//! The threads that connections are served on, a runtime for each.

use std::io;
use std::sync::Arc;
use std::thread;

use tokio::runtime::Builder;
use tokio::sync::oneshot;

use super::listeners::Listeners;
use super::stopping::Stopping;
use super::{Drained, Server, worker};
use crate::measured::Measured;

/// Threads that serve, each until it is told to stop.
pub(super) struct Threads {
    ends: Vec<oneshot::Receiver<io::Result<Drained>>>,
}

impl Threads {
    pub(super) fn start<S: Measured>(
        server: &Arc<Server<S>>,
        listeners: Vec<Listeners>,
        stopping: &Stopping,
    ) -> io::Result<Self> {
        let mut ends = Vec::with_capacity(listeners.len());
        for (number, listeners) in listeners.into_iter().enumerate() {
            let runtime = Builder::new_current_thread().enable_all().build()?;
            let (server, stopping) = (Arc::clone(server), stopping.clone());
            let (end, ended) = oneshot::channel();
            thread::Builder::new().name(format!("serving-{number}")).spawn(move || {
                let drained = runtime.block_on(worker::work(server, listeners, stopping));
                // Whoever waits for it may have gone.
                let _ = end.send(drained);
            })?;
            ends.push(ended);
        }
        Ok(Self { ends })
    }

    /// What became of all connections, once every thread has ended.
    pub(super) async fn ended(self) -> io::Result<Drained> {
        let mut all = Drained::All;
        for ended in self.ends {
            let died = |_| Err(io::Error::other("a thread that served has died"));
            all = all.and(ended.await.unwrap_or_else(died)?);
        }
        Ok(all)
    }
}
