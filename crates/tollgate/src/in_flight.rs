//! A slot that is held while a request is in flight.

use std::future::Future;

use tollgate_core::{Ask, Check, Decision, Limit, Receipt};

use crate::deciding::Deciding;
use crate::error::CheckError;
use crate::limiter::Limiter;
use crate::store::Store;

/// What came of asking for a slot.
#[derive(Debug)]
pub enum Hold<S: Store> {
    /// It is held until this is dropped.
    Held(InFlight<S>),
    /// All are held by others.
    Refused(Decision),
}

/// A slot of a concurrency limit; dropping it gives the slot back.
///
/// The store takes the slot back by itself when its lease runs out, in case this process
/// dies. What takes longer than the lease has to [`renew`](InFlight::renew) it.
#[derive(Debug)]
#[must_use = "the slot is given back when this is dropped"]
pub struct InFlight<S: Store> {
    limiter: Limiter<S>,
    limit: Limit,
    key: Box<[u8]>,
    receipt: Receipt,
    released: bool,
}

impl<S: Store> InFlight<S> {
    pub(crate) fn new(limiter: Limiter<S>, check: Check<'_>, receipt: Receipt) -> Self {
        let (limit, key) = (check.limit().clone(), check.key().into());
        Self { limiter, limit, key, receipt, released: false }
    }

    /// What the slot is held under.
    pub fn receipt(&self) -> &Receipt {
        &self.receipt
    }

    /// Holds the slot for another lease from now.
    ///
    /// Refused as lost if the lease had run out: somebody else may have the slot by now, so
    /// more may be in flight than the limit says.
    pub fn renew(
        &self,
    ) -> Deciding<S, impl Future<Output = Result<Decision, CheckError>> + Send + '_> {
        let ask = Ask::Renew(self.receipt);
        self.limiter.check(Check::new(&self.limit, &self.key[..]).ask(ask))
    }

    /// Gives the slot back, and says whether it was still held: refused as lost if its
    /// lease had run out.
    pub fn release(self) -> Deciding<S, impl Future<Output = Result<Decision, CheckError>> + Send> {
        Deciding::new(async move {
            let mut held = self;
            let decision = held.limiter.refund(&held.limit, &held.key[..], held.receipt).await?;
            held.released = true;
            drop(held);
            Ok(decision)
        })
    }
}

impl<S: Store> Drop for InFlight<S> {
    fn drop(&mut self) {
        if !self.released {
            self.limiter.give_back(&self.limit, &self.key, self.receipt);
        }
    }
}
