//! Carries sets to the server and answers back: together when there are many, at once when there
//! are few, and never for longer than the deadline.
//!
//! One or two calls are under way at a time. Whatever is asked meanwhile waits for one of them to
//! come back, and then goes out as one call: the more is asked, the more goes together, and where
//! little is asked nothing ever waits. When a call is not answered in time, everybody is released and the
//! store is given up until it is well again; nothing is kept to be sent later.

mod desk;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{Cmd, Value};
use smallvec::SmallVec;
use tokio::runtime::Handle;
use tokio::sync::{Notify, oneshot};
use tokio::task::yield_now;
use tokio::time::{Instant, sleep_until, timeout_at};
use tollgate_core::Time;

use self::desk::{Batch, Desk, Letter, Line};
use crate::clock::StoreClock;
use crate::counts::Counters;
use crate::failure::{Class, Failure};
use crate::twin::{Answer, Call, How, Packed, Reached};

/// What comes back for the sets of one caller.
#[derive(Debug)]
pub(crate) struct Reply {
    /// One for each set.
    pub(crate) answers: SmallVec<[Answer; 1]>,
    /// When the call was sent, by this machine …
    pub(crate) sent: Time,
    /// … and when it was answered.
    pub(crate) received: Time,
}

pub(crate) type Outcome = Result<Reply, Failure>;

/// Carries sets to the server.
#[derive(Debug)]
pub(crate) struct Courier {
    desk: Mutex<Desk>,
    handle: Handle,
    deadline: Duration,
    clock: StoreClock,
    counters: Arc<Counters>,
    /// Wakes whoever looks after the connection.
    pub(crate) trouble: Arc<Notify>,
}

impl Courier {
    pub(crate) fn new(
        handle: Handle,
        deadline: Duration,
        clock: StoreClock,
        counters: Arc<Counters>,
    ) -> Self {
        let down = Failure::new(Class::Down, "it has not been reached yet");
        let desk = Mutex::new(Desk::new(down));
        Self { desk, handle, deadline, clock, counters, trouble: Arc::new(Notify::new()) }
    }

    /// Asks the server about some sets, in their order.
    pub(crate) async fn ask(
        self: &Arc<Self>,
        sets: SmallVec<[Packed; 1]>,
        until: Instant,
    ) -> Outcome {
        let (sender, receiver) = oneshot::channel();
        self.post(sets, Some(sender), until)?;
        // The timer of whoever waits: the store's runtime may be standing still. Only who waits
        // outside of any has to rely on that.
        let own = Handle::try_current().unwrap_or_else(|_| self.handle.clone());
        let over = {
            let _within = own.enter();
            sleep_until(until)
        };
        tokio::select! {
            biased;
            outcome = receiver => outcome.unwrap_or_else(|_| {
                Err(Failure::new(Class::Connection, "the runtime of the store has ended"))
            }),
            // Whether the server is gone, or only slow, whoever carries the letter will find out.
            () = over => {
                let failure = self.unanswered();
                self.count(&failure);
                Err(failure)
            }
        }
    }

    /// When somebody who asks now is released.
    pub(crate) fn until(&self) -> Instant {
        Instant::now() + self.deadline
    }

    /// Whether an answer that took so long would have come in time.
    pub(crate) fn is_in_time(&self, took: Duration) -> bool {
        took <= self.deadline
    }

    /// Tells the server something whose answer nobody waits for.
    pub(crate) fn tell(self: &Arc<Self>, sets: SmallVec<[Packed; 1]>) {
        // Whatever it was, it comes back by itself in time: nothing is kept to be told later.
        let _ = self.post(sets, None, self.until());
    }

    fn post(
        self: &Arc<Self>,
        sets: SmallVec<[Packed; 1]>,
        sender: Option<oneshot::Sender<Outcome>>,
        until: Instant,
    ) -> Result<(), Failure> {
        let letter = Letter::new(sets, sender, until);
        let posted = self.desk().post(letter);
        match posted {
            Ok(None) => Ok(()),
            Ok(Some(line)) => {
                let courier = Arc::clone(self);
                self.handle.spawn(async move {
                    let abandoned = Abandoned { courier: &courier, generation: line.generation };
                    courier.deliver(line).await;
                    std::mem::forget(abandoned);
                });
                Ok(())
            }
            Err(failure) => {
                self.count(&failure);
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
        self.desk().open(connection);
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
        self.counters.breaker_opened.one();
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
            let next = self.desk().next(line.generation, delivered);
            for late in next.late {
                late.fail(&Failure::new(Class::Overload, "too many were waiting for the store"));
                self.counters.overloads.one();
            }
            let Some(Batch { letters: batch, checks }) = next.batch else { return };
            delivered = checks;
            let sent = self.clock.machine();
            match self.deliver_one(&batch, &mut line).await {
                Ok(answers) => self.hand_out(batch, answers, sent, line.generation),
                Err(failure) => {
                    self.count(&failure);
                    if failure.class.gives_up() {
                        self.give_up_line(line.generation, &failure);
                    }
                    for letter in batch {
                        letter.fail(&failure);
                    }
                }
            }
        }
    }

    async fn deliver_one(&self, batch: &[Letter], line: &mut Line) -> Result<Vec<Answer>, Failure> {
        let call = Call::of(batch.iter().flat_map(Letter::unanswered));
        // Each caller's own deadline runs by itself; this one says whether the server is there.
        let until = Instant::now() + self.deadline;
        self.counters.calls.one();
        self.counters.in_flight.one();
        let broken = line.broken.notified();
        let answer = tokio::select! {
            biased;
            answer = timeout_at(until, self.put(&call, &mut line.connection)) => answer,
            // It was sent, and may be done yet.
            () = broken => Ok(Err(Failure::new(Class::Timeout, "it was given up meanwhile"))),
        };
        self.counters.in_flight.sub(1);
        answer.unwrap_or_else(|_| Err(self.unanswered()))
    }

    fn unanswered(&self) -> Failure {
        let millis = self.deadline.as_millis();
        Failure::new(Class::Timeout, format!("no answer within {millis} ms"))
    }

    /// Puts a call to the server: by the name of its script, or, if it does not know that, in full.
    async fn put(
        &self,
        call: &Call,
        connection: &mut MultiplexedConnection,
    ) -> Result<Vec<Answer>, Failure> {
        let tag = self.desk().next_tag();
        let now = self.clock.driven();
        let mut command = call.command(tag, now, How::Sha);
        let mut reply = send(connection, &command).await;
        if let Err(Failure { class: Class::NoScript, .. }) = reply {
            // It did nothing at all, so this is no second time.
            self.counters.no_script.one();
            command = call.command(tag, now, How::Text);
            reply = send(connection, &command).await;
        }
        call.read(tag, reply?).map_err(|error| Failure::new(Class::Strange, error.to_string()))
    }

    /// Hands the answers to those who asked.
    fn hand_out(&self, batch: Vec<Letter>, answers: Vec<Answer>, sent: Time, generation: u64) {
        let received = self.clock.machine();
        if let Some(first) = answers.first() {
            self.clock.hear(first.now, received);
        }
        self.counters.sets.add(answers.len() as u64);
        let mut answers = answers.into_iter();
        let mut again = Vec::new();
        for mut letter in batch {
            if letter.take(&mut answers, sent) {
                letter.finish(received);
            } else {
                again.push(letter);
            }
        }
        if !again.is_empty() {
            self.desk().put_first(again, generation);
        }
    }

    fn count(&self, failure: &Failure) {
        if let Some(counter) = failure.class.counter(&self.counters) {
            counter.one();
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

/// Sends a command; an error that the server answers is one.
async fn send(connection: &mut MultiplexedConnection, command: &Cmd) -> Result<Value, Failure> {
    let reply = connection.send_packed_command(command).await?;
    Ok(reply.extract_error()?)
}

/// Whether a set has to be asked again with the full script.
fn is_to_be_asked_again(answer: &Answer) -> bool {
    matches!(answer.ruling, Reached::NotPlain)
}
