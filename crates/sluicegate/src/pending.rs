//! Operations that run when awaited, or synchronously where the store never waits.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use crate::error::CheckError;
use crate::store::SyncStore;

/// An operation that runs once.
pub trait PendingOperation {
    /// The result of the operation.
    type Answer;
    /// The operation as a future.
    type Running: Future<Output = Self::Answer> + Send;

    /// Starts the operation.
    fn run(self) -> Self::Running;

    /// Runs the operation on a store that never waits.
    #[inline]
    fn run_now(self) -> Self::Answer
    where
        Self: Sized,
    {
        now(self.run())
    }
}

/// Returns the output of a future that never waits.
#[inline(never)]
fn now<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => unreachable!("an immediate store made a caller wait"),
    }
}

impl<O: FnOnce() -> F, F: Future + Send> PendingOperation for O {
    type Answer = F::Output;
    type Running = F;

    #[inline]
    fn run(self) -> F {
        self()
    }
}

/// An input that can be answered synchronously if the store does not have to wait.
pub(crate) trait Attempt {
    /// The answer.
    type Answer;

    /// Returns the answer; `None` if the store has to wait.
    fn attempt(&self) -> Option<Self::Answer>;
}

/// An operation with a synchronous attempt before the future.
///
/// The attempt works in place, because moving a check into a future, and its decision out of one,
/// costs as much as deciding it.
pub(crate) struct AttemptFirst<I, W> {
    pub(crate) input: I,
    /// The asynchronous path.
    pub(crate) wait: W,
}

impl<I, W, F> PendingOperation for AttemptFirst<I, W>
where
    I: Attempt,
    W: FnOnce(I) -> F,
    F: Future<Output = Result<I::Answer, CheckError>> + Send,
{
    type Answer = F::Output;
    type Running = F;

    fn run(self) -> F {
        (self.wait)(self.input)
    }

    #[inline(always)]
    fn run_now(self) -> F::Output {
        match self.input.attempt() {
            Some(answer) => Ok(answer),
            None => now((self.wait)(self.input)),
        }
    }
}

/// An operation that has not started until it is awaited or run with `.now()`.
///
/// `.await` works with every store and under every executor. With a store that never waits, such
/// as memory, [`.now()`](Pending::now) is an ordinary call.
#[must_use = "nothing is asked until this is awaited or taken with `.now()`"]
pub struct Pending<S, O> {
    operation: O,
    store: PhantomData<fn() -> S>,
}

impl<S, O: PendingOperation> Pending<S, O> {
    /// Creates an operation, usually from a function that returns a future.
    ///
    /// With a [`SyncStore`], the future must not wait.
    #[inline]
    pub fn new(operation: O) -> Self {
        Self { operation, store: PhantomData }
    }
}

impl<S, O> fmt::Debug for Pending<S, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending").finish_non_exhaustive()
    }
}

impl<S: SyncStore, O: PendingOperation> Pending<S, O> {
    /// Runs the operation synchronously.
    #[inline(always)]
    pub fn now(self) -> O::Answer {
        self.operation.run_now()
    }
}

impl<S, O: PendingOperation> IntoFuture for Pending<S, O> {
    type Output = O::Answer;
    type IntoFuture = O::Running;

    fn into_future(self) -> O::Running {
        self.operation.run()
    }
}

/// A turn to wait for: await it, or block the thread until it comes.
#[must_use = "nothing is asked until this is awaited or waited for with `.blocking()`"]
#[derive(Debug)]
pub struct PendingTurn<F> {
    future: F,
}

impl<F: Future> PendingTurn<F> {
    pub(crate) fn new(future: F) -> Self {
        Self { future }
    }

    /// Blocks this thread until the turn comes or cannot come in time.
    ///
    /// Not for use on an executor's thread: await there.
    pub fn blocking(self) -> F::Output {
        let waker = Waker::from(Arc::new(Unpark(thread::current())));
        let mut context = Context::from_waker(&waker);
        let mut future = pin!(self.future);
        loop {
            match future.as_mut().poll(&mut context) {
                Poll::Ready(output) => return output,
                Poll::Pending => thread::park(),
            }
        }
    }
}

impl<F: Future> IntoFuture for PendingTurn<F> {
    type Output = F::Output;
    type IntoFuture = F;

    fn into_future(self) -> F {
        self.future
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
