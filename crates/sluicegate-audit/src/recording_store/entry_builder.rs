//! The conversion of decisions to trace entries.

use sluicegate_core::{Check, Decision, Limit, Operation, Parameters, Time};

use crate::trace::entry::{TraceEntry, TraceEvent};

/// The entry of one decision.
#[derive(Debug)]
pub(super) enum RecordedCheck {
    /// An entry, still without names.
    Entry(Box<TraceEntry>),
    /// No entry, because nothing that a trace contains was changed.
    Nothing,
    /// A change that a trace cannot express.
    Unclear,
}

impl RecordedCheck {
    fn entry(entry: TraceEntry) -> Self {
        Self::Entry(Box::new(entry))
    }
}

/// Returns the entry of a decision on a check at this time.
pub(super) fn written(check: &Check<'_>, decision: &Decision, at: Time) -> RecordedCheck {
    let limit = check.limit();
    let event = |event| TraceEntry::event(event, "", "", at);
    match check.operation() {
        Operation::Take(take) => {
            let entry = TraceEntry::decision("", "", at, take.least(), decision);
            let entry = match decision.receipt() {
                Some(receipt) if limit.holds() => entry.holding(receipt),
                _ => entry,
            };
            // A limit that cannot promise a later turn refuses as if there were no patience.
            let patience = take.max_delay().filter(|_| !limit.longest_delay().is_zero());
            RecordedCheck::entry(match patience {
                Some(patience) => entry.with_max_delay(patience),
                None => entry,
            })
        }
        // A rescale is a change of rules in a trace, which is already recorded.
        Operation::Rescale { .. } => RecordedCheck::Nothing,
        _ if !decision.is_allowed() => RecordedCheck::Nothing,
        Operation::Reset => RecordedCheck::entry(event(TraceEvent::Reset)),
        Operation::Renew(receipt) => {
            RecordedCheck::entry(event(TraceEvent::Renew).holding(&receipt))
        }
        Operation::Settle { receipt, actual } if limit.holds() && actual.units() == 0 => {
            RecordedCheck::entry(
                TraceEntry { cost: receipt.units(), ..event(TraceEvent::Release) }
                    .holding(&receipt),
            )
        }
        Operation::Settle { receipt, actual }
            if !limit.holds() && actual.units() < receipt.units() =>
        {
            let cost = receipt.units() - actual.units();
            RecordedCheck::entry(TraceEntry { cost, ..event(TraceEvent::Refund) })
        }
        Operation::Refund(cost) => {
            // If less is used than was refunded, the fraction of a unit comes back without being
            // reported.
            let part = u64::from(may_be_used_in_part(limit));
            match decision.granted().saturating_add(part).min(cost.units()) {
                0 => RecordedCheck::Nothing,
                cost => RecordedCheck::entry(TraceEntry { cost, ..event(TraceEvent::Refund) }),
            }
        }
        Operation::Charge(cost) if allows_debt(limit) => {
            RecordedCheck::entry(TraceEntry { cost: cost.units(), ..event(TraceEvent::Charge) })
        }
        Operation::Charge(_) | Operation::Settle { .. } => RecordedCheck::Unclear,
    }
}

/// Returns whether a part of a unit may be used.
fn may_be_used_in_part(limit: &Limit) -> bool {
    matches!(limit.figures(), Parameters::Bucket(_) | Parameters::Queue(_))
}

/// Returns whether a charge counts in full, as audits assume. Cooldowns are not audited.
fn allows_debt(limit: &Limit) -> bool {
    match limit.figures() {
        Parameters::Bucket(figures) | Parameters::Queue(figures) => figures.deepest > figures.full,
        Parameters::FixedWindow { amount, deepest }
        | Parameters::SlidingWindow { amount, deepest, .. }
        | Parameters::SlidingLog { amount, deepest, .. } => deepest > amount,
        Parameters::Concurrency { .. } => false,
        Parameters::Cooldown(_) => true,
    }
}
