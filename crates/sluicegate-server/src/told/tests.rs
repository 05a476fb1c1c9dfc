//! What is told, read back as a client would.

mod problems;
mod random;
mod settings;
mod standing;

use std::time::Duration;

use serde_json::Value as Json;
use sfv::{BareItem, List, ListEntry, Parser};
use sluicegate::{Limiter, ManualClock, Memory};
use sluicegate_rules::{Request, RuleLimiter, RuleSet, Value};

use super::Told;

/// Rules in memory, with the hands of their clock.
pub(super) struct Stage {
    gate: RuleLimiter<Memory<ManualClock>>,
    pub(super) clock: ManualClock,
}

/// What was told about one request.
#[derive(Debug)]
pub(super) struct Heard {
    pub(super) allowed: bool,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) problem: Json,
}

/// An item of a list: its name and its parameters.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Policy {
    pub(super) name: String,
    pub(super) numbers: Vec<(String, i64)>,
    pub(super) unit: Option<String>,
}

impl Stage {
    pub(super) fn new(rules: &str) -> Self {
        let rules = RuleSet::parse(rules).unwrap_or_else(|report| panic!("{report}\n{rules}"));
        let clock = ManualClock::default();
        let limiter = Limiter::new(Memory::with_clock(clock.clone()));
        Self { gate: RuleLimiter::new(limiter, rules).unwrap(), clock }
    }

    /// Asks for one unit.
    pub(super) fn ask(&self) -> Heard {
        self.ask_with(1, [])
    }

    pub(super) fn ask_with<const N: usize>(
        &self,
        cost: u64,
        attributes: [(&str, Value<'_>); N],
    ) -> Heard {
        let request = Request::new().peer([203, 0, 113, 9].into()).attributes(&attributes);
        self.hear(&request.cost(cost))
    }

    pub(super) fn hear(&self, request: &Request<'_>) -> Heard {
        use sluicegate::{Clock as _, Store as _};
        let now = self.gate.limiter().store().clock().now();
        let heard = self.gate.decide_now(request, |answered| {
            let told = Told::answered(answered);
            let (mut headers, mut line) = (Vec::new(), String::from("left behind"));
            told.each(now, &mut line, |header, value| {
                headers.push((header.as_str(), value.to_owned()));
            });
            let status = told.refused().map_or(200, super::Kind::status);
            let problem = serde_json::to_value(told.problem(status)).unwrap();
            Heard { allowed: told.refused().is_none(), headers, problem }
        });
        heard.unwrap()
    }

    /// Reports a failure.
    pub(super) fn fail(&self) {
        let request = Request::new().peer([203, 0, 113, 9].into());
        let rules = self.gate.rules();
        let (directory, mut desk) =
            (sluicegate_rules::Directory::new(), sluicegate_rules::Desk::new());
        let purpose = sluicegate_rules::Purpose::Failure(None);
        let now = sluicegate::Clock::now(&self.clock);
        let planned = rules.plan_for(purpose, &directory, &request, now, &mut desk);
        self.gate.limiter().check_plan(planned.plan()).now().unwrap();
    }

    pub(super) fn wait(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
    }
}

impl Heard {
    /// A header's value.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(other, _)| *other == name);
        let value = found.next().map(|(_, value)| value.as_str());
        assert!(found.next().is_none(), "{name} is told twice: {self:?}");
        value
    }

    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.get(name).map(|value| value.parse().unwrap())
    }

    /// The items of a list, as the draft's grammar has them.
    pub(super) fn list(&self, name: &str) -> Vec<Policy> {
        let Some(text) = self.get(name) else { return Vec::new() };
        let list: List = Parser::new(text).parse().unwrap();
        assert!(!list.is_empty(), "an empty list is no field");
        list.iter().map(Policy::of).collect()
    }

    pub(super) fn names(&self, list: &str) -> Vec<String> {
        self.list(list).into_iter().map(|item| item.name).collect()
    }
}

impl Policy {
    fn of(entry: &ListEntry) -> Self {
        let ListEntry::Item(item) = entry else { panic!("not an item: {entry:?}") };
        let BareItem::String(name) = &item.bare_item else { panic!("not a string: {item:?}") };
        let (mut numbers, mut unit) = (Vec::new(), None);
        for (key, value) in &item.params {
            match value {
                BareItem::Integer(number) => numbers.push((key.to_string(), i64::from(*number))),
                BareItem::String(text) if key.as_str() == "qu" => unit = Some(text.to_string()),
                other => panic!("{key} is neither a number nor a unit: {other:?}"),
            }
        }
        Self { name: name.to_string(), numbers, unit }
    }

    pub(super) fn number(&self, name: &str) -> Option<i64> {
        self.numbers.iter().find(|(key, _)| key == name).map(|(_, number)| *number)
    }
}
