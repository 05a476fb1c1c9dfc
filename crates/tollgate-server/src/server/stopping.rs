//! The word that it is time to stop, passed to everybody at once.

use tokio::sync::watch;

/// Says that it is time to stop.
#[derive(Debug)]
pub(crate) struct Stop(watch::Sender<bool>);

/// Hears it.
#[derive(Debug, Clone)]
pub(crate) struct Stopping(watch::Receiver<bool>);

impl Stop {
    pub(crate) fn new() -> (Self, Stopping) {
        let (sender, receiver) = watch::channel(false);
        (Self(sender), Stopping(receiver))
    }

    pub(crate) fn begin(&self) {
        self.0.send_replace(true);
    }
}

impl Stopping {
    /// Whether it was said.
    pub(crate) fn has_begun(&self) -> bool {
        *self.0.borrow()
    }

    /// Ready once it was said, or nobody is left to say it.
    pub(crate) async fn begun(&mut self) {
        let _ = self.0.wait_for(|stop| *stop).await;
    }
}
