//! Policy names: the names of a rule's limits in responses.
//!
//! A single limit has the name of its rule. Several limits have a suffix each: `api/minute`,
//! `api/day`, `api/concurrent`, `api/soft`, `api/cooldown`. A limit has the same name for every
//! tier, so that after a change of tier a client sees the same policies with other numbers.

use std::borrow::Cow;

use sluicegate::{Limit, Per};

use crate::rule_set::limits::{LimitSet, RuleLimit};
use crate::rule_set::rule::Rule;

/// The policy names of a rule's limits, keyed by the digest of the limit's name.
#[derive(Debug, Default)]
pub(crate) struct PolicyNames(Vec<NamedPolicy>);

#[derive(Debug)]
struct NamedPolicy {
    limit: u64,
    policy: Box<str>,
}

impl PolicyNames {
    /// Creates the names for the limits of a rule.
    pub(crate) fn of(rule: &Rule) -> Self {
        let mut names = Self::default();
        let own = rule.limits.each().iter();
        let mut words: Vec<String> = own.clone().flat_map(words_of).collect();
        words.sort_unstable();
        words.dedup();
        let alone = words.len() < 2;
        for limits in own.chain(rule.overriding()) {
            for (rule_limit, word) in limits.rule_limits().iter().zip(words_of(limits)) {
                let known = alone && words.contains(&word);
                let policy =
                    if known { rule.name().to_owned() } else { format!("{}/{word}", rule.name()) };
                if let Some(soft) = &rule_limit.soft {
                    let dash = if known { "/" } else { "-" };
                    names.add(&soft.limit, format!("{policy}{dash}soft"));
                }
                names.add(&rule_limit.limit, policy);
            }
        }
        if let Some(cooling) = &rule.cooldown {
            let policy = if words.is_empty() {
                rule.name().to_owned()
            } else {
                format!("{}/cooldown", rule.name())
            };
            names.add(&cooling.limit, policy);
        }
        names
    }

    fn add(&mut self, limit: &Limit, policy: String) {
        let digest = limit.name_digest();
        if self.0.iter().all(|named| named.limit != digest) {
            self.0.push(NamedPolicy { limit: digest, policy: policy.into() });
        }
    }

    /// The name of a limit, if it is one of the rule's own.
    pub(crate) fn get(&self, limit: &Limit) -> Option<&str> {
        let digest = limit.name_digest();
        self.0.iter().find(|named| named.limit == digest).map(|named| &*named.policy)
    }
}

impl Rule {
    /// The name of one of its limits in responses.
    ///
    /// The same for every tier, and unique among the limits of a request.
    pub fn policy_name<'n>(&'n self, limit: &'n Limit) -> Cow<'n, str> {
        if let Some(name) = self.policies.get(limit) {
            return Cow::Borrowed(name);
        }
        // A limit of a single caller, over a period that the rule itself does not have.
        if limit.holds() {
            return Cow::Owned(format!("{}/concurrent", self.name()));
        }
        let behind = limit.name().strip_prefix(self.name()).unwrap_or(limit.name());
        let (kind, length) = behind.split_once('+').unwrap_or(("", behind));
        let soft = if kind.ends_with("~soft") { "-soft" } else { "" };
        let word = word(length).replace(['~', ':', '@'], "-");
        Cow::Owned(format!("{}/{word}{soft}", self.name()))
    }
}

/// A distinct word for each limit of a set.
fn words_of(limits: &LimitSet) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for rule_limit in limits.rule_limits() {
        let word = word_of(rule_limit);
        // Two limits over the same period, with different algorithms, get numbers.
        let twins = |words: &[String]| {
            let twin = |other: &&String| **other == word || other.starts_with(&format!("{word}-"));
            words.iter().filter(twin).count()
        };
        let named = match twins(&words) {
            0 => word,
            earlier => format!("{word}-{}", earlier + 1),
        };
        words.push(named);
    }
    words
}

fn word_of(rule_limit: &RuleLimit) -> String {
    match rule_limit.limit.quota().map(|quota| quota.per()) {
        None => "concurrent".to_owned(),
        Some(Per::Months(1)) => "month".to_owned(),
        Some(Per::Months(months)) => format!("{months}months"),
        Some(Per::Span(span)) => word(&span.to_string()).to_owned(),
    }
}

/// The word for a length of time, or its unchanged text if there is none.
fn word(length: &str) -> &str {
    match length {
        "1s" => "second",
        "1min" => "minute",
        "1hour" => "hour",
        "1day" => "day",
        "1week" => "week",
        length => length,
    }
}
