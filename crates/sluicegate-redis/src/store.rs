//! The store: decides sets on the shared server, with a deny cache before and a fallback behind it.

mod apply_batch;
mod background_refund;
mod cross_slot;
mod deny;
mod fallback;
mod mixed_scope;
mod replay;
mod subset;

use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use sluicegate::{Applied, Batch, CheckError, Clock, Memory, Store};
use sluicegate_core::{Check, Decision, Operation, Ruling, Scope, Set, State};
use smallvec::SmallVec;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

use self::mixed_scope::ScopeSplit;
use self::subset::Subset;
use crate::batcher::BatchReply;
use crate::clock::StoreClock;
use crate::deny_cache::{DenyCache, ObservedAt};
use crate::error::{ErrorKind, ServerError};
use crate::event::Health;
use crate::options::{Options, OptionsError};
use crate::passed_over_warning::PassedOverWarning;
use crate::pending_charges::PendingCharges;
use crate::script::{self, Counter, EncodedSet, KeySpace, SetReply, cells_of};
use crate::stats::{StatCounters, Stats};
use crate::store_context::StoreContext;
use crate::topology::{SetRoute, Topology};

/// State in Redis or Valkey, shared by all nodes that use the same server and prefix.
///
/// Every set is decided by one script on the server, at the server's time and atomically. If the
/// server is unavailable, each check follows its [`OnStoreError`](sluicegate_core::OnStoreError)
/// policy.
///
/// ```no_run
/// use sluicegate::{Check, Limit, Limiter};
/// use sluicegate_redis::{Options, Redis};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let store = Redis::start(Options::new("redis://127.0.0.1:6379")?)?;
/// let limiter = Limiter::new(store);
/// let per_user = Limit::token_bucket("per-user", "100/min burst 20".parse()?)?;
/// let decision = limiter.check(Check::new(&per_user, "user:42")).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Redis {
    context: Arc<StoreContext>,
    topology: Arc<Topology>,
    /// Counters of this node alone, and of all checks while the server is unavailable.
    memory: Memory<StoreClock>,
    uses_deny_cache: bool,
}

impl Redis {
    /// Starts to use a server, or those of a cluster, on the current tokio runtime.
    ///
    /// The connections are opened in the background: until then, and whenever a server is
    /// unavailable, checks are answered without it.
    #[allow(clippy::needless_pass_by_value, reason = "secrets are handed over, not lent")]
    pub fn start(options: Options) -> Result<Self, OptionsError> {
        let runtime = Handle::try_current().map_err(|_| OptionsError::NoRuntime)?;
        let clock = StoreClock::new(options.driven.clone());
        let memory = options.memory.clone().build_with(clock.clone());
        let memory = memory.map_err(|error| OptionsError::Memory { why: error.to_string() })?;
        let context = Arc::new(StoreContext {
            runtime,
            deadline: options.deadline,
            clock,
            counters: StatCounters::default(),
            key_space: KeySpace::new(&options.prefix, options.secret, options.page_bits),
            deny_cache: DenyCache::new(),
            pending: PendingCharges::default(),
            nodes: options.nodes,
            on_event: options.on_event.clone(),
            has_replicas: options.has_replicas(),
            map_stale: Notify::new(),
            server_ids: AtomicU32::new(0),
            passed_over: PassedOverWarning::default(),
            origin: Instant::now(),
        });
        let topology = Arc::new(Topology::start(&context, &options)?);
        Ok(Self { context, topology, memory, uses_deny_cache: options.deny_cache })
    }

    /// Waits until the server, or every server of a cluster, has been reached.
    ///
    /// Returns `false` if that takes longer than `patience`.
    pub async fn wait_until_connected(&self, patience: Duration) -> bool {
        timeout(patience, self.topology.wait_until_connected()).await.is_ok()
    }

    /// Deregisters this node, so that the other nodes get its share at once.
    ///
    /// To be called after the last decision. A store that is dropped deregisters as well if its
    /// runtime lives on; a node that is killed counts until it has sent no heartbeat for some
    /// seconds.
    pub async fn deregister(&self) {
        self.context.warn_if_passed_over();
        self.topology.deregister().await;
    }

    /// Returns the health of the store.
    pub fn health(&self) -> Health {
        self.topology.health(&self.context)
    }

    /// Returns counters of what the store has done.
    pub fn counts(&self) -> Stats {
        self.context.counters.read()
    }

    /// The counters of this node alone, and of all checks while the server was unavailable.
    pub fn memory(&self) -> &Memory<StoreClock> {
        &self.memory
    }

    /// Decides one set, for a caller that gives up at a time if it set a limit.
    async fn decide(
        &self,
        set: &Set<'_>,
        decisions: &mut [Option<Decision>],
        gives_up: Option<Instant>,
    ) -> Result<Applied, CheckError> {
        match ScopeSplit::of(set) {
            // No rule applies to the request, so there is nothing to decide.
            _ if set.checks().is_empty() => {
                Ok(Applied::by_store(Ruling::Admitted, self.context.clock.now()))
            }
            ScopeSplit::Cluster => self.decide_shared(set, decisions, gives_up).await,
            ScopeSplit::Node => Ok(self.memory.decide(set, decisions)),
            ScopeSplit::Both(parts) => self.decide_both(set, parts, decisions, gives_up).await,
        }
    }

    /// Decides a set whose checks are all shared.
    async fn decide_shared(
        &self,
        set: &Set<'_>,
        decisions: &mut [Option<Decision>],
        gives_up: Option<Instant>,
    ) -> Result<Applied, CheckError> {
        match self.apply_shared(set, decisions, gives_up).await {
            Ok(applied) if applied.ruling == Ruling::Refused && self.may_be_held_locally(set) => {
                // The slots were taken while the server was unavailable, so only this node has
                // them.
                Ok(self.memory.decide(set, decisions))
            }
            Ok(applied) => Ok(applied),
            Err(failure) => self.without_store(set, decisions, &failure),
        }
    }

    /// Whether a set is about concurrency slots that this node may have granted by itself.
    fn may_be_held_locally(&self, set: &Set<'_>) -> bool {
        let [check] = set.checks() else { return false };
        let about = matches!(check.operation(), Operation::Settle { .. } | Operation::Renew(_));
        about && check.limit().holds() && self.context.counters.by_share.get() > 0
    }

    /// Decides a set on the server, or from the deny cache, by the usual deadline.
    async fn apply_shared(
        &self,
        set: &Set<'_>,
        decisions: &mut [Option<Decision>],
        gives_up: Option<Instant>,
    ) -> Result<Applied, ServerError> {
        self.apply_until(set, decisions, self.context.until(QUEUED, gives_up)).await
    }

    /// Decides a set on the server or servers that have its counters, by a given deadline.
    async fn apply_until(
        &self,
        set: &Set<'_>,
        decisions: &mut [Option<Decision>],
        until: Instant,
    ) -> Result<Applied, ServerError> {
        if script::is_contradictory(set) {
            decisions.fill(None);
            return Ok(Applied::by_store(Ruling::Contradictory, self.context.clock.now()));
        }
        let encoded = EncodedSet::new(set, &self.context.key_space);
        if let Some(applied) = self.deny(set, &encoded, decisions) {
            return Ok(applied);
        }
        match self.topology.slot_of_all(&self.context, &encoded) {
            Some(slot) => {
                let counters = counters_of(&encoded);
                let mut observation = self.observe(set, encoded, slot, until).await?;
                let applied = self.explain(set, &mut observation, decisions, &counters)?;
                if observation.confirmed || !may_charge(set, applied.ruling) {
                    return Ok(applied);
                }
                self.not_replicated(set, decisions)
            }
            None => self.apply_cross_slot(set, &encoded, decisions, until).await,
        }
    }

    /// Sends a set to the server of its slot, preceded by the pending charges of its counters.
    async fn observe(
        &self,
        set: &Set<'_>,
        encoded: EncodedSet,
        slot: u16,
        until: Instant,
    ) -> Result<Observation, ServerError> {
        let replay = self.collect_replay(set, &encoded);
        let mut request: SmallVec<[EncodedSet; 1]> = SmallVec::new();
        request.extend(replay.encode(&self.context.key_space));
        request.push(encoded);
        let strict = set.checks().iter().any(Check::is_strict);
        let BatchReply { mut answers, sent, received, confirmed } =
            self.topology.submit(request, SetRoute { slot, strict }, until).await?;
        replay.confirm(&self.context.pending);
        let answer = answers.pop().ok_or_else(|| self.unanswered())?;
        let when = ObservedAt { now: answer.now, sent, received };
        Ok(Observation { answer, when, slot, confirmed })
    }

    /// Computes the decisions from the states the server saw, and updates the deny cache.
    fn explain(
        &self,
        set: &Set<'_>,
        observation: &mut Observation,
        decisions: &mut [Option<Decision>],
        counters: &[Counter],
    ) -> Result<Applied, ServerError> {
        let Observation { answer, when, slot, .. } = observation;
        let applied = script::explain(set, answer, decisions).map_err(|disagreement| {
            self.context.counters.disagreements.one();
            ServerError::new(ErrorKind::Other, disagreement.to_string())
        })?;
        let (deny_cache, client) = (&self.context.deny_cache, self.topology.client(*slot));
        let cells = cells_of(set);
        for ((check, counter), place) in set.checks().iter().zip(counters).zip(cells.places()) {
            if may_lower(check) {
                deny_cache.forget(*counter, self.context.clock.machine());
                continue;
            }
            match (answer.states.get(place.index()), &client) {
                (Some(state), Some(client)) if is_cacheable(state, applied) => {
                    deny_cache.put(*counter, state, *when, &client.epoch);
                }
                // The cached state would still refuse correctly, but with a wait that is too short.
                _ => {
                    deny_cache.take(*counter);
                }
            }
        }
        Ok(applied)
    }

    /// Treats a strict set that no replica confirmed in time as if the server were unavailable. If
    /// the fallback refuses the set, the charge on the server is refunded.
    fn not_replicated(
        &self,
        set: &Set<'_>,
        decisions: &mut [Option<Decision>],
    ) -> Result<Applied, ServerError> {
        let charged = Subset::decided(set, decisions);
        let failure = not_replicated();
        self.context.count(&failure);
        let Ok(applied) = self.without_store(set, decisions, &failure) else {
            return Err(failure);
        };
        if applied.ruling == Ruling::Refused {
            let refunded =
                if set.is_independent() { charged.only_refused(decisions) } else { charged };
            drop(self.refund_subset(&refunded));
        }
        Ok(applied)
    }

    fn unanswered(&self) -> ServerError {
        self.context.counters.disagreements.one();
        ServerError::new(ErrorKind::Other, "the answer belongs to another call")
    }
}

/// Whether a set with this ruling may have charged something.
fn may_charge(set: &Set<'_>, ruling: Ruling) -> bool {
    ruling == Ruling::Admitted || ruling == Ruling::Refused && set.is_independent()
}

fn not_replicated() -> ServerError {
    ServerError::new(
        ErrorKind::Unconfirmed,
        "no replica confirmed the write in time, as a strict rule requires",
    )
}

/// The number of deadlines that a request may wait in the queue while the server answers others:
/// with the default deadline, less than the 50 ms that proxies usually wait for a decision.
const QUEUED: u32 = 4;

/// The states that a server saw for a set, and when.
struct Observation {
    answer: SetReply,
    when: ObservedAt,
    slot: u16,
    /// Whether a replica has confirmed the write, where one is required.
    confirmed: bool,
}

/// The counters that the checks of a set use.
fn counters_of(encoded: &EncodedSet) -> SmallVec<[Counter; 2]> {
    (0..encoded.checks()).map(|index| encoded.counter(index)).collect()
}

/// Whether a check may lower its counter below what other nodes have cached.
fn may_lower(check: &Check<'_>) -> bool {
    matches!(
        check.operation(),
        Operation::Refund(_)
            | Operation::Settle { .. }
            | Operation::Reset
            | Operation::Rescale { .. }
    )
}

/// Whether a state is worth caching: small states always are, long lists only if they refuse.
/// Concurrency slots are not, because they are released all the time.
fn is_cacheable(state: &State, applied: Applied) -> bool {
    match state {
        State::Bucket { .. } | State::Window { .. } => true,
        State::Vacant | State::Holders(_) | State::Settled { .. } => false,
        State::Blocks(_) | State::Log(_) | State::Cooling(_) => applied.ruling == Ruling::Refused,
    }
}

impl Store for Redis {
    type Clock = StoreClock;

    /// Several calls' worth: each call is a round trip, and all of them share one deadline.
    const BATCH: usize = 1_024;

    fn clock(&self) -> &StoreClock {
        &self.context.clock
    }

    async fn apply(&self, batch: &mut Batch<'_>) -> Result<(), CheckError> {
        self.decide_batch(batch).await
    }

    fn apply_detached(&self, check: Check<'_>) {
        if check.limit().holds() || check.scope() == Scope::Node {
            // Releases units wherever they were taken; where they are unknown, this has no effect.
            self.memory.apply_detached(check);
        }
        if check.scope() == Scope::Cluster {
            // Runs in the background.
            drop(self.send_detached(&check, 0));
        }
    }
}
