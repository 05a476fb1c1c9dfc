//! The guarantees of every decision.

use sluicegate_core::{Decision, Operation, Receipt, Ruling, Span, Take};

use crate::fuzzed_check::FuzzedCheck;
use crate::limits::NamedLimit;

/// Asserts that the numbers of all decisions of a set agree with the checks and each other.
pub(crate) fn assert_numbers(
    limits: &[NamedLimit],
    checks: &[FuzzedCheck],
    ruling: Ruling,
    decisions: &[Option<Decision>],
) {
    for (check, decision) in checks.iter().zip(decisions) {
        let Some(decision) = decision else { continue };
        assert_ne!(ruling, Ruling::Stale, "{decision:?}");
        assert!(decision.remaining() <= decision.limit(), "{decision:?}");
        assert_ne!(decision.retry_after(), Some(Span::ZERO), "{decision:?}");
        if let Some(receipt) = decision.receipt() {
            assert_eq!(Receipt::from_bytes(&receipt.to_bytes()), Some(*receipt), "{decision:?}");
        }
        if check.rescales() {
            assert!(decision.is_allowed() && decision.granted() == 0, "{decision:?}");
        }
        if let Operation::Take(take) = check.operation {
            assert_take(limits[check.subject.limit].limit.uses_up(), &take, ruling, decision);
        }
    }
}

/// A take that uses nothing is granted in full, without a receipt.
fn assert_take(uses_up: bool, take: &Take, ruling: Ruling, decision: &Decision) {
    assert!(decision.granted() <= take.most(), "{take:?}: {decision:?}");
    assert!(!uses_up || decision.granted() <= decision.limit(), "{take:?}: {decision:?}");
    if ruling == Ruling::Admitted && decision.is_allowed() {
        assert!(decision.granted() >= take.least(), "{take:?}: {decision:?}");
        let charged = (uses_up && decision.granted() > 0).then_some(decision.granted());
        let receipt = decision.receipt().map(Receipt::units);
        assert_eq!(receipt, charged, "{take:?}: {decision:?}");
    }
    if let Some(patience) = take.max_delay() {
        assert!(decision.delay() <= patience, "{take:?}: {decision:?}");
    }
}

/// Asserts that a refused set has granted nothing.
pub(crate) fn assert_nothing_granted(decisions: &[Option<Decision>]) {
    for decision in decisions.iter().flatten() {
        assert_eq!(decision.granted(), 0, "{decision:?}");
        assert_eq!(decision.receipt(), None, "{decision:?}");
    }
}
