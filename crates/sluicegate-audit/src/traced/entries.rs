//! What a trace says about one answer.

use sluicegate_core::{Ask, Check, Decision, Figures, Limit, Time};

use crate::entry::{Entry, Event};

/// What a trace says about one answer.
#[derive(Debug)]
pub(super) enum Written {
    /// This, but for the names.
    Entry(Box<Entry>),
    /// Nothing: it changed nothing that a trace tells.
    Nothing,
    /// That something happened which it has no words for.
    Unclear,
}

impl Written {
    fn entry(entry: Entry) -> Self {
        Self::Entry(Box::new(entry))
    }
}

/// What a trace says about this answer to a check, decided at that time.
pub(super) fn written(check: &Check<'_>, decision: &Decision, at: Time) -> Written {
    let limit = check.limit();
    let event = |event| Entry::event(event, "", "", at);
    match check.asks() {
        Ask::Take(take) => {
            let entry = Entry::decision("", "", at, take.least(), decision);
            let entry = match decision.receipt() {
                Some(receipt) if limit.holds() => entry.holding(receipt),
                _ => entry,
            };
            // Who cannot be promised a later turn is refused as if it had no patience.
            let patience = take.patience().filter(|_| !limit.longest_delay().is_zero());
            Written::entry(match patience {
                Some(patience) => entry.patient(patience),
                None => entry,
            })
        }
        // A change of tier is a change of rules in a trace, which tells it already.
        Ask::Rescale { .. } => Written::Nothing,
        _ if !decision.is_allowed() => Written::Nothing,
        Ask::Reset => Written::entry(event(Event::Reset)),
        Ask::Renew(receipt) => Written::entry(event(Event::Renew).holding(&receipt)),
        Ask::Settle { receipt, actual } if limit.holds() && actual.units() == 0 => Written::entry(
            Entry { cost: receipt.units(), ..event(Event::Release) }.holding(&receipt),
        ),
        Ask::Settle { receipt, actual } if !limit.holds() && actual.units() < receipt.units() => {
            let cost = receipt.units() - actual.units();
            Written::entry(Entry { cost, ..event(Event::Refund) })
        }
        Ask::Refund(cost) => {
            // Where less is used than was given back, the rest of a unit comes back untold.
            let part = u64::from(may_be_used_in_part(limit));
            match decision.granted().saturating_add(part).min(cost.units()) {
                0 => Written::Nothing,
                cost => Written::entry(Entry { cost, ..event(Event::Refund) }),
            }
        }
        Ask::Charge(cost) if goes_into_debt(limit) => {
            Written::entry(Entry { cost: cost.units(), ..event(Event::Charge) })
        }
        Ask::Charge(_) | Ask::Settle { .. } => Written::Unclear,
    }
}

/// Whether a part of a unit may be used.
fn may_be_used_in_part(limit: &Limit) -> bool {
    matches!(limit.figures(), Figures::Bucket(_) | Figures::Queue(_))
}

/// Whether a charge counts as a whole, as audits take it. Of a cooldown they assert nothing.
fn goes_into_debt(limit: &Limit) -> bool {
    match limit.figures() {
        Figures::Bucket(figures) | Figures::Queue(figures) => figures.deepest > figures.full,
        Figures::FixedWindow { amount, deepest }
        | Figures::SlidingWindow { amount, deepest, .. }
        | Figures::SlidingLog { amount, deepest, .. } => deepest > amount,
        Figures::Concurrency { .. } => false,
        Figures::Cooldown(_) => true,
    }
}
