//! The word that it is time to stop, passed to everybody at once.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};

use tokio::sync::watch;

/// Says that it is time to stop.
#[derive(Debug)]
pub(crate) struct Stop {
    said: Arc<AtomicBool>,
    sender: watch::Sender<bool>,
}

/// Hears it.
#[derive(Debug, Clone)]
pub(crate) struct Stopping {
    /// The same word for those who only look, as they do with every request: without a lock.
    said: Arc<AtomicBool>,
    receiver: watch::Receiver<bool>,
}

impl Stop {
    pub(crate) fn new() -> (Self, Stopping) {
        let said = Arc::new(AtomicBool::new(false));
        let (sender, receiver) = watch::channel(false);
        (Self { said: Arc::clone(&said), sender }, Stopping { said, receiver })
    }

    pub(crate) fn begin(&self) {
        // First, so that whoever is woken finds it.
        self.said.store(true, Release);
        self.sender.send_replace(true);
    }
}

impl Stopping {
    /// Whether it was said.
    pub(crate) fn has_begun(&self) -> bool {
        self.said.load(Acquire)
    }

    /// Ready once it was said, or nobody is left to say it.
    pub(crate) async fn begun(&mut self) {
        let _ = self.receiver.wait_for(|stop| *stop).await;
    }
}
