//! Readable reports of unexplained histories.

use std::fmt::{self, Display, Formatter};

use sluicegate::{Answer, Applied, ChargeId, Check, Decision, Operation, Ruling, Span, Time};

use super::invocation::Invocation;
use super::search::{self, NotLinearizable};
use crate::subject::MapStore;

/// Describes the longest order found, and why it could not be extended.
pub(super) fn not_linearizable(
    operations: &[Invocation<'_>],
    NotLinearizable(order): &NotLinearizable,
) -> String {
    let mut state = MapStore::default();
    for index in order {
        operations[*index].replay(&mut state);
    }
    let blocked: Vec<String> = search::next(operations, order)
        .into_iter()
        .map(|index| {
            let (applied, decisions) = operations[index].replay(&mut state.clone());
            format!("{index:>4} would be {}", SetOutcome(&applied, &decisions))
        })
        .collect();
    format!(
        "no order explains these answers\n{}\
         the longest beginning has {} of {}: {order:?}\n\
         after it could come, but\n{}\n",
        all(operations),
        order.len(),
        operations.len(),
        blocked.join("\n"),
    )
}

/// Describes an answer with a time that the clock did not have.
pub(super) fn untimely(operations: &[Invocation<'_>], index: usize) -> String {
    let (earliest, latest) = operations[index].between;
    let start = start(operations);
    format!(
        "operation {index} was decided at a time that its clock did not show during the call\n{}\
         the clock showed {} before it and {} after it\n",
        all(operations),
        RelativeTime(start, earliest),
        RelativeTime(start, latest),
    )
}

fn all(operations: &[Invocation<'_>]) -> String {
    let start = start(operations);
    let line = |(index, operation)| format!("{index:>4} {}\n", OperationLine(start, operation));
    operations.iter().enumerate().map(line).collect()
}

fn start(operations: &[Invocation<'_>]) -> Time {
    let times = operations.iter().map(|operation| operation.between.0.min(operation.applied.now));
    times.min().unwrap_or_default()
}

/// One operation on one line.
struct OperationLine<'s, 'a>(Time, &'s Invocation<'a>);

impl Display for OperationLine<'_, '_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self(start, operation) = self;
        let Invocation { thread, invoked, returned, applied, decisions, .. } = operation;
        let mode = if operation.independent { "each of " } else { "" };
        let checks: Vec<String> =
            operation.checks.iter().map(|check| CheckLine(check).to_string()).collect();
        write!(
            f,
            "thread {thread}, tickets {invoked} to {returned}, at {}: {mode}{} -> {}",
            RelativeTime(*start, applied.now),
            checks.join(", "),
            SetOutcome(applied, decisions),
        )
    }
}

/// A time relative to the start of the history.
struct RelativeTime(Time, Time);

impl Display for RelativeTime {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "+{}", self.1.since(self.0))
    }
}

/// A check.
struct CheckLine<'s, 'a>(&'s Check<'a>);

impl Display for CheckLine<'_, '_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let check = self.0;
        let or = if check.is_alternative() { "or " } else { "" };
        let key = String::from_utf8_lossy(check.key());
        write!(f, "{or}{}({key}) ", check.limit().name())?;
        match check.operation() {
            Operation::Take(take) if take.most() == 0 => f.write_str("peek"),
            Operation::Take(take) => {
                write!(f, "take {}", take.least())?;
                if take.most() > take.least() {
                    write!(f, " to {}", take.most())?;
                }
                take.max_delay().map_or(Ok(()), |patience| write!(f, " within {patience}"))
            }
            Operation::Charge(cost) => write!(f, "charge {cost}"),
            Operation::Refund(cost) => write!(f, "refund {cost}"),
            Operation::Settle { receipt, actual } => {
                write!(f, "settle {} to {actual}", ReceiptName(receipt.id()))
            }
            Operation::Renew(receipt) => write!(f, "renew {}", ReceiptName(receipt.id())),
            Operation::Rescale { from, id } => write!(f, "rescale {:x} from {from}", id.to_bits()),
            Operation::Reset => f.write_str("reset"),
        }
    }
}

/// The name of a receipt: the ticket of its set, and the index of its check.
struct ReceiptName(ChargeId);

impl Display for ReceiptName {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let bits = self.0.to_bits();
        write!(f, "receipt {}.{}", bits >> 8, bits & 0xff)
    }
}

/// The answer to a set.
struct SetOutcome<'s>(&'s Applied, &'s [Option<Decision>]);

impl Display for SetOutcome<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0.ruling {
            Ruling::Admitted => "admitted",
            Ruling::Refused => "refused",
            Ruling::Stale => "stale",
            Ruling::Contradictory => "contradictory",
        })?;
        let each = |decision: &Option<Decision>| {
            decision
                .as_ref()
                .map_or_else(|| "not asked".to_owned(), |it| DecisionOutcome(it).to_string())
        };
        let decisions: Vec<String> = self.1.iter().map(each).collect();
        write!(f, " [{}]", decisions.join("; "))
    }
}

/// The decision on one of its checks.
struct DecisionOutcome<'s>(&'s Decision);

impl Display for DecisionOutcome<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let decision = self.0;
        match decision.answer() {
            Answer::Allowed { delay: Span::ZERO } => write!(f, "yes {}", decision.granted()),
            Answer::Allowed { delay } => write!(f, "yes {} after {delay}", decision.granted()),
            Answer::Refused(refusal) => match refusal.retry_after() {
                Some(span) => write!(f, "{refusal} for {span}"),
                None => write!(f, "{refusal}"),
            },
        }?;
        write!(f, ", {} left, fresh in {}", decision.remaining(), decision.reset_after())?;
        match decision.receipt() {
            Some(receipt) => write!(f, ", {}", ReceiptName(receipt.id())),
            None => Ok(()),
        }
    }
}
