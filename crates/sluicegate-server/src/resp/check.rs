//! `SLUICEGATE.CHECK`: the command says what is known of a request; the rules decide.

use std::fmt;

use sluicegate::{CheckError, Cost, Store};
use sluicegate_rules::{Answered, Attributes, Request, RuleLimiter, Value};
use tracing::debug;

use super::arguments::Arguments;
use super::parsing::Argument;
use super::replies::{Replies, Shown, Version};
use crate::http::Decided;
use crate::metrics::Metrics;

/// The most attributes of a request: rules look through all of them.
const MOST: usize = 256;
/// What stands before a cost, where an attribute's name would.
const COST: &[u8] = b"cost";

/// Requests that wait to be decided, in their order.
#[derive(Debug, Default)]
pub(super) struct Checks {
    waiting: Vec<Asked>,
}

/// A request that waits to be decided.
#[derive(Debug, Clone, Copy)]
struct Asked {
    /// Where its arguments begin among those of all that wait, and how many it has.
    first: usize,
    count: usize,
    cost: Option<u64>,
}

/// What is wrong with a command.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Mistake {
    NoValue(Vec<u8>),
    TooMany { found: usize },
    NotText(Vec<u8>),
    Twice(Vec<u8>),
    Cost(Vec<u8>),
}

impl Checks {
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Adds the command whose arguments begin there to those that wait.
    pub(super) fn add(&mut self, first: usize, arguments: Arguments<'_>) -> Result<(), Mistake> {
        let said = Said { arguments };
        let cost = said.read()?;
        self.waiting.push(Asked { first, count: arguments.len(), cost });
        Ok(())
    }

    /// Decides those that wait, and answers them.
    pub(super) async fn decide<S: Store>(
        &mut self,
        gate: &RuleLimiter<S>,
        metrics: &Metrics,
        all: Arguments<'_>,
        (replies, version): (&mut Replies, Version),
    ) {
        let said: Vec<Said<'_>> = self.waiting.iter().map(|asked| asked.said(all)).collect();
        let requests: Vec<Request<'_>> = self
            .waiting
            .iter()
            .zip(&said)
            .map(|(asked, said)| {
                let request = Request::new().attributes(said);
                asked.cost.map_or(request, |units| request.cost(units))
            })
            .collect();
        let respond = |_, answered: Result<&Answered<'_>, &CheckError>| match answered {
            Ok(answered) => {
                metrics.answered_by_rules(answered);
                answer(&Decided::answered(answered), replies, version);
            }
            Err(error) => replies.error(format_args!("ERR {error}")),
        };
        gate.decide_many(&requests, respond).await;
        metrics.resp().checks(self.waiting.len());
        self.waiting.clear();
    }
}

impl Asked {
    fn said(self, all: Arguments<'_>) -> Said<'_> {
        let places = all.places.get(self.first..self.first + self.count).unwrap_or_default();
        Said { arguments: Arguments { places, ..all } }
    }
}

/// Attributes: names and values in turn, behind the name of the command.
struct Said<'a> {
    arguments: Arguments<'a>,
}

impl<'a> Said<'a> {
    fn pairs(&self) -> impl Iterator<Item = (&'a [u8], Option<&'a [u8]>)> {
        let Arguments { bytes, places } = self.arguments;
        let pairs = places.get(1..).unwrap_or_default().chunks(2);
        pairs.filter_map(move |pair: &[Argument]| match pair {
            [name, value] => Some((name.of(bytes), Some(value.of(bytes)))),
            [name] => Some((name.of(bytes), None)),
            _ => None,
        })
    }

    /// The cost, if everything is as it has to be.
    fn read(&self) -> Result<Option<u64>, Mistake> {
        let found = self.pairs().count();
        if found > MOST {
            return Err(Mistake::TooMany { found });
        }
        let mut cost = None;
        for (place, (name, value)) in self.pairs().enumerate() {
            let Some(value) = value else { return Err(Mistake::NoValue(name.to_vec())) };
            let is_cost = name.eq_ignore_ascii_case(COST);
            let same =
                |other: &[u8]| other == name || (is_cost && other.eq_ignore_ascii_case(COST));
            if self.pairs().take(place).any(|(other, _)| same(other)) {
                return Err(Mistake::Twice(name.to_vec()));
            }
            let (Ok(_), Ok(text)) = (str::from_utf8(name), str::from_utf8(value)) else {
                return Err(Mistake::NotText(name.to_vec()));
            };
            if is_cost {
                let units = text.parse().ok().filter(|units| Cost::new(*units).is_ok());
                cost = Some(units.ok_or_else(|| Mistake::Cost(value.to_vec()))?);
            }
        }
        Ok(cost)
    }
}

impl Attributes for Said<'_> {
    fn get(&self, name: &str) -> Option<Value<'_>> {
        let same = |found: &[u8]| found == name.as_bytes() && !found.eq_ignore_ascii_case(COST);
        let (_, value) = self.pairs().find(|(found, _)| same(found))?;
        str::from_utf8(value?).ok().map(Value::Text)
    }
}

/// The answer: names and values in an order that stays, -1 for a number that there is not.
fn answer(decided: &Decided<'_>, replies: &mut Replies, version: Version) {
    let summary = decided.summary();
    if let Some(reason) = summary.reason {
        debug!(rule = summary.rule, reason, "refused");
    }
    let whole = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let numbers = [
        ("limit", summary.limit),
        ("remaining", summary.remaining),
        ("retry_after_ms", summary.retry_after_ms),
        ("reset_after_ms", summary.reset_after_ms),
        ("delay_ms", Some(summary.delay_ms)),
        ("cost", Some(summary.cost)),
    ];
    let texts = [
        ("tier", summary.tier),
        ("identity", summary.identity),
        ("slot", summary.slot),
        ("by", Some(summary.by.as_str())),
    ];
    let text = |replies: &mut Replies, name: &str, value: Option<&str>| {
        replies.bulk(name);
        match value {
            Some(value) => replies.bulk(value),
            None => replies.null(version),
        }
    };
    replies.map(3 + numbers.len() + texts.len(), version);
    replies.bulk("allowed");
    replies.integer(i64::from(summary.allowed));
    text(replies, "rule", summary.rule);
    text(replies, "reason", summary.reason);
    for (name, number) in numbers {
        replies.bulk(name);
        replies.integer(number.map_or(-1, whole));
    }
    for (name, value) in texts {
        text(replies, name, value);
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoValue(name) => write!(
                f,
                "ERR the attribute '{}' has no value; send names and values in turn, as in \
                 SLUICEGATE.CHECK user 42 path /checkout COST 1",
                Shown(name)
            ),
            Self::TooMany { found } => {
                write!(f, "ERR there are {found} attributes; send at most {MOST}")
            }
            Self::NotText(name) => {
                write!(f, "ERR the attribute '{}' is not UTF-8; send it as UTF-8", Shown(name))
            }
            Self::Twice(name) => {
                write!(
                    f,
                    "ERR the attribute '{}' is given more than once; give it once",
                    Shown(name)
                )
            }
            Self::Cost(found) => write!(
                f,
                "ERR the cost is '{}'; use a whole number from 0 to {}",
                Shown(found),
                Cost::MAX
            ),
        }
    }
}
