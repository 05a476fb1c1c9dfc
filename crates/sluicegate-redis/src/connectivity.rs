//! Whether a server is up, why not, and since when.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use tokio::time::Instant;

use crate::error::{ErrorKind, ServerError};
use crate::event::{ServerHealth, ServerInfo};

/// Whether a server is up, why not, and since when; and the number of nodes it has registered.
#[derive(Debug)]
pub(crate) struct Connectivity {
    known: Mutex<ConnectivityFields>,
    nodes: AtomicU32,
    up: watch::Sender<bool>,
}

#[derive(Debug)]
struct ConnectivityFields {
    since: Instant,
    why: Option<String>,
    /// Whether an event has reported that the server refuses this node.
    refused: bool,
    server: Option<ServerInfo>,
    /// The address that was tried last.
    address: String,
}

impl Connectivity {
    pub(crate) fn new(nodes: u32, address: String) -> Self {
        let why = Some(String::from("not connected yet"));
        let known = ConnectivityFields {
            since: Instant::now(),
            why,
            refused: false,
            server: None,
            address,
        };
        let (known, nodes) = (Mutex::new(known), AtomicU32::new(nodes));
        Self { known, nodes, up: watch::Sender::new(false) }
    }

    /// How many nodes the server has registered.
    pub(crate) fn nodes(&self) -> u32 {
        self.nodes.load(Ordering::Relaxed)
    }

    pub(crate) fn set_nodes(&self, nodes: u32) {
        self.nodes.store(nodes, Ordering::Relaxed);
    }

    pub(crate) fn is_up(&self) -> bool {
        *self.up.borrow()
    }

    /// Whether the server is up at this address.
    pub(crate) fn is_up_at(&self, address: &str) -> bool {
        self.is_up() && self.known().address == address
    }

    /// Waits until the server has been reached.
    pub(crate) async fn wait_until_connected(&self) {
        // The sender lives as long as `self`.
        let _ = self.up.subscribe().wait_for(|up| *up).await;
    }

    pub(crate) fn health(&self) -> ServerHealth {
        let ConnectivityFields { since, why, server, address, .. } = &*self.known();
        ServerHealth {
            address: address.clone(),
            up: why.is_none(),
            since: since.elapsed(),
            why: why.clone(),
            server: server.clone(),
            slots: None,
        }
    }

    pub(crate) fn address(&self) -> String {
        self.known().address.clone()
    }

    pub(crate) fn set_address(&self, address: String) {
        self.known().address = address;
    }

    /// Marks the server as up. Returns which server it is.
    pub(crate) fn set_up(&self, server: Option<ServerInfo>) -> Option<ServerInfo> {
        let server = {
            let mut known = self.known();
            known.why = None;
            known.refused = false;
            known.since = Instant::now();
            known.server = server.or_else(|| known.server.take());
            known.server.clone()
        };
        self.up.send_replace(true);
        server
    }

    /// Marks the server as down. Returns whether to emit an event: on the first failure, and again
    /// when the cause turns out to be authentication (servers often just close the connection
    /// first).
    pub(crate) fn set_down(&self, failure: &ServerError) -> bool {
        let is_news = {
            let mut known = self.known();
            let refused = failure.class == ErrorKind::Refused;
            let is_new_cause = known.server.is_none() && known.why.as_ref() != Some(&failure.why);
            let is_news = known.why.is_none() || is_new_cause || refused && !known.refused;
            known.refused |= refused;
            if known.why.is_none() {
                known.since = Instant::now();
            }
            if is_news || failure.class != ErrorKind::Down {
                known.why = Some(failure.why.clone());
            }
            is_news
        };
        self.up.send_replace(false);
        is_news
    }

    fn known(&self) -> MutexGuard<'_, ConnectivityFields> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
