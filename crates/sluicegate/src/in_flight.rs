//! A slot that is held while a request is in flight.

use sluicegate_core::{Ask, Check, Cost, Decision, Limit, Receipt};

use crate::deciding::{Deciding, Question};
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
    /// None for a hold of no slots, and once they have been given back.
    receipt: Option<Receipt>,
}

impl<S: Store> InFlight<S> {
    pub(crate) fn new(limiter: Limiter<S>, check: Check<'_>, receipt: Option<Receipt>) -> Self {
        let (limit, key) = (check.limit().clone(), check.key().into());
        Self { limiter, limit, key, receipt }
    }

    /// What the slot is held under; none if no slot was asked for.
    pub fn receipt(&self) -> Option<&Receipt> {
        self.receipt.as_ref()
    }

    /// Holds the slot for another lease from now.
    ///
    /// Refused as lost if the lease had run out: somebody else may have the slot by now, so
    /// more may be in flight than the limit says.
    pub fn renew(&self) -> Deciding<S, impl Question<Answer = Result<Decision, CheckError>> + '_> {
        let ask = self.receipt.map_or(Ask::peek(), Ask::Renew);
        self.limiter.check(Check::new(&self.limit, &self.key[..]).ask(ask))
    }

    /// Gives the slot back, and says whether it was still held: refused as lost if its
    /// lease had run out.
    pub fn release(self) -> Deciding<S, impl Question<Answer = Result<Decision, CheckError>>> {
        Deciding::new(move || async move {
            let mut held = self;
            let ask = held
                .receipt
                .map_or(Ask::peek(), |receipt| Ask::Settle { receipt, actual: Cost::ZERO });
            let check = Check::new(&held.limit, &held.key[..]).ask(ask);
            let decision = held.limiter.check(check).await?;
            held.receipt = None;
            Ok(decision)
        })
    }
}

impl<S: Store> Drop for InFlight<S> {
    fn drop(&mut self) {
        if let Some(receipt) = self.receipt.take() {
            self.limiter.give_back(&self.limit, &self.key, receipt);
        }
    }
}
