//! The shutdown signal, sent to all threads and connections at once.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};

use tokio::sync::watch;

/// Sends the shutdown signal.
#[derive(Debug)]
pub(crate) struct Shutdown {
    has_begun: Arc<AtomicBool>,
    sender: watch::Sender<bool>,
}

/// Receives the shutdown signal.
#[derive(Debug, Clone)]
pub(crate) struct ShutdownSignal {
    /// The same state without a lock, because every request reads it.
    has_begun: Arc<AtomicBool>,
    receiver: watch::Receiver<bool>,
}

impl Shutdown {
    pub(crate) fn new() -> (Self, ShutdownSignal) {
        let has_begun = Arc::new(AtomicBool::new(false));
        let (sender, receiver) = watch::channel(false);
        (Self { has_begun: Arc::clone(&has_begun), sender }, ShutdownSignal { has_begun, receiver })
    }

    pub(crate) fn begin(&self) {
        // Before the send, so that a task that wakes up sees it.
        self.has_begun.store(true, Release);
        self.sender.send_replace(true);
    }
}

impl ShutdownSignal {
    /// Returns whether shutdown has begun.
    pub(crate) fn has_begun(&self) -> bool {
        self.has_begun.load(Acquire)
    }

    /// Waits until shutdown has begun, or the sender is dropped.
    pub(crate) async fn begun(&mut self) {
        let _ = self.receiver.wait_for(|begun| *begun).await;
    }
}
