//! A history that nothing explains, told so that a person can see why.

use std::fmt::{self, Display, Formatter};

use sluicegate::{Answer, Applied, Ask, Check, Decision, Gate, Id, Ruling, Span, Time};

use super::operation::Operation;
use super::search::{self, Stuck};
use crate::subject::Bare;

/// Tells how far the best order got and what stood in its way.
pub(super) fn stuck(operations: &[Operation<'_>], Stuck(order): &Stuck) -> String {
    let mut state = Bare::default();
    for index in order {
        operations[*index].replay(&mut state);
    }
    let blocked: Vec<String> = search::next(operations, order)
        .into_iter()
        .map(|index| {
            let (applied, decisions) = operations[index].replay(&mut state.clone());
            format!("{index:>4} would be {}", Answered(&applied, &decisions))
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

/// Tells of an answer that was given at a time the clock did not show.
pub(super) fn untimely(operations: &[Operation<'_>], index: usize) -> String {
    let (earliest, latest) = operations[index].between;
    let start = start(operations);
    format!(
        "operation {index} was decided at a time that its clock did not show during the call\n{}\
         the clock showed {} before it and {} after it\n",
        all(operations),
        Since(start, earliest),
        Since(start, latest),
    )
}

fn all(operations: &[Operation<'_>]) -> String {
    let start = start(operations);
    let line = |(index, operation)| format!("{index:>4} {}\n", Line(start, operation));
    operations.iter().enumerate().map(line).collect()
}

fn start(operations: &[Operation<'_>]) -> Time {
    let times = operations.iter().map(|operation| operation.between.0.min(operation.applied.now));
    times.min().unwrap_or_default()
}

/// One operation on one line.
struct Line<'s, 'a>(Time, &'s Operation<'a>);

impl Display for Line<'_, '_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self(start, operation) = self;
        let Operation { thread, invoked, returned, applied, decisions, .. } = operation;
        let mode = if operation.independent { "each of " } else { "" };
        let checks: Vec<String> =
            operation.checks.iter().map(|check| Asked(check).to_string()).collect();
        write!(
            f,
            "thread {thread}, tickets {invoked} to {returned}, at {}: {mode}{} -> {}",
            Since(*start, applied.now),
            checks.join(", "),
            Answered(applied, decisions),
        )
    }
}

/// A time, told from the start of the history.
struct Since(Time, Time);

impl Display for Since {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "+{}", self.1.since(self.0))
    }
}

/// What a check asked.
struct Asked<'s, 'a>(&'s Check<'a>);

impl Display for Asked<'_, '_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let check = self.0;
        let or = if check.is_alternative() { "or " } else { "" };
        let gate = if check.gate() == Gate::Observe { "observed " } else { "" };
        let key = String::from_utf8_lossy(check.key());
        write!(f, "{or}{gate}{}({key}) ", check.limit().name())?;
        match check.asks() {
            Ask::Take(take) if take.most() == 0 => f.write_str("peek"),
            Ask::Take(take) => {
                write!(f, "take {}", take.least())?;
                if take.most() > take.least() {
                    write!(f, " to {}", take.most())?;
                }
                take.patience().map_or(Ok(()), |patience| write!(f, " within {patience}"))
            }
            Ask::Charge(cost) => write!(f, "charge {cost}"),
            Ask::Refund(cost) => write!(f, "refund {cost}"),
            Ask::Settle { receipt, actual } => {
                write!(f, "settle {} to {actual}", Name(receipt.id()))
            }
            Ask::Renew(receipt) => write!(f, "renew {}", Name(receipt.id())),
            Ask::Rescale { from, id } => write!(f, "rescale {:x} from {from}", id.to_bits()),
            Ask::Reset => f.write_str("reset"),
        }
    }
}

/// A receipt's name: the ticket its set was invoked with, and which of its checks it is of.
struct Name(Id);

impl Display for Name {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let bits = self.0.to_bits();
        write!(f, "receipt {}.{}", bits >> 8, bits & 0xff)
    }
}

/// What a set was answered.
struct Answered<'s>(&'s Applied, &'s [Option<Decision>]);

impl Display for Answered<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0.ruling {
            Ruling::Admitted => "admitted",
            Ruling::Refused => "refused",
            Ruling::Stale => "stale",
            Ruling::Contradictory => "contradictory",
        })?;
        let each = |decision: &Option<Decision>| {
            decision.as_ref().map_or_else(|| "not asked".to_owned(), |it| Decided(it).to_string())
        };
        let decisions: Vec<String> = self.1.iter().map(each).collect();
        write!(f, " [{}]", decisions.join("; "))
    }
}

/// What one of its checks was answered.
struct Decided<'s>(&'s Decision);

impl Display for Decided<'_> {
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
            Some(receipt) => write!(f, ", {}", Name(receipt.id())),
            None => Ok(()),
        }
    }
}
