//! The store: what a set meets on its way to the server, and what instead of it.

mod denying;
mod outage;
mod part;
mod parting;
mod riding;
mod splitting;
mod telling;
mod together;

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use sluicegate::{Applied, CheckError, Clock, Memory, Store};
use sluicegate_core::{Ask, Check, Decision, Ruling, Scope, Set, Span, State};
use smallvec::SmallVec;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

use self::part::Part;
use self::splitting::Split;
use crate::clock::StoreClock;
use crate::common::Common;
use crate::counts::{Counters, Counts};
use crate::courier::Reply;
use crate::event::Health;
use crate::failure::{Class, Failure};
use crate::options::{Options, OptionsError};
use crate::owed::Owed;
use crate::passed_over::PassedOver;
use crate::seen::{Seen, When};
use crate::servers::{Servers, To};
use crate::twin::{self, Answer, Cells, Counter, Naming, Packed};

/// State in Redis or Valkey, shared by all who use the same server and prefix.
///
/// Every set is decided by one script on the server, at the server's time: all of it or nothing,
/// whoever else asks. Where the server is not there, each check goes by what it says of an
/// [outage](sluicegate_core::Outage).
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
    common: Arc<Common>,
    servers: Arc<Servers>,
    /// Counters of this node alone, and all others while the server is not there.
    memory: Memory<StoreClock>,
    denies: bool,
}

impl Redis {
    /// Starts to use a server, or those of a cluster, within the tokio runtime that this is called
    /// from.
    ///
    /// They are reached in the background: until then, and whenever one is not there, checks are
    /// answered without it.
    #[allow(clippy::needless_pass_by_value, reason = "secrets are handed over, not lent")]
    pub fn start(options: Options) -> Result<Self, OptionsError> {
        let handle = Handle::try_current().map_err(|_| OptionsError::NoRuntime)?;
        let clock = StoreClock::new(options.driven.clone());
        let memory = options.memory.clone().build_with(clock.clone());
        let memory = memory.map_err(|error| OptionsError::Memory { why: error.to_string() })?;
        let common = Arc::new(Common {
            handle,
            deadline: options.deadline,
            clock,
            counters: Counters::default(),
            naming: Naming::new(&options.prefix, options.secret, options.page_bits),
            seen: Seen::new(),
            owed: Owed::default(),
            nodes: options.nodes,
            on_event: options.on_event.clone(),
            has_replicas: options.has_replicas(),
            doubted: Notify::new(),
            links: AtomicU32::new(0),
            passed_over: PassedOver::default(),
            origin: Instant::now(),
        });
        let servers = Arc::new(Servers::start(&common, &options)?);
        Ok(Self { common, servers, memory, denies: options.deny_cache })
    }

    /// Waits until the server has been reached, or all of a cluster, for so long at most; whether it
    /// has.
    pub async fn reached(&self, patience: Duration) -> bool {
        timeout(patience, self.servers.reached()).await.is_ok()
    }

    /// Tells the other nodes that this one stops, so that its share is theirs at once.
    ///
    /// For after the last decision. A store that is dropped deregisters as well, as far as its runtime
    /// lives on; a node that is killed counts until it has been silent for some seconds.
    pub async fn deregister(&self) {
        self.common.warn_if_passed_over();
        self.servers.deregister().await;
    }

    /// How the store is doing.
    pub fn health(&self) -> Health {
        self.servers.health(&self.common)
    }

    /// How often what has happened.
    pub fn counts(&self) -> Counts {
        self.common.counters.read()
    }

    /// The counters of this node alone, and of all while the server was not there.
    pub fn memory(&self) -> &Memory<StoreClock> {
        &self.memory
    }

    /// When a caller is released even if the server answers others, or when it waits no longer.
    fn until(&self, within: Option<Span>) -> Instant {
        self.common.until(QUEUED, within.map(|within| self.common.now() + Duration::from(within)))
    }

    async fn decide(
        &self,
        set: &Set<'_>,
        decisions: &mut [Option<Decision>],
    ) -> Result<Applied, CheckError> {
        match Split::of(set) {
            // No rule applies to the request: there is nothing to ask.
            _ if set.checks().is_empty() => {
                Ok(Applied::by_store(Ruling::Admitted, self.common.clock.now()))
            }
            Split::Cluster => self.decide_shared(set, decisions).await,
            Split::Node => self.memory.apply(set, decisions).await,
            Split::Both(parts) => self.decide_both(set, parts, decisions).await,
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
        about && check.limit().holds() && self.common.counters.by_share.get() > 0
    }

    /// Asks the server, unless the answer is known; or servers, if none has all of it.
    async fn ask(
        &self,
        set: &Set<'_>,
        decisions: &mut [Option<Decision>],
    ) -> Result<Applied, Failure> {
        self.ask_by(set, decisions, self.until(set.within())).await
    }

    /// The same, by a time that was set before.
    async fn ask_by(
        &self,
        set: &Set<'_>,
        decisions: &mut [Option<Decision>],
        until: Instant,
    ) -> Result<Applied, Failure> {
        if twin::is_contradictory(set) {
            decisions.fill(None);
            return Ok(Applied::by_store(Ruling::Contradictory, self.common.clock.now()));
        }
        let packed = Packed::new(set, &self.common.naming);
        if let Some(applied) = self.deny(set, &packed, decisions) {
            return Ok(applied);
        }
        match self.servers.slot_of_all(&self.common, &packed) {
            Some(slot) => {
                let counters = counters_of(&packed);
                let mut seeing = self.see(set, packed, slot, until).await?;
                let applied = self.explain(set, &mut seeing, decisions, &counters)?;
                if seeing.confirmed || !charges(set, applied.ruling) {
                    return Ok(applied);
                }
                self.unconfirmed(set, decisions)
            }
            None => self.ask_slots(set, &packed, decisions, until).await,
        }
    }

    /// Puts a set to the server that has its slot, with what is owed to its counters in front of it.
    async fn see(
        &self,
        set: &Set<'_>,
        packed: Packed,
        slot: u16,
        until: Instant,
    ) -> Result<Seeing, Failure> {
        let riders = self.riders(set, &packed);
        let mut letter: SmallVec<[Packed; 1]> = SmallVec::new();
        letter.extend(riders.packed(&self.common.naming));
        letter.push(packed);
        let strict = set.checks().iter().any(Check::is_strict);
        let Reply { mut answers, sent, received, confirmed } =
            self.servers.ask(letter, To { slot, strict }, until).await?;
        riders.arrived(&self.common.owed);
        let answer = answers.pop().ok_or_else(|| self.unanswered())?;
        let when = When { now: answer.now, sent, received };
        Ok(Seeing { answer, when, slot, confirmed })
    }

    /// Works out the decisions from what the server saw, and takes down how counters stand.
    fn explain(
        &self,
        set: &Set<'_>,
        seeing: &mut Seeing,
        decisions: &mut [Option<Decision>],
        counters: &[Counter],
    ) -> Result<Applied, Failure> {
        let Seeing { answer, when, slot, .. } = seeing;
        let applied = twin::explain(set, answer, decisions).map_err(|disagreement| {
            self.common.counters.disagreements.one();
            Failure::new(Class::Other, disagreement.to_string())
        })?;
        let (seen, link) = (&self.common.seen, self.servers.link(*slot));
        let Cells { places, .. } = Cells::of(set);
        for ((check, counter), place) in set.checks().iter().zip(counters).zip(places) {
            if gives_back(check) {
                seen.forget(*counter, self.common.clock.machine());
                continue;
            }
            match (answer.states.get(place.index()), &link) {
                (Some(state), Some(link)) if is_worth_keeping(state, applied) => {
                    seen.put(*counter, state, *when, &link.hearing);
                }
                // It still refuses whom it refused, but it would name a wait that is too short.
                _ => {
                    seen.take(*counter);
                }
            }
        }
        Ok(applied)
    }

    /// The server has charged a strict set, and no replica has said in time that it has it too: that
    /// counts as if the server was not there. If the set is refused then, it is given back.
    fn unconfirmed(
        &self,
        set: &Set<'_>,
        decisions: &mut [Option<Decision>],
    ) -> Result<Applied, Failure> {
        let charged = Part::decided(set, decisions);
        let failure = unconfirmed();
        self.common.count(&failure);
        let Ok(applied) = self.without_store(set, decisions, &failure) else {
            return Err(failure);
        };
        if applied.ruling == Ruling::Refused {
            let given_back =
                if set.is_independent() { charged.refused_after_all(decisions) } else { charged };
            drop(self.give_back(&given_back));
        }
        Ok(applied)
    }

    fn unanswered(&self) -> Failure {
        self.common.counters.disagreements.one();
        Failure::new(Class::Other, "the answer was about something else")
    }
}

/// Whether a set that was ruled so may have charged something.
fn charges(set: &Set<'_>, ruling: Ruling) -> bool {
    ruling == Ruling::Admitted || ruling == Ruling::Refused && set.is_independent()
}

fn unconfirmed() -> Failure {
    Failure::new(Class::Unconfirmed, "no replica had it in time, which a strict rule waits for")
}

/// How many deadlines a request may wait for its turn while the server answers others: with the default
/// deadline, less than the 50 ms that proxies usually wait for a decision.
const QUEUED: u32 = 4;

/// What a server saw of a set's counters, and when.
struct Seeing {
    answer: Answer,
    when: When,
    slot: u16,
    /// Whether a replica has it too, where one has to.
    confirmed: bool,
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

impl Store for Redis {
    type Clock = StoreClock;

    /// Some calls' worth: each call is a trip, and all of them have one deadline.
    const TOGETHER: usize = 1_024;

    fn clock(&self) -> &StoreClock {
        &self.common.clock
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
        if check.limit().holds() || check.scope() == Scope::Node {
            // Wherever it was taken: who does not know it does nothing.
            self.memory.apply_detached(check);
        }
        if check.scope() == Scope::Cluster {
            // Nobody waits for it.
            drop(self.tell(&check, 0));
        }
    }
}
