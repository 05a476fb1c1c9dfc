//! The client of one server: its batchers and their supervisor.

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
use crate::connectivity::Connectivity;
use crate::deny_cache::InvalidationEpoch;
use crate::store_context::StoreContext;

/// The longest time that deregistering may take.
const TIMEOUT: Duration = Duration::from_millis(500);

/// The client of one server of a store.
#[derive(Debug)]
pub(crate) struct ServerClient {
    /// Unique among the servers of the store.
    pub(crate) number: u32,
    pub(crate) batcher: Arc<Batcher>,
    /// The batcher that waits for replicas, if the server can have some.
    strict: Option<Arc<Batcher>>,
    pub(crate) connectivity: Arc<Connectivity>,
    pub(crate) epoch: Arc<InvalidationEpoch>,
    /// Number of refunds in flight in the background.
    pub(crate) refunds_in_flight: AtomicUsize,
    leave: Arc<Notify>,
    supervisor: Mutex<Option<JoinHandle<()>>>,
}

impl ServerClient {
    /// Starts to use a server, connecting in the background.
    pub(crate) fn start(
        context: &Arc<StoreContext>,
        discovery: Discovery,
        heartbeat: impl FnOnce(u32) -> Heartbeat,
    ) -> Arc<Self> {
        let number = context.next_server_id();
        let batcher = Arc::new(Batcher::new(context));
        let strict = context.has_replicas.then(|| Arc::new(batcher.strict()));
        let connectivity = Arc::new(Connectivity::new(context.nodes, discovery.name()));
        let (epoch, leave) = (Arc::new(InvalidationEpoch::default()), Arc::new(Notify::new()));
        let supervisor = Supervisor {
            context: Arc::clone(context),
            discovery: Arc::new(discovery),
            heartbeat: heartbeat(number),
            batcher: Arc::clone(&batcher),
            strict: strict.clone(),
            connectivity: Arc::clone(&connectivity),
            epoch: Arc::clone(&epoch),
            leave: Arc::clone(&leave),
        };
        let supervisor = Mutex::new(Some(context.runtime.spawn(supervisor.run())));
        let refunds_in_flight = AtomicUsize::new(0);
        Arc::new(Self {
            number,
            batcher,
            strict,
            connectivity,
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

impl Drop for ServerClient {
    fn drop(&mut self) {
        // Deregisters this node, if the runtime lives on, and ends.
        self.leave.notify_one();
    }
}
