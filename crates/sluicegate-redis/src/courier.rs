//! Carries sets to the server and answers back: together when there are many, at once when there
//! are few, and never for longer than the deadline.
//!
//! One or two calls are under way at a time. Whatever is asked meanwhile waits for one of them to
//! come back, and then goes out as one call: the more is asked, the more goes together, and where
//! little is asked nothing ever waits. When a call is not answered in time, everybody is released and the
//! store is given up until it is well again; nothing is kept to be sent later.
//!
//! The deadline is that of a call to the server. A request that waits for its turn goes on waiting while the
//! server answers calls: a long queue is load, not an outage.

mod desk;
mod parcel;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use sluicegate_core::Time;
use smallvec::SmallVec;
use tokio::sync::{Notify, oneshot};
use tokio::task::yield_now;

pub(crate) use self::desk::{BULK, Letter};
use self::desk::{Batch, Desk, Line};
use self::parcel::{Parcel, send};
use crate::common::Common;
use crate::failure::{Class, Failure};
use crate::twin::{Answer, How, Packed, Reached};

/// What comes back for the sets of one caller.
#[derive(Debug)]
pub(crate) struct Reply {
    /// One for each set.
    pub(crate) answers: SmallVec<[Answer; 1]>,
    /// When the call was sent, by this machine …
    pub(crate) sent: Time,
    /// … and when it was answered.
    pub(crate) received: Time,
    /// Whether a replica has it too, where one has to.
    pub(crate) confirmed: bool,
}

/// What comes back instead.
#[derive(Debug)]
pub(crate) struct Returned {
    pub(crate) failure: Failure,
    /// The sets, if they came back.
    pub(crate) sets: Vec<Packed>,
}

pub(crate) type Outcome = Result<Reply, Returned>;

impl From<Failure> for Returned {
    fn from(failure: Failure) -> Self {
        Self { failure, sets: Vec::new() }
    }
}

/// Carries sets to the server.
#[derive(Debug)]
pub(crate) struct Courier {
    desk: Mutex<Desk>,
    common: Arc<Common>,
    /// Whether the store's clock goes by this server's.
    tells_time: AtomicBool,
    /// Whether a replica has to have what is written. Then nothing else can go over the connection
    /// meanwhile.
    strict: bool,
    /// Whether letters to several slots may go in one call.
    scatters: Arc<AtomicBool>,
    /// Wakes whoever looks after the connection.
    pub(crate) trouble: Arc<Notify>,
}

impl Courier {
    pub(crate) fn new(common: &Arc<Common>) -> Self {
        let down = Failure::new(Class::Down, "it has not been reached yet");
        let desk = Mutex::new(Desk::new(down, desk::CALLS));
        Self {
            desk,
            common: Arc::clone(common),
            tells_time: AtomicBool::new(true),
            strict: false,
            scatters: Arc::default(),
            trouble: Arc::default(),
        }
    }

    /// Another one to the same server, who waits for its replicas. Who looks after the connection of
    /// one looks after both.
    pub(crate) fn strict(&self) -> Self {
        let down = Failure::new(Class::Down, "it has not been reached yet");
        let desk = Mutex::new(Desk::new(down, desk::STRICT_CALLS));
        Self {
            desk,
            common: Arc::clone(&self.common),
            tells_time: AtomicBool::new(false),
            strict: true,
            scatters: Arc::clone(&self.scatters),
            trouble: Arc::clone(&self.trouble),
        }
    }

    /// Whether the server can be trusted with calls that write in several slots.
    pub(crate) fn set_scatters(&self, scatters: bool) {
        self.scatters.store(scatters, Ordering::Relaxed);
    }

    /// Whether the store's clock is to go by this server's.
    pub(crate) fn set_tells_time(&self, tells: bool) {
        self.tells_time.store(tells, Ordering::Relaxed);
    }

    /// The server has told its time, in an answer that came now.
    pub(crate) fn hear(&self, now: Time, received: Time) {
        if self.tells_time.load(Ordering::Relaxed) {
            self.common.clock.hear(now, received);
        }
    }

    /// Asks the server about the sets of a letter, in their order.
    pub(crate) async fn ask(self: &Arc<Self>, letter: Letter) -> Outcome {
        let (sender, mut receiver) = oneshot::channel();
        let (posted, until) = (self.common.now(), letter.until);
        let number = self.post(letter.answered_to(sender))?;
        let mut next = posted + self.common.deadline;
        loop {
            let look = next.min(until);
            if let Some(outcome) = self.common.in_time(look, &mut receiver).await {
                return outcome.unwrap_or_else(|_| {
                    let why = "the runtime of the store has ended";
                    Err(Failure::new(Class::Connection, why).into())
                });
            }
            // The server answers others: this letter waits for its turn.
            let answered = self.desk().last_answer().map(|last| last + self.common.deadline);
            match answered {
                Some(answered) if answered > look && look < until => next = answered,
                // Whether the server is gone, or only slow, the call that has the letter finds out.
                answered => {
                    let class = if self.desk().withdraw(number) {
                        Class::Overload
                    } else if answered > Some(look) {
                        Class::Late
                    } else {
                        Class::Timeout
                    };
                    let failure =
                        unanswered(class, self.common.now().saturating_duration_since(posted));
                    self.common.count(&failure);
                    return Err(failure.into());
                }
            }
        }
    }

    /// Whether an answer that took so long would have come in time.
    pub(crate) fn is_in_time(&self, took: Duration) -> bool {
        took <= self.common.deadline
    }

    /// Posts a letter and returns its number.
    fn post(self: &Arc<Self>, letter: Letter) -> Result<u64, Failure> {
        let posted = self.desk().post(letter);
        match posted {
            Ok((number, None)) => Ok(number),
            Ok((number, Some(line))) => {
                let courier = Arc::clone(self);
                self.common.handle.spawn(async move {
                    let abandoned = Abandoned { courier: &courier, generation: line.generation };
                    courier.deliver(line).await;
                    std::mem::forget(abandoned);
                });
                Ok(number)
            }
            Err(failure) => {
                self.common.count(&failure);
                Err(failure)
            }
        }
    }

    /// Why it is not.
    pub(crate) fn why_down(&self) -> Option<Failure> {
        self.desk().why_down().cloned()
    }

    /// The server is well: it is asked from now on.
    pub(crate) fn open(&self, connection: MultiplexedConnection) {
        self.desk().open(connection, self.common.now());
    }

    /// Gives the server up, whichever line it is asked over, and releases everybody who waits.
    pub(crate) fn give_up(&self, failure: &Failure) {
        let line = self.desk().line();
        if let Some(line) = line {
            self.give_up_line(line.generation, failure);
        } else {
            self.desk().stay_down(failure);
        }
    }

    fn give_up_line(&self, generation: u64, failure: &Failure) {
        let Some(waiting) = self.desk().close(generation, failure) else { return };
        self.common.counters.breaker_opened.one();
        self.trouble.notify_one();
        for letter in waiting {
            letter.fail(&Failure::new(Class::Down, failure.why.clone()));
        }
    }

    /// Delivers whatever is waiting, until nothing is.
    async fn deliver(&self, mut line: Line) {
        let mut delivered = 0;
        loop {
            // Whoever was just answered, or came at the same time, may have more to ask: a turn of
            // the scheduler lets them, and all of that goes together.
            yield_now().await;
            let next = self.desk().next(line.generation, delivered, self.common.now());
            for late in next.late {
                late.fail(&Failure::new(Class::Overload, "too many were waiting for the store"));
                self.common.counters.overloads.one();
            }
            let Some(Batch { letters, checks }) = next.batch else { return };
            delivered = checks;
            let sent = self.common.clock.machine();
            let mut parcels = Parcel::of_all(letters, self.scatters.load(Ordering::Relaxed));
            match self.deliver_all(&mut parcels, &mut line, checks).await {
                Ok(confirmed) => {
                    for parcel in parcels {
                        self.hand_out(parcel, sent, line.generation, confirmed);
                    }
                }
                Err(failure) => {
                    self.common.count(&failure);
                    if failure.class.gives_up() {
                        self.give_up_line(line.generation, &failure);
                    }
                    for letter in parcels.into_iter().flat_map(|parcel| parcel.letters) {
                        letter.fail(&failure);
                    }
                }
            }
        }
    }

    /// Whether a replica has it too, where one has to.
    async fn deliver_all(
        &self,
        parcels: &mut [Parcel],
        line: &mut Line,
        checks: usize,
    ) -> Result<bool, Failure> {
        let size = u32::try_from(checks.div_ceil(desk::CHECKS).max(1)).unwrap_or(u32::MAX);
        // Each caller's own deadline runs by itself; this one says whether the server is there.
        let deadline = self.common.deadline * size;
        let until = self.common.now() + deadline;
        let calls = u64::try_from(parcels.len()).unwrap_or(u64::MAX);
        // Read before the calls are counted: a test that sees them under way knows their time.
        let now = self.common.clock.driven();
        let counters = &self.common.counters;
        counters.calls.add(calls);
        counters.in_flight.add(calls);
        let broken = Arc::clone(&line.broken);
        let broken = broken.notified();
        let answer = tokio::select! {
            biased;
            answer = self.common.in_time(until, self.put(parcels, line, now)) => answer,
            // It was sent, and may be done yet.
            () = broken => Some(Err(Failure::new(Class::Timeout, "it was given up meanwhile"))),
        };
        counters.in_flight.sub(calls);
        if matches!(answer, Some(Ok(_))) {
            self.desk().note_answer(line.generation, self.common.now());
        }
        answer.unwrap_or_else(|| Err(unanswered(Class::Timeout, deadline)))
    }

    /// Puts calls to the server: by the name of their scripts, or, if it does not know one, in full.
    async fn put(
        &self,
        parcels: &mut [Parcel],
        line: &mut Line,
        now: Option<Time>,
    ) -> Result<bool, Failure> {
        let connection = &mut line.connection;
        self.desk().tag_all(parcels);
        send(connection, parcels, now).await?;
        if parcels.iter().any(Parcel::is_of_unknown_script) {
            // It has forgotten them, and did nothing at all: this is no second time.
            self.common.counters.no_script.one();
            for parcel in &mut *parcels {
                parcel.how = How::Text;
            }
            send(connection, parcels, now).await?;
        }
        if !self.strict {
            return Ok(true);
        }
        // Whatever is wrong with this, the calls have been answered.
        Ok(self.confirm(connection).await.unwrap_or_else(|failure| {
            self.common.count(&failure);
            if failure.class.gives_up() {
                self.give_up_line(line.generation, &failure);
            }
            false
        }))
    }

    /// Whether a replica says in time that it has what was written over a connection.
    async fn confirm(&self, connection: &mut MultiplexedConnection) -> Result<bool, Failure> {
        // The server gives up before we do: a connection that still waits is of no use to others.
        let millis = (self.common.deadline.as_millis() / 2).max(1);
        let mut wait = redis::cmd("WAIT");
        wait.arg(1).arg(u64::try_from(millis).unwrap_or(u64::MAX));
        Ok(wait.query_async::<u64>(connection).await? > 0)
    }

    /// Hands the answers to those who asked.
    fn hand_out(&self, parcel: Parcel, sent: Time, generation: u64, confirmed: bool) {
        let Parcel { mut letters, call, tag, reply, .. } = parcel;
        let nothing_done = |class| matches!(class, Class::ReadOnly | Class::ClusterDown);
        if call.is_scattered() && reply.as_ref().is_err_and(|failure| nothing_done(failure.class)) {
            // Nothing was done. Each slot by itself is told whether somebody else has it now.
            letters.iter_mut().for_each(Letter::keep_together);
            self.desk().put_first(letters, generation);
            return;
        }
        let answers = reply.and_then(|reply| {
            call.read(tag, reply).map_err(|error| Failure::new(Class::Strange, error.to_string()))
        });
        let answers = match answers {
            Ok(answers) => answers,
            Err(failure) => {
                self.common.count(&failure);
                if failure.class.gives_up() {
                    self.give_up_line(generation, &failure);
                }
                for letter in letters {
                    letter.fail(&failure);
                }
                return;
            }
        };
        let received = self.common.clock.machine();
        if let Some(first) = answers.first() {
            self.hear(first.now, received);
        }
        self.common.counters.sets.add(answers.len() as u64);
        let mut answers = answers.into_iter();
        let mut again = Vec::new();
        for mut letter in letters {
            if letter.take(&mut answers, sent) {
                letter.finish(received, confirmed);
            } else {
                again.push(letter);
            }
        }
        if !again.is_empty() {
            self.desk().put_first(again, generation);
        }
    }

    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A delivery that ended without having come to its end: its runtime is gone, and whoever waits
/// for it would wait in vain.
struct Abandoned<'a> {
    courier: &'a Courier,
    generation: u64,
}

impl Drop for Abandoned<'_> {
    fn drop(&mut self) {
        let failure = Failure::new(Class::Connection, "the runtime of the store has ended");
        self.courier.give_up_line(self.generation, &failure);
    }
}

fn unanswered(class: Class, waited: Duration) -> Failure {
    let waited = waited.as_millis();
    Failure::new(
        class,
        match class {
            Class::Overload => format!("no turn within {waited} ms, behind other requests"),
            Class::Late => format!("no answer within {waited} ms, while it answered others"),
            _ => format!("no answer within {waited} ms"),
        },
    )
}

/// Whether a set has to be asked again with the full script.
fn is_to_be_asked_again(answer: &Answer) -> bool {
    matches!(answer.ruling, Reached::NotPlain)
}
