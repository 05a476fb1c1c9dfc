//! How one server is doing, for whoever asks.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use tokio::time::Instant;

use crate::event::{Part, ServerInfo};
use crate::failure::{Class, Failure};

/// How one server is doing.
#[derive(Debug)]
pub(crate) struct Condition {
    known: Mutex<Known>,
    nodes: AtomicU32,
    up: watch::Sender<bool>,
}

#[derive(Debug)]
struct Known {
    since: Instant,
    why: Option<String>,
    /// Whether it has been told that only a person can help.
    refused: bool,
    server: Option<ServerInfo>,
    /// Where it was looked for last.
    address: String,
}

impl Condition {
    pub(crate) fn new(nodes: u32, address: String) -> Self {
        let why = Some(String::from("it has not been reached yet"));
        let known = Known { since: Instant::now(), why, refused: false, server: None, address };
        let (known, nodes) = (Mutex::new(known), AtomicU32::new(nodes));
        Self { known, nodes, up: watch::Sender::new(false) }
    }

    /// How many nodes it knows.
    pub(crate) fn nodes(&self) -> u32 {
        self.nodes.load(Ordering::Relaxed)
    }

    pub(crate) fn set_nodes(&self, nodes: u32) {
        self.nodes.store(nodes, Ordering::Relaxed);
    }

    pub(crate) fn is_up(&self) -> bool {
        *self.up.borrow()
    }

    /// Whether it is up, and there.
    pub(crate) fn is_up_at(&self, address: &str) -> bool {
        self.is_up() && self.known().address == address
    }

    /// Waits until it has been reached.
    pub(crate) async fn reached(&self) {
        // Whoever sends lives as long as this does.
        let _ = self.up.subscribe().wait_for(|up| *up).await;
    }

    pub(crate) fn part(&self) -> Part {
        let Known { since, why, server, address, .. } = &*self.known();
        Part {
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

    pub(crate) fn look_at(&self, address: String) {
        self.known().address = address;
    }

    /// It answers from now on; which server it is.
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

    /// It does not answer; whether that is to be told. It is, once; and once more if only a person
    /// can help, because who is shut out often first sees nothing but a connection that is closed.
    pub(crate) fn set_down(&self, failure: &Failure) -> bool {
        let is_news = {
            let mut known = self.known();
            let refused = failure.class == Class::Refused;
            let unheard = known.server.is_none() && known.why.as_ref() != Some(&failure.why);
            let is_news = known.why.is_none() || unheard || refused && !known.refused;
            known.refused |= refused;
            if known.why.is_none() {
                known.since = Instant::now();
            }
            if is_news || failure.class != Class::Down {
                known.why = Some(failure.why.clone());
            }
            is_news
        };
        self.up.send_replace(false);
        is_news
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
