//! Allow-lists, block-lists and overrides.

use std::sync::Arc;

use super::limits::LimitNaming;
use super::rules::RuleDraft;
use super::{Compiler, items};
use crate::directory::{Assigned, ListEntry, ListKind, Override, TimeRange};
use crate::file::load::Document;
use crate::file::schema_tables::foreign::beside_limit;
use crate::request::identity::{IdentitySource, InvalidCaller};
use crate::rule_set::ListedNetworks;
use crate::rule_set::limits::LimitSet;
use sluicegate_yaml::SourceSpan;
use sluicegate_yaml::closest;
use sluicegate_yaml::{MapEntry, Node, Value};

/// The name of an identity, and the key of a caller.
type Caller = (Box<str>, Box<[u8]>);

impl Compiler<'_> {
    /// Reads `allow` and `block`.
    pub(super) fn lists(&mut self, documents: &[Document]) {
        for (field, listing) in [("allow", ListKind::Allow), ("block", ListKind::Block)] {
            for item in items(documents, field) {
                let during = self.during(item);
                let callers: Vec<&MapEntry> = item
                    .entries()
                    .iter()
                    .filter(|entry| !["from", "until", "reason"].contains(&entry.key.text.as_str()))
                    .collect();
                if callers.is_empty() && matches!(item.value, Value::Map(_)) {
                    self.error(item, "no-caller", "this entry names no caller")
                        .help("name callers, as in `{ ip: [192.0.2.7] }`");
                }
                self.check_single_identity(callers.iter().copied());
                for entry in callers {
                    self.list(entry, listing, during);
                }
            }
        }
    }

    fn list(&mut self, entry: &MapEntry, listing: ListKind, during: TimeRange) {
        self.check_has_value(entry);
        let Some(identity) = self.identity(&entry.key.text, entry.key.span) else { return };
        if matches!(self.identities[identity].source, IdentitySource::Address { .. }) {
            let networks = self.networks_of(&entry.value);
            self.networks.push(ListedNetworks { identity, networks, listing, during });
            return;
        }
        let name = self.identities[identity].name.clone();
        for item in entry.value.items() {
            let Some(scalar) = item.scalar().filter(|scalar| !scalar.is_broken()) else { continue };
            let Some(subject) = self.subject(identity, scalar.text(), item.span) else { continue };
            self.directory.change(&name, &subject, |standing| {
                standing.listed.push(ListEntry { listing, during });
            });
        }
    }

    /// Reports an identity without a value.
    fn check_has_value(&mut self, entry: &MapEntry) {
        if entry.value.items().is_empty() {
            self.error_at(entry.key.span, "no-caller", "this names no caller")
                .help("name callers, as in `[alice, bob]`, or remove it");
        }
    }

    /// Reports two identities in one entry, because it could mean either or both.
    fn check_single_identity<'n>(&mut self, mut callers: impl Iterator<Item = &'n MapEntry>) {
        if let (Some(first), Some(second)) = (callers.next(), callers.next()) {
            let message = "this entry names callers by two identities";
            self.error_at(second.key.span, "two-identities", message)
                .related(first.key.span, "the other identity")
                .help("write an entry for each; a caller needs to match only one of them");
        }
    }

    /// Returns the key of a caller that the file names.
    pub(super) fn subject(
        &mut self,
        identity: usize,
        value: &str,
        span: SourceSpan,
    ) -> Option<Box<[u8]>> {
        let known = &self.identities[identity];
        if known.secret {
            self.sources.mask(span);
        }
        match known.subject(value, &self.hasher, self.folding) {
            Ok(subject) => Some(subject),
            Err(InvalidCaller::Address) => {
                self.error_at(span, "bad-address", "this is not an address")
                    .help("use an address such as `203.0.113.9`");
                None
            }
            Err(InvalidCaller::Fingerprint) => {
                self.error_at(span, "bad-caller", "a caller cannot be named by a fingerprint")
                    .help("use another identity");
                None
            }
            Err(InvalidCaller::Empty) => {
                self.error_at(span, "empty", "the name of the caller is empty")
                    .help("write the value of the identity, or remove the entry");
                None
            }
        }
    }

    /// Reads `overrides`.
    pub(super) fn overrides(&mut self, documents: &[Document], rules: &mut [RuleDraft]) {
        for item in items(documents, "overrides") {
            let during = self.during(item);
            let callers = item.get("caller").map(|caller| self.callers(caller));
            match (item.entry("tier"), item.entry("limit")) {
                (Some(tier), None) => self.override_tier(item, &tier.value, callers, during),
                (None, Some(limit)) => self.override_limit(item, limit, callers, during, rules),
                (Some(tier), Some(limit)) => {
                    self.error_at(
                        limit.key.span,
                        "two-overrides",
                        "this override has a limit and a tier",
                    )
                    .related(tier.key.span, "the tier")
                    .help("write two overrides");
                }
                // A foreign field is already reported.
                (None, None)
                    if item.entries().iter().any(|it| beside_limit(it, item).is_some()) => {}
                (None, None) if matches!(item.value, Value::Map(_)) => {
                    self.error(item, "no-override", "this override changes nothing")
                        .help("add a `rule` with its `limit`, or a `tier`");
                }
                (None, None) => {}
            }
        }
    }

    fn callers(&mut self, node: &Node) -> Vec<Caller> {
        let mut callers = Vec::new();
        if node.entries().is_empty() && !matches!(node.value, Value::Scalar(_) | Value::List(_)) {
            self.error(node, "no-caller", "this names no caller")
                .help("name callers, as in `{ user: alice }`, or remove it");
        }
        self.check_single_identity(node.entries().iter());
        for entry in node.entries() {
            self.check_has_value(entry);
            let Some(identity) = self.identity(&entry.key.text, entry.key.span) else { continue };
            let name = self.identities[identity].name.clone();
            for item in entry.value.items() {
                let Some(scalar) = item.scalar().filter(|scalar| !scalar.is_broken()) else {
                    continue;
                };
                if let Some(subject) = self.subject(identity, scalar.text(), item.span) {
                    callers.push((name.clone(), subject));
                }
            }
        }
        callers
    }

    fn override_tier(
        &mut self,
        item: &Node,
        tier: &Node,
        callers: Option<Vec<Caller>>,
        during: TimeRange,
    ) {
        if let Some(rule) = item.entry("rule") {
            self.error_at(
                rule.key.span,
                "bad-override",
                "an override of a tier has no rule, because a tier applies to all rules",
            )
            .help("remove `rule`");
        }
        let Some(tier) = self.tier(tier) else { return };
        let name: Arc<str> = self.tiers.as_ref().map_or("", |tiers| tiers.name(tier)).into();
        let Some(callers) = callers else {
            self.error(item, "no-caller", "this override of a tier has no caller")
                .help("add one, as in `caller: { user: 42 }`");
            return;
        };
        for (identity, subject) in callers {
            let tier = name.clone();
            self.directory.change(&identity, &subject, |standing| {
                standing.tiers.push(Assigned { tier, during });
            });
        }
    }

    fn override_limit(
        &mut self,
        item: &Node,
        limit: &MapEntry,
        callers: Option<Vec<Caller>>,
        during: TimeRange,
        rules: &mut [RuleDraft],
    ) {
        let Some(name) = item.get("rule") else {
            self.error_at(limit.key.span, "no-rule", "this override of a limit has no rule")
                .help("add `rule` with the name of a rule");
            return;
        };
        let Some(scalar) = name.scalar().filter(|scalar| !scalar.is_broken()) else { return };
        let Some(draft) = rules.iter_mut().find(|draft| &*draft.rule.name == scalar.text()) else {
            let meant = closest(scalar.text(), rules.iter().map(|draft| &*draft.rule.name));
            let help = meant
                .map_or("use the name of a rule in this rule set".to_owned(), |meant| {
                    format!("did you mean `{meant}`?")
                });
            self.error(name, "unknown-rule", format!("there is no rule `{}`", scalar.shown()))
                .help(help);
            return;
        };
        let naming = LimitNaming { rule: &draft.rule.name, tier: None, ladder: &draft.ladder };
        let Some(limits) =
            self.rule_limits(&limit.value, &draft.defaults, draft.soft.as_ref(), naming)
        else {
            return;
        };
        let limits = LimitSet::Limited(limits);
        match callers {
            None => draft.rule.overrides.push((during, limits)),
            Some(callers) => {
                let limits = Arc::new(limits);
                draft.rule.limits_of_callers.push(Arc::clone(&limits));
                for (identity, subject) in callers {
                    let one = Override {
                        rule: draft.rule.name.clone(),
                        limit_set: Arc::clone(&limits),
                        during,
                    };
                    self.directory
                        .change(&identity, &subject, |standing| standing.overrides.push(one));
                }
            }
        }
    }
}
