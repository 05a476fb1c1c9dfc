//! The store: what a set meets on its way to the server, and what instead of it.

mod denying;
mod outage;
mod riding;
mod splitting;
mod together;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use smallvec::{SmallVec, smallvec};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tollgate::{Applied, CheckError, Clock, Memory, Store};
use tollgate_core::{Ask, Check, Decision, Id, Ruling, Scope, Set, State, Time};

use self::splitting::Split;
use crate::clock::StoreClock;
use crate::connection::Connector;
use crate::counts::{Counters, Counts};
use crate::courier::{Courier, Reply};
use crate::event::Health;
use crate::failure::{Class, Failure};
use crate::heartbeat::Heartbeat;
use crate::keeper::{Condition, Keeper};
use crate::options::{Options, OptionsError};
use crate::owed::Owed;
use crate::seen::{Seen, When};
use crate::twin::{self, Answer, Cells, Counter, Naming, Packed};

/// State in Redis or Valkey, shared by all who use the same server and prefix.
///
/// Every set is decided by one script on the server, at the server's time: all of it or nothing,
/// whoever else asks. Where the server is not there, each check goes by what it says of an
/// [outage](tollgate_core::Outage).
///
/// ```no_run
/// use tollgate::{Check, Limit, Limiter};
/// use tollgate_redis::{Options, Redis};
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
    courier: Arc<Courier>,
    naming: Arc<Naming>,
    seen: Arc<Seen>,
    owed: Arc<Owed>,
    /// Counters of this node alone, and all others while the server is not there.
    memory: Memory<StoreClock>,
    clock: StoreClock,
    counters: Arc<Counters>,
    condition: Arc<Condition>,
    denies: bool,
    keeper: JoinHandle<()>,
}

impl Redis {
    /// Starts to use a server, within the tokio runtime that this is called from.
    ///
    /// It is reached in the background: until then, and whenever it is not there, checks are
    /// answered without it.
    pub fn start(options: Options) -> Result<Self, OptionsError> {
        let handle = Handle::try_current().map_err(|_| OptionsError::NoRuntime)?;
        let clock = StoreClock::new(options.driven.clone());
        let counters = Arc::new(Counters::default());
        let naming = Arc::new(Naming::new(&options.prefix, options.secret, options.page_bits));
        let connector = Connector::new(&options, naming.channel())?;
        let memory = options.memory.clone().build_with(clock.clone());
        let memory = memory.map_err(|error| OptionsError::Memory { why: error.to_string() })?;
        let courier = Arc::new(Courier::new(
            handle.clone(),
            options.deadline,
            clock.clone(),
            Arc::clone(&counters),
        ));
        let (seen, owed) = (Arc::new(Seen::new()), Arc::new(Owed::default()));
        let condition = Arc::new(Condition::new(options.nodes));
        let keeper = Keeper {
            connector,
            heartbeat: Heartbeat::new(&options.prefix),
            courier: Arc::clone(&courier),
            seen: Arc::clone(&seen),
            owed: Arc::clone(&owed),
            naming: Arc::clone(&naming),
            clock: clock.clone(),
            counters: Arc::clone(&counters),
            on_event: options.on_event,
            condition: Arc::clone(&condition),
        };
        Ok(Self {
            courier,
            naming,
            seen,
            owed,
            memory,
            clock,
            counters,
            condition,
            denies: options.deny_cache,
            keeper: handle.spawn(keeper.keep()),
        })
    }

    /// Waits until the server has been reached, for so long at most; whether it has.
    pub async fn reached(&self, patience: Duration) -> bool {
        timeout(patience, self.condition.reached()).await.is_ok()
    }

    /// How the store is doing.
    pub fn health(&self) -> Health {
        self.condition.health(&self.clock)
    }

    /// How often what has happened.
    pub fn counts(&self) -> Counts {
        self.counters.read()
    }

    /// The counters of this node alone, and of all while the server was not there.
    pub fn memory(&self) -> &Memory<StoreClock> {
        &self.memory
    }

    async fn decide(
        &self,
        set: &Set<'_>,
        decisions: &mut [Option<Decision>],
    ) -> Result<Applied, CheckError> {
        match Split::of(set) {
            Split::Cluster => self.decide_shared(set, decisions).await,
            Split::Node => self.memory.apply(set, decisions).await,
            Split::Both(parts) => self.decide_both(set, &parts, decisions).await,
        }
    }

    /// Decides a set of which everything is shared.
    async fn decide_shared(
        &self,
        set: &Set<'_>,
        decisions: &mut [Option<Decision>],
    ) -> Result<Applied, CheckError> {
        match self.ask(set, decisions).await {
            Ok(applied) if applied.ruling == Ruling::Refused && self.is_held_here(set) => {
                // Taken while the server was not there: it cannot know.
                self.memory.apply(set, decisions).await
            }
            Ok(applied) => Ok(applied),
            Err(failure) => self.without_store(set, decisions, &failure),
        }
    }

    /// Whether a set is about slots that this node may have handed out by itself.
    fn is_held_here(&self, set: &Set<'_>) -> bool {
        let [check] = set.checks() else { return false };
        let about = matches!(check.asks(), Ask::Settle { .. } | Ask::Renew(_));
        about && check.limit().holds() && self.counters.by_share.get() > 0
    }

    /// Asks the server, unless the answer is known.
    async fn ask(
        &self,
        set: &Set<'_>,
        decisions: &mut [Option<Decision>],
    ) -> Result<Applied, Failure> {
        if twin::is_contradictory(set) {
            decisions.fill(None);
            return Ok(Applied::by_store(Ruling::Contradictory, self.clock.now()));
        }
        let packed = Packed::new(set, &self.naming);
        if let Some(applied) = self.deny(set, &packed, decisions) {
            return Ok(applied);
        }
        let riders = self.riders(set, &packed);
        let counters = counters_of(&packed);
        let mut letter: SmallVec<[Packed; 1]> = SmallVec::new();
        letter.extend(riders.packed(&self.naming));
        letter.push(packed);
        let mut reply = self.courier.ask(letter, self.courier.until()).await?;
        riders.arrived(&self.owed);
        let Reply { sent, received, .. } = reply;
        match reply.answers.last_mut() {
            Some(answer) => self.explain(set, answer, decisions, &counters, (sent, received)),
            None => Err(self.unanswered()),
        }
    }

    /// Works out the decisions from what the server saw, and takes down how counters stand.
    fn explain(
        &self,
        set: &Set<'_>,
        answer: &mut Answer,
        decisions: &mut [Option<Decision>],
        counters: &[Counter],
        (sent_at, received): (Time, Time),
    ) -> Result<Applied, Failure> {
        let applied = twin::explain(set, answer, decisions).map_err(|disagreement| {
            self.counters.disagreements.one();
            Failure::new(Class::Other, disagreement.to_string())
        })?;
        let when = When { now: applied.now, sent: sent_at, received };
        let Cells { places, .. } = Cells::of(set);
        for ((check, counter), place) in set.checks().iter().zip(counters).zip(places) {
            if gives_back(check) {
                self.seen.forget(*counter, self.clock.machine());
                continue;
            }
            match answer.states.get(place.index()) {
                Some(state) if is_worth_keeping(state, applied) => {
                    self.seen.put(*counter, state, when);
                }
                // It still refuses whom it refused, but it would name a wait that is too short.
                _ => {
                    self.seen.take(*counter);
                }
            }
        }
        Ok(applied)
    }

    fn unanswered(&self) -> Failure {
        self.counters.disagreements.one();
        Failure::new(Class::Other, "the answer was about something else")
    }
}

/// The counters that the checks of a set meet.
fn counters_of(packed: &Packed) -> SmallVec<[Counter; 2]> {
    (0..packed.checks()).map(|index| packed.counter(index)).collect()
}

/// Whether a check may make its counter better than others have seen it.
fn gives_back(check: &Check<'_>) -> bool {
    matches!(check.asks(), Ask::Refund(_) | Ask::Settle { .. } | Ask::Reset | Ask::Rescale { .. })
}

/// Whether it pays to remember a state: what is a few numbers always does, a long list only
/// if it refuses. Slots are given back all the time.
fn is_worth_keeping(state: &State, applied: Applied) -> bool {
    match state {
        State::Bucket { .. } | State::Window { .. } => true,
        State::Vacant | State::Holders(_) | State::Settled { .. } => false,
        State::Blocks(_) | State::Log(_) | State::Cooling(_) => applied.ruling == Ruling::Refused,
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        self.keeper.abort();
    }
}

impl Store for Redis {
    type Clock = StoreClock;

    /// Some calls' worth: each call is a trip, and all of them have one deadline.
    const TOGETHER: usize = 1_024;

    fn clock(&self) -> &StoreClock {
        &self.clock
    }

    fn apply<'a>(
        &'a self,
        set: &'a Set<'a>,
        decisions: &'a mut [Option<Decision>],
    ) -> impl Future<Output = Result<Applied, CheckError>> + Send + 'a {
        self.decide(set, decisions)
    }

    fn apply_many<'a>(
        &'a self,
        sets: &'a [Set<'a>],
        decisions: &'a mut [Option<Decision>],
        applied: &'a mut Vec<Applied>,
    ) -> impl Future<Output = Result<(), CheckError>> + Send + 'a {
        self.decide_many(sets, decisions, applied)
    }

    fn apply_detached(&self, check: Check<'_>) {
        let set = Set::one(&check, Id::from_bits(0));
        if check.limit().holds() || check.scope() == Scope::Node {
            // Wherever it was taken: who does not know it does nothing.
            self.memory.apply_detached(check);
        }
        if check.scope() == Scope::Cluster {
            let packed = Packed::new(&set, &self.naming);
            self.seen.forget(packed.counter(0), self.clock.machine());
            self.courier.tell(smallvec![packed]);
        }
    }
}
