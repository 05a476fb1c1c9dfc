//! The applied limits that are reported to callers, the strictest first.

use std::cmp::Ordering;

use sluicegate::{Decision, Verdict};

use super::{LimitOutcome, RateLimitInfo};

/// The most checks of a plan.
const MAX: usize = 64;

/// The indices of the reported checks in their plan, the strictest first.
///
/// An array, so that no request allocates for it.
pub(super) struct AppliedLimits {
    indices: [u8; MAX],
    count: usize,
}

impl RateLimitInfo<'_> {
    /// Returns the limits to report, in order.
    pub(super) fn applied(&self) -> AppliedLimits {
        let mut applied = AppliedLimits { indices: [0; MAX], count: 0 };
        let Some((checks, verdict)) = self.decided else { return applied };
        for limit in self.limits().filter(is_reported) {
            if let Ok(index) = u8::try_from(limit.index) {
                applied.insert(index, |one, other| order(verdict, one, other));
            }
        }
        let digest =
            |index: u8| checks.get(usize::from(index)).map(|check| check.limit().name_digest());
        applied.keep_first(|one, other| digest(one) == digest(other));
        applied
    }
}

/// Returns whether the state of a limit is reported to the caller.
fn is_reported(limit: &LimitOutcome<'_>) -> bool {
    // A shadow blocks no request, so that only the operator needs its state.
    !limit.is_shadow
        && limit.is_known
        && limit.rule.is_none_or(sluicegate_rules::Rule::is_reported)
        // Failures are not requests; and the number of attempts that are left would help an
        // attacker that guesses passwords.
        && !(limit.decision.is_allowed() && limit.check.limit().counts_failures())
}

impl AppliedLimits {
    pub(super) fn indices(&self) -> impl Iterator<Item = u8> {
        self.indices.iter().take(self.count).copied()
    }

    /// Keeps only the strictest check of each limit.
    ///
    /// A group of requests may check one limit for several callers.
    fn keep_first(&mut self, same: impl Fn(u8, u8) -> bool) {
        let mut kept = 1;
        for position in 1..self.count {
            let Some(index) = self.indices.get(position).copied() else { return };
            let is_known = self.indices().take(kept).any(|earlier| same(earlier, index));
            if let Some(free) = self.indices.get_mut(kept).filter(|_| !is_known) {
                *free = index;
                kept += 1;
            }
        }
        self.count = self.count.min(kept);
    }

    /// Inserts an index in order, after its equals.
    fn insert(&mut self, index: u8, order: impl Fn(u8, u8) -> Ordering) {
        let before = self.indices().take_while(|other| order(*other, index).is_le()).count();
        self.count = (self.count + 1).min(MAX);
        if let Some(rest) = self.indices.get_mut(before..self.count) {
            rest.rotate_right(1);
            if let Some(first) = rest.first_mut() {
                *first = index;
            }
        }
    }
}

/// Orders checks: the strictest, then those that refuse, then by the smallest share left.
fn order(verdict: &Verdict, one: u8, other: u8) -> Ordering {
    let (one, other) = (usize::from(one), usize::from(other));
    let strictest = verdict.strictest().map(|strictest| strictest.check);
    let decision = |index: usize| verdict.decisions().get(index).and_then(Option::as_ref);
    let (Some(mine), Some(theirs)) = (decision(one), decision(other)) else {
        return Ordering::Equal;
    };
    let share =
        |this: &Decision, that: &Decision| u128::from(this.remaining()) * u128::from(that.limit());
    (strictest == Some(other))
        .cmp(&(strictest == Some(one)))
        .then(mine.is_allowed().cmp(&theirs.is_allowed()))
        .then(share(mine, theirs).cmp(&share(theirs, mine)))
}
