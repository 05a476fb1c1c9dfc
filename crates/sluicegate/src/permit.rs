//! A slot that is held while a request is in flight.

use sluicegate_core::{Check, Cost, Decision, Limit, Operation, Receipt};

use crate::error::CheckError;
use crate::limiter::Limiter;
use crate::pending::{Pending, PendingOperation};
use crate::store::Store;

/// The outcome of [`Limiter::hold`].
#[derive(Debug)]
pub enum TryHold<S: Store> {
    /// The slot is held until this is dropped.
    Held(Permit<S>),
    /// All slots are held by others.
    Refused(Decision),
}

/// A slot of a concurrency limit, released on drop.
///
/// The store releases the slot by itself when its lease expires, in case this process dies. Work
/// that takes longer than the lease has to [`renew`](Permit::renew) it.
#[derive(Debug)]
#[must_use = "the slot is given back when this is dropped"]
pub struct Permit<S: Store> {
    limiter: Limiter<S>,
    limit: Limit,
    key: Box<[u8]>,
    /// `None` for a hold of no slots, and after the release.
    receipt: Option<Receipt>,
}

impl<S: Store> Permit<S> {
    pub(crate) fn new(limiter: Limiter<S>, check: Check<'_>, receipt: Option<Receipt>) -> Self {
        let (limit, key) = (check.limit().clone(), check.key().into());
        Self { limiter, limit, key, receipt }
    }

    /// Returns the receipt of the slot; `None` for a hold of no slots.
    pub fn receipt(&self) -> Option<&Receipt> {
        self.receipt.as_ref()
    }

    /// Extends the lease of the slot, from now.
    ///
    /// Refused as lost if the lease had expired: another caller may have the slot by now, so more
    /// requests may be in flight than the limit allows.
    pub fn renew(
        &self,
    ) -> Pending<S, impl PendingOperation<Answer = Result<Decision, CheckError>> + '_> {
        let run = self.receipt.map_or(Operation::peek(), Operation::Renew);
        self.limiter.check(Check::new(&self.limit, &self.key[..]).with_operation(run))
    }

    /// Releases the slot and reports whether it was still held.
    ///
    /// Refused as lost if its lease had expired.
    pub fn release(
        self,
    ) -> Pending<S, impl PendingOperation<Answer = Result<Decision, CheckError>>> {
        Pending::new(move || async move {
            let mut held = self;
            let run = held.receipt.map_or(Operation::peek(), |receipt| Operation::Settle {
                receipt,
                actual: Cost::ZERO,
            });
            let check = Check::new(&held.limit, &held.key[..]).with_operation(run);
            let decision = held.limiter.check(check).await?;
            held.receipt = None;
            Ok(decision)
        })
    }
}

impl<S: Store> Drop for Permit<S> {
    fn drop(&mut self) {
        if let Some(receipt) = self.receipt.take() {
            self.limiter.refund_detached(&self.limit, &self.key, receipt);
        }
    }
}
