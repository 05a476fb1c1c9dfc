//! A change of tier: which limits carry units over from another quota, and how.

use super::{Kind, Limit};
use crate::algorithm::bucket::Bucket;
use crate::algorithm::queue::Queue;
use crate::quota::Quota;
use crate::state::State;
use crate::time::{Span, Time};

/// One limit under the quota that a caller had, and under the one that it has now.
pub(crate) struct Tiers<'l> {
    from: Bucket,
    to: &'l Bucket,
}

impl Limit {
    /// Whether the state of this limit is a time, which another quota reads as other units.
    /// Whatever counts units keeps them without being told.
    pub(crate) const fn has_tiers(&self) -> bool {
        matches!(self.kind, Kind::TokenBucket(_) | Kind::LeakyBucket(_) | Kind::Queue(_))
    }

    /// This limit and the one it was under `from`; `None` if it does not depend on it, or if
    /// there can have been no such limit.
    pub(crate) fn tiers(&self, from: Quota) -> Option<Tiers<'_>> {
        let (from, to) = match &self.kind {
            Kind::TokenBucket(to) | Kind::LeakyBucket(to) => (Self::bucket(from), to),
            Kind::Queue(Queue(to)) => (Self::queue_of(from), to),
            _ => return None,
        };
        Some(Tiers { from: from.ok()?, to })
    }
}

impl Tiers<'_> {
    /// The limit as it was.
    pub(super) const fn from(&self) -> &Bucket {
        &self.from
    }

    /// Reads a state that was written under the old quota, and writes it under the new one.
    pub(crate) fn carry_over(&self, state: &mut State, now: Time) {
        self.to.take_over(&self.from, state, now);
    }

    /// How long it has to be remembered that this was done: until the bucket is full again even if
    /// nothing could be deeper in debt, under either quota. By then there is nothing to carry over.
    pub(crate) fn remembered_for(&self) -> Span {
        self.from.farthest().max(self.to.farthest()).max(Self::LEAST_REMEMBERED)
    }

    /// However quick both quotas are, nobody says the same thing again later than this.
    const LEAST_REMEMBERED: Span = Span::from_secs(60);
}
