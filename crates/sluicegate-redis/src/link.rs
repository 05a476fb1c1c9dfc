//! One server as the store uses it: whoever carries sets there, and whoever looks after that.

use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::common::Common;
use crate::condition::Condition;
use crate::courier::Courier;
use crate::heartbeat::Heartbeat;
use crate::keeper::Keeper;
use crate::seen::Hearing;
use crate::whereabouts::Whereabouts;

/// How long deregistering may take.
const PATIENCE: Duration = Duration::from_millis(500);

/// One server as the store uses it.
#[derive(Debug)]
pub(crate) struct Link {
    /// No other link of the store has it.
    pub(crate) number: u32,
    pub(crate) courier: Arc<Courier>,
    /// Who waits for the server's replicas, if it can have some.
    strict: Option<Arc<Courier>>,
    pub(crate) condition: Arc<Condition>,
    pub(crate) hearing: Arc<Hearing>,
    /// How much is on its way that nobody waits for.
    pub(crate) telling: AtomicUsize,
    common: Arc<Common>,
    leave: Arc<Notify>,
    keeper: Mutex<Option<JoinHandle<()>>>,
}

impl Link {
    /// Begins to use a server; it is reached in the background.
    pub(crate) fn start(
        common: &Arc<Common>,
        whereabouts: Whereabouts,
        heartbeat: impl FnOnce(u32) -> Heartbeat,
    ) -> Arc<Self> {
        let number = common.next_link();
        let courier = Arc::new(Courier::new(common));
        let strict = common.has_replicas.then(|| Arc::new(courier.strict()));
        let condition = Arc::new(Condition::new(common.nodes, whereabouts.name()));
        let (hearing, leave) = (Arc::new(Hearing::default()), Arc::new(Notify::new()));
        let keeper = Keeper {
            common: Arc::clone(common),
            link: number,
            whereabouts: Arc::new(whereabouts),
            heartbeat: heartbeat(number),
            courier: Arc::clone(&courier),
            strict: strict.clone(),
            condition: Arc::clone(&condition),
            hearing: Arc::clone(&hearing),
            leave: Arc::clone(&leave),
        };
        let keeper = Mutex::new(Some(common.handle.spawn(keeper.keep())));
        let (telling, common) = (AtomicUsize::new(0), Arc::clone(common));
        Arc::new(Self {
            number,
            courier,
            strict,
            condition,
            hearing,
            telling,
            common,
            leave,
            keeper,
        })
    }

    /// Takes this node off the server's list of nodes, if the server answers.
    pub(crate) async fn deregister(&self) {
        self.leave.notify_one();
        let keeper = self.keeper.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut keeper) = keeper
            && timeout(PATIENCE, &mut keeper).await.is_err()
        {
            keeper.abort();
        }
    }

    /// Who carries sets, of which some may be strict.
    pub(crate) fn courier(&self, strict: bool) -> &Arc<Courier> {
        self.strict.as_ref().filter(|_| strict).unwrap_or(&self.courier)
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        // Deregisters this node, if the runtime lives on, and ends.
        self.leave.notify_one();
        // Nobody will ever know.
        self.common.owed.clear_doubts(self.number, false);
    }
}
