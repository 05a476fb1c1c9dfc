//! One server of a store: its batchers and their supervisor.

use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::batcher::Batcher;
use crate::connection::discovery::Discovery;
use crate::connection::heartbeat::Heartbeat;
use crate::connection::supervisor::Supervisor;
use crate::deny_cache::InvalidationEpoch;
use crate::server_status::ServerStatus;
use crate::shared::Shared;

/// The longest time that deregistering may take.
const TIMEOUT: Duration = Duration::from_millis(500);

/// One server of a store.
#[derive(Debug)]
pub(crate) struct ServerHandle {
    /// Unique among the servers of the store.
    pub(crate) number: u32,
    pub(crate) batcher: Arc<Batcher>,
    /// The batcher that waits for replicas, if the server can have some.
    strict: Option<Arc<Batcher>>,
    pub(crate) status: Arc<ServerStatus>,
    pub(crate) epoch: Arc<InvalidationEpoch>,
    /// Number of refunds in flight in the background.
    pub(crate) refunds_in_flight: AtomicUsize,
    leave: Arc<Notify>,
    supervisor: Mutex<Option<JoinHandle<()>>>,
}

impl ServerHandle {
    /// Starts to use a server, connecting in the background.
    pub(crate) fn start(
        shared: &Arc<Shared>,
        discovery: Discovery,
        heartbeat: impl FnOnce(u32) -> Heartbeat,
    ) -> Arc<Self> {
        let number = shared.next_server_id();
        let batcher = Arc::new(Batcher::new(shared));
        let strict = shared.has_replicas.then(|| Arc::new(batcher.strict()));
        let status = Arc::new(ServerStatus::new(shared.nodes, discovery.name()));
        let (epoch, leave) = (Arc::new(InvalidationEpoch::default()), Arc::new(Notify::new()));
        let supervisor = Supervisor {
            shared: Arc::clone(shared),
            discovery: Arc::new(discovery),
            heartbeat: heartbeat(number),
            batcher: Arc::clone(&batcher),
            strict: strict.clone(),
            status: Arc::clone(&status),
            epoch: Arc::clone(&epoch),
            leave: Arc::clone(&leave),
        };
        let supervisor = Mutex::new(Some(shared.runtime.spawn(supervisor.run())));
        let refunds_in_flight = AtomicUsize::new(0);
        Arc::new(Self {
            number,
            batcher,
            strict,
            status,
            epoch,
            refunds_in_flight,
            leave,
            supervisor,
        })
    }

    /// Removes this node from the server's list of nodes, if the server answers.
    pub(crate) async fn deregister(&self) {
        self.leave.notify_one();
        let supervisor = self.supervisor.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut supervisor) = supervisor
            && timeout(TIMEOUT, &mut supervisor).await.is_err()
        {
            supervisor.abort();
        }
    }

    /// Returns the batcher for sets that are strict or not.
    pub(crate) fn batcher(&self, strict: bool) -> &Arc<Batcher> {
        self.strict.as_ref().filter(|_| strict).unwrap_or(&self.batcher)
    }
}

impl Drop for ServerHandle {
    fn drop(&mut self) {
        // Deregisters this node, if the runtime lives on, and ends.
        self.leave.notify_one();
    }
}
