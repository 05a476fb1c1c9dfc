//! `SLUICEGATE.CHECK`: the rules decide a request that the command describes.

use std::fmt;

use sluicegate::{CheckError, Cost, Decision, Span, Store};
use sluicegate_http::RateLimitInfo;
use sluicegate_rules::{AttributeValue, Attributes, Evaluation, Request, RuleLimiter};
use tracing::debug;

use super::arguments::Arguments;
use super::parser::Argument;
use super::reply_writer::{Excerpt, ReplyWriter, Version};
use crate::metrics::Metrics;

/// The most attributes of a request, because rules search all of them.
const MAX_ATTRIBUTES: usize = 256;
/// The name of the cost among the attributes.
const COST: &[u8] = b"cost";

/// The queue of requests to be decided, in order.
#[derive(Debug, Default)]
pub(super) struct Checks {
    queue: Vec<QueuedCheck>,
}

/// A request in the queue.
#[derive(Debug, Clone, Copy)]
struct QueuedCheck {
    /// The index of its first argument among those of all queued commands, and their count.
    first: usize,
    count: usize,
    cost: Option<u64>,
}

/// An error in the arguments of a `SLUICEGATE.CHECK`.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CheckArgumentError {
    NoValue(Vec<u8>),
    TooMany { found: usize },
    NotText(Vec<u8>),
    Twice(Vec<u8>),
    Cost(Vec<u8>),
}

impl Checks {
    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Queues the command whose arguments begin at `first`.
    pub(super) fn add(
        &mut self,
        first: usize,
        arguments: Arguments<'_>,
    ) -> Result<(), CheckArgumentError> {
        let fields = CheckFields { arguments };
        let cost = fields.validate()?;
        self.queue.push(QueuedCheck { first, count: arguments.len(), cost });
        Ok(())
    }

    /// Decides the queued requests, and writes their replies.
    pub(super) async fn decide<S: Store>(
        &mut self,
        gate: &RuleLimiter<S>,
        metrics: &Metrics,
        all: Arguments<'_>,
        (replies, version): (&mut ReplyWriter, Version),
    ) {
        let fields: Vec<CheckFields<'_>> =
            self.queue.iter().map(|queued| queued.fields(all)).collect();
        let requests: Vec<Request<'_>> = self
            .queue
            .iter()
            .zip(&fields)
            .map(|(queued, fields)| {
                let request = Request::new().attributes(fields);
                queued.cost.map_or(request, |units| request.cost(units))
            })
            .collect();
        let respond = |_, result: Result<&Evaluation<'_>, &CheckError>| match result {
            Ok(evaluation) => {
                metrics.evaluated(evaluation);
                answer(evaluation, replies, version);
            }
            Err(error) => replies.error(format_args!("ERR {error}")),
        };
        gate.check_batch(&requests, respond).await;
        metrics.resp().checks(self.queue.len());
        self.queue.clear();
    }
}

impl QueuedCheck {
    fn fields(self, all: Arguments<'_>) -> CheckFields<'_> {
        let positions = &all.positions[self.first..self.first + self.count];
        CheckFields { arguments: Arguments { positions, ..all } }
    }
}

/// The arguments of a command: alternating names and values of attributes.
struct CheckFields<'a> {
    arguments: Arguments<'a>,
}

impl<'a> CheckFields<'a> {
    fn pairs(&self) -> impl Iterator<Item = (&'a [u8], Option<&'a [u8]>)> {
        let Arguments { bytes, positions } = self.arguments;
        let pairs = positions[1..].chunks(2);
        pairs.map(move |pair: &[Argument]| {
            (pair[0].of(bytes), pair.get(1).map(|value| value.of(bytes)))
        })
    }

    /// Validates the attributes, and returns the cost if there is one.
    fn validate(&self) -> Result<Option<u64>, CheckArgumentError> {
        let found = self.pairs().count();
        if found > MAX_ATTRIBUTES {
            return Err(CheckArgumentError::TooMany { found });
        }
        let mut cost = None;
        for (index, (name, value)) in self.pairs().enumerate() {
            let Some(value) = value else { return Err(CheckArgumentError::NoValue(name.to_vec())) };
            let is_cost = name.eq_ignore_ascii_case(COST);
            let same =
                |other: &[u8]| other == name || (is_cost && other.eq_ignore_ascii_case(COST));
            if self.pairs().take(index).any(|(other, _)| same(other)) {
                return Err(CheckArgumentError::Twice(name.to_vec()));
            }
            let (Ok(_), Ok(text)) = (str::from_utf8(name), str::from_utf8(value)) else {
                return Err(CheckArgumentError::NotText(name.to_vec()));
            };
            if is_cost {
                let units = text.parse().ok().filter(|units| Cost::new(*units).is_ok());
                cost = Some(units.ok_or_else(|| CheckArgumentError::Cost(value.to_vec()))?);
            }
        }
        Ok(cost)
    }
}

impl Attributes for CheckFields<'_> {
    fn get(&self, name: &str) -> Option<AttributeValue<'_>> {
        let same = |found: &[u8]| found == name.as_bytes() && !found.eq_ignore_ascii_case(COST);
        let (_, value) = self.pairs().find(|(found, _)| same(found))?;
        str::from_utf8(value?).ok().map(AttributeValue::Text)
    }
}

/// Writes the reply: names and values in a fixed order, with -1 for a missing number.
fn answer(evaluation: &Evaluation<'_>, replies: &mut ReplyWriter, version: Version) {
    let (info, slot) = (RateLimitInfo::of(evaluation), evaluation.slot());
    if let Some(reason) = info.reason() {
        debug!(rule = info.rule(), reason, "refused");
    }
    let whole = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let known = info.strictest().filter(|limit| limit.is_known).map(|limit| limit.decision);
    let numbers = [
        ("limit", known.map(Decision::limit)),
        ("remaining", known.map(Decision::remaining)),
        ("retry_after_ms", info.retry_after().map(Span::as_millis_ceil)),
        ("reset_after_ms", known.map(|decision| decision.reset_after().as_millis_ceil())),
        ("delay_ms", Some(info.delay().as_millis_ceil())),
        ("cost", Some(info.cost())),
    ];
    let texts = [
        ("tier", info.tier()),
        ("identity", info.identity()),
        ("slot", slot.as_deref()),
        ("by", Some(info.by().as_str())),
    ];
    let text = |replies: &mut ReplyWriter, name: &str, value: Option<&str>| {
        replies.bulk(name);
        match value {
            Some(value) => replies.bulk(value),
            None => replies.null(version),
        }
    };
    replies.map(3 + numbers.len() + texts.len(), version);
    replies.bulk("allowed");
    replies.integer(i64::from(info.is_allowed()));
    text(replies, "rule", info.rule());
    text(replies, "reason", info.reason());
    for (name, number) in numbers {
        replies.bulk(name);
        replies.integer(number.map_or(-1, whole));
    }
    for (name, value) in texts {
        text(replies, name, value);
    }
}

impl fmt::Display for CheckArgumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoValue(name) => write!(
                f,
                "ERR the attribute '{}' has no value; send names and values in pairs, as in \
                 SLUICEGATE.CHECK user 42 path /checkout COST 1",
                Excerpt(name)
            ),
            Self::TooMany { found } => {
                write!(f, "ERR there are {found} attributes; send at most {MAX_ATTRIBUTES}")
            }
            Self::NotText(name) => {
                write!(f, "ERR the attribute '{}' is not UTF-8; send it as UTF-8", Excerpt(name))
            }
            Self::Twice(name) => {
                write!(
                    f,
                    "ERR the attribute '{}' is given more than once; give it once",
                    Excerpt(name)
                )
            }
            Self::Cost(found) => write!(
                f,
                "ERR the cost is '{}'; use a whole number from 0 to {}",
                Excerpt(found),
                Cost::MAX
            ),
        }
    }
}
