//! What the limits of a rule are called towards callers.
//!
//! A rule with one limit lends it its name. Of several, each has a word behind it that says which:
//! `api/minute`, `api/day`, `api/concurrent`, `api/soft`, `api/cooldown`. A limit has the same name for
//! every tier, so that a caller who changes its tier reads the same policies with other numbers.

use std::borrow::Cow;

use sluicegate::{Limit, Per, Quota};

use crate::limits::{Owing, Windows};
use crate::rule::Rule;

/// What the limits of a rule are called, each found by the name that its counters are filed under.
#[derive(Debug, Default)]
pub(crate) struct PolicyNames(Vec<Named>);

#[derive(Debug)]
struct Named {
    limit: u64,
    policy: Box<str>,
}

impl PolicyNames {
    /// The names for the limits of a rule.
    pub(crate) fn of(rule: &Rule) -> Self {
        let mut names = Self::default();
        let own = rule.limits.each().iter();
        let mut words: Vec<String> = own.clone().flat_map(words_of).collect();
        words.sort_unstable();
        words.dedup();
        let alone = words.len() < 2;
        for windows in own.chain(rule.overriding()) {
            for (owing, word) in windows.owed().iter().zip(words_of(windows)) {
                let known = alone && words.contains(&word);
                let policy =
                    if known { rule.name().to_owned() } else { format!("{}/{word}", rule.name()) };
                if let Some(beyond) = &owing.beyond {
                    let dash = if known { "/" } else { "-" };
                    names.add(&beyond.limit, format!("{policy}{dash}soft"));
                }
                names.add(&owing.limit, policy);
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
            self.0.push(Named { limit: digest, policy: policy.into() });
        }
    }

    /// What a limit is called, if it is one of the rule's own.
    pub(crate) fn get(&self, limit: &Limit) -> Option<&str> {
        let digest = limit.name_digest();
        self.0.iter().find(|named| named.limit == digest).map(|named| &*named.policy)
    }
}

impl Rule {
    /// What one of its limits is called towards callers: the same for every tier, and the name of no
    /// other limit that a request meets.
    pub fn policy_name<'n>(&'n self, limit: &'n Limit) -> Cow<'n, str> {
        if let Some(name) = self.policies.get(limit) {
            return Cow::Borrowed(name);
        }
        // A single caller's own limit, over a time that the rule itself does not have.
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

/// A word for each of the limits that hold together.
fn words_of(windows: &Windows) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for owing in windows.owed() {
        let word = word_of(owing);
        // Two limits over the same time are counted in different ways.
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

fn word_of(owing: &Owing) -> String {
    match owing.quota.as_ref().map(Quota::per) {
        None => "concurrent".to_owned(),
        Some(Per::Months(1)) => "month".to_owned(),
        Some(Per::Months(months)) => format!("{months}months"),
        Some(Per::Span(span)) => word(&span.to_string()).to_owned(),
    }
}

/// A length of time in a word, if there is one.
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
