//! An answer on its way: await it, or, where nothing can make it wait, have it at once.

use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use crate::store::Immediate;

/// An answer on its way. Nothing has been asked until it is awaited or taken.
///
/// `.await` works with every store and under every executor. Where the store cannot
/// wait, as in memory, [`.now()`](Deciding::now) is an ordinary call.
#[must_use = "nothing is asked until this is awaited or taken with `.now()`"]
#[derive(Debug)]
pub struct Deciding<S, F> {
    future: F,
    store: PhantomData<fn() -> S>,
}

impl<S, F> Deciding<S, F> {
    pub(crate) fn new(future: F) -> Self {
        Self { future, store: PhantomData }
    }
}

impl<S: Immediate, F: Future> Deciding<S, F> {
    /// The answer, without waiting.
    pub fn now(self) -> F::Output {
        let mut context = Context::from_waker(Waker::noop());
        match pin!(self.future).poll(&mut context) {
            Poll::Ready(output) => output,
            Poll::Pending => unreachable!("an immediate store made a caller wait"),
        }
    }
}

impl<S, F: Future> IntoFuture for Deciding<S, F> {
    type Output = F::Output;
    type IntoFuture = F;

    fn into_future(self) -> F {
        self.future
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
