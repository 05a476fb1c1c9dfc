//! Tests of headers and problems, read back as a client reads them.

mod problems;
mod random;
mod settings;
mod standing;

use std::time::Duration;

use serde_json::Value as Json;
use sfv::{BareItem, List, ListEntry, Parser};
use sluicegate::{Limiter, ManualClock, Memory};
use sluicegate_rules::{AttributeValue, Request, RuleLimiter, RuleSet};

use super::RateLimitInfo;
use crate::Audience;

/// A limiter in memory, with a manual clock.
pub(super) struct TestLimiter {
    limiter: RuleLimiter<Memory<ManualClock>>,
    pub(super) clock: ManualClock,
}

/// The headers and the problem of one response.
#[derive(Debug)]
pub(super) struct Response {
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

impl TestLimiter {
    pub(super) fn new(rules: &str) -> Self {
        let rules = RuleSet::parse(rules).unwrap_or_else(|report| panic!("{report}\n{rules}"));
        let clock = ManualClock::default();
        let limiter = Limiter::new(Memory::with_clock(clock.clone()));
        Self { limiter: RuleLimiter::new(limiter, rules).unwrap(), clock }
    }

    /// Sends a request for one unit.
    pub(super) fn request(&self) -> Response {
        self.request_with(1, [])
    }

    pub(super) fn request_with<const N: usize>(
        &self,
        cost: u64,
        attributes: [(&str, AttributeValue<'_>); N],
    ) -> Response {
        let request = Request::new().peer([203, 0, 113, 9].into()).attributes(&attributes);
        self.send(&request.cost(cost))
    }

    pub(super) fn send(&self, request: &Request<'_>) -> Response {
        use sluicegate::{Clock as _, Store as _};
        let now = self.limiter.limiter().store().clock().now();
        let response = self
            .limiter
            .check(request, |evaluation| {
                let info = RateLimitInfo::of(evaluation);
                let (mut headers, mut line) = (Vec::new(), String::from("left over"));
                info.for_each_header(now, &mut line, |header, value| {
                    headers.push((header.as_str(), value.to_owned()));
                });
                let status = info.refused().map_or(200, super::RefusalKind::status);
                let problem =
                    serde_json::to_value(info.problem(status, Audience::Operator)).unwrap();
                Response { allowed: info.refused().is_none(), headers, problem }
            })
            .now();
        response.unwrap()
    }

    /// Reports a failure.
    pub(super) fn fail(&self) {
        let request = Request::new().peer([203, 0, 113, 9].into());
        let rules = self.limiter.rules();
        let (directory, mut buffer) =
            (sluicegate_rules::Directory::new(), sluicegate_rules::PlanBuffer::new());
        let purpose = sluicegate_rules::Purpose::Failure(None);
        let now = sluicegate::Clock::now(&self.clock);
        let planned = rules.plan(&directory, &request.purpose(purpose), now, &mut buffer);
        self.limiter.limiter().check_plan(planned.plan()).now().unwrap();
    }

    pub(super) fn wait(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
    }
}

impl Response {
    /// Returns the value of a header.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(other, _)| *other == name);
        let value = found.next().map(|(_, value)| value.as_str());
        assert!(found.next().is_none(), "{name} occurs twice: {self:?}");
        value
    }

    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.get(name).map(|value| value.parse().unwrap())
    }

    /// Returns the items of a list, parsed by the grammar of the draft.
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
