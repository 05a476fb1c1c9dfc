//! An answer on its way: await it, or, where nothing can make it wait, have it at once.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use crate::store::Immediate;

/// Something to ask, once.
pub trait Question {
    /// What comes back.
    type Answer;
    /// Asking, as a future.
    type Asking: Future<Output = Self::Answer> + Send;

    /// Asks.
    fn ask(self) -> Self::Asking;

    /// Asks where the answer comes at once.
    #[inline]
    fn ask_now(self) -> Self::Answer
    where
        Self: Sized,
    {
        now(self.ask())
    }
}

/// The output of a future that waits for nothing.
#[inline(never)]
pub(crate) fn now<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => unreachable!("an immediate store made a caller wait"),
    }
}

impl<Q: FnOnce() -> F, F: Future + Send> Question for Q {
    type Answer = F::Output;
    type Asking = F;

    #[inline]
    fn ask(self) -> F {
        self()
    }
}

/// An answer on its way. Nothing has been asked until it is awaited or taken.
///
/// `.await` works with every store and under every executor. Where the store cannot
/// wait, as in memory, [`.now()`](Deciding::now) is an ordinary call.
#[must_use = "nothing is asked until this is awaited or taken with `.now()`"]
pub struct Deciding<S, Q> {
    question: Q,
    store: PhantomData<fn() -> S>,
}

impl<S, Q: Question> Deciding<S, Q> {
    #[inline]
    pub(crate) fn new(question: Q) -> Self {
        Self { question, store: PhantomData }
    }
}

impl<S, Q> fmt::Debug for Deciding<S, Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Deciding").finish_non_exhaustive()
    }
}

impl<S: Immediate, Q: Question> Deciding<S, Q> {
    /// The answer, without waiting.
    #[inline(always)]
    pub fn now(self) -> Q::Answer {
        self.question.ask_now()
    }
}

impl<S, Q: Question> IntoFuture for Deciding<S, Q> {
    type Output = Q::Answer;
    type IntoFuture = Q::Asking;

    fn into_future(self) -> Q::Asking {
        self.question.ask()
    }
}

/// A turn that is being waited for: await it, or block the thread until it comes.
#[must_use = "nothing is asked until this is awaited or waited for with `.blocking()`"]
#[derive(Debug)]
pub struct Waiting<F> {
    future: F,
}

impl<F: Future> Waiting<F> {
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

impl<F: Future> IntoFuture for Waiting<F> {
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
