//! Conversion of a bucket's state after a change of tier or quota.

use super::{Limit, LimitParameters};
use crate::algorithm::bucket::Bucket;
use crate::algorithm::queue::Queue;
use crate::quota::Quota;
use crate::state::State;
use crate::time::{Span, Time};

/// A limit under the caller's previous quota and under its current one.
pub(crate) struct Rescale<'l> {
    from: Bucket,
    to: &'l Bucket,
}

impl Limit {
    /// Returns whether the state of this limit is a time, whose units depend on the quota.
    ///
    /// Limits that count units keep their count.
    pub(crate) const fn has_tiers(&self) -> bool {
        matches!(
            self.kind,
            LimitParameters::TokenBucket(_)
                | LimitParameters::LeakyBucket(_)
                | LimitParameters::Queue(_)
        )
    }

    /// Returns the conversion from `from` to this limit's quota.
    ///
    /// `None` if this limit does not depend on its quota, or can never have had that one.
    pub(crate) fn tiers(&self, from: Quota) -> Option<Rescale<'_>> {
        let (from, to) = match &self.kind {
            LimitParameters::TokenBucket(to) | LimitParameters::LeakyBucket(to) => {
                (Self::bucket(from), to)
            }
            LimitParameters::Queue(Queue(to)) => (Self::queue_of(from), to),
            _ => return None,
        };
        Some(Rescale { from: from.ok()?, to })
    }
}

impl Rescale<'_> {
    /// Returns the limit under the previous quota.
    pub(super) const fn from(&self) -> &Bucket {
        &self.from
    }

    /// Converts a state from the previous quota to the current one.
    pub(crate) fn carry_over(&self, state: &mut State, now: Time) {
        self.to.take_over(&self.from, state, now);
    }

    /// Returns how long the conversion has to be stored as done.
    ///
    /// Until the bucket is full again even from its deepest possible debt under either quota. By
    /// then there is nothing to convert.
    pub(crate) fn remembered_for(&self) -> Span {
        self.from.longest_recovery().max(self.to.longest_recovery()).max(Self::LEAST_REMEMBERED)
    }

    /// However fast both quotas are, the operation is not repeated later than this.
    const LEAST_REMEMBERED: Span = Span::from_secs(60);
}
