//! `rules`: rules with their keys, limits and actions.

use std::collections::HashMap;

use sluicegate::{Cooldown, Escalation, Limit, OnStoreError, Scope};

use super::identities::if_missing;
use super::limits::{LimitDefaults, LimitNaming, Soft, ladder, lengths};
use super::{Compiler, entries, items};
use crate::file::lint::Accepted;
use crate::file::load::Document;
use crate::file::schema_tables::foreign;
use crate::matching::matcher::Matcher;
use crate::rule_set::costs::Costs;
use crate::rule_set::limits::{LimitSet, Limits, RuleLimit};
use crate::rule_set::policy_names::PolicyNames;
use crate::rule_set::reload::QuotaEdits;
use crate::rule_set::rule::{CooldownPolicy, Mode, Rule};
use sluicegate_yaml::SourceSpan;
use sluicegate_yaml::closest;
use sluicegate_yaml::{MapEntry, Node, Scalar};

/// A rule during compilation, with its places in the file.
pub(crate) struct RuleDraft {
    pub(crate) rule: Rule,
    pub(crate) span: SourceSpan,
    pub(super) defaults: LimitDefaults,
    pub(super) soft: Option<Soft>,
    /// The lengths of all windows of the rule, the longest first.
    pub(super) ladder: Vec<u64>,
    pub(crate) key_span: SourceSpan,
    pub(crate) limit_span: SourceSpan,
    pub(crate) accepted: Accepted,
}

/// The response statuses that count as failures by default.
const FAILURES: [u16; 2] = [401, 403];

impl Compiler<'_> {
    pub(super) fn rules(&mut self, documents: &[Document]) -> Vec<RuleDraft> {
        let mut named: HashMap<Box<str>, SourceSpan> = HashMap::new();
        let mut drafts = Vec::new();
        for node in items(documents, "rules") {
            let name = self.rule_name(node, &mut named);
            let before = self.diagnostics.len();
            let mut draft = self.rule(node, name.as_deref().unwrap_or("?"), documents);
            if let Some(draft) = &mut draft {
                draft.accepted.apply(before, &mut self.diagnostics);
            }
            if draft.is_none() && !self.diagnostics.has_errors() {
                // A rule must not be dropped silently, because its limits would not be enforced.
                self.error(node, "lost-rule", "this rule could not be read")
                    .help("write it as in `{ name: api, key: ip, limit: 100/min }`");
            }
            if name.is_some() {
                drafts.extend(draft);
            }
        }
        drafts
    }

    fn rule_name(
        &mut self,
        node: &Node,
        named: &mut HashMap<Box<str>, SourceSpan>,
    ) -> Option<Box<str>> {
        let name = node.get("name")?;
        let scalar = name.scalar().filter(|scalar| !scalar.is_broken())?;
        let text = scalar.text();
        let letter = |letter: u8| letter.is_ascii_alphanumeric() || b"_.-".contains(&letter);
        if text.is_empty() || text.len() > 64 || !text.bytes().all(letter) {
            let message = format!("`{}` is not a valid name for a rule", scalar.shown());
            self.error(name, "bad-name", message)
                .help("use 1 to 64 letters, digits, `_`, `.` and `-`, as in `per-user`");
            return None;
        }
        if let Some(first) = named.insert(text.into(), name.span) {
            // A name that is merged with `<<` has the span of the first rule.
            let at = if first == name.span { node.span } else { name.span };
            self.error_at(
                at,
                "given-twice",
                format!("two rules have the name `{}`", scalar.shown()),
            )
            .related(first, "the other rule")
            .help("use different names, because counters are stored under the name");
            return None;
        }
        Some(text.into())
    }

    fn rule(&mut self, node: &Node, name: &str, documents: &[Document]) -> Option<RuleDraft> {
        let matcher = node.get("match").map(|node| self.matcher(node)).unwrap_or_default();
        if let Some(key) = node.get("key").filter(|key| key.is_null()) {
            self.error(key, "no-key", "the key of the counter is empty").help(
                "name an identity, as in `key: ip`, or write `[]` for one counter for all callers",
            );
        }
        let mut key = Vec::new();
        for item in node.get("key").map(Node::items).unwrap_or_default() {
            let Some(text) = item.text() else { continue };
            let Some(identity) = self.identity(text, item.span) else { continue };
            if key.contains(&identity) {
                self.error(item, "given-twice", "this identity is already in the key")
                    .help("remove it");
            }
            key.push(identity);
        }
        let defaults = self.limit_defaults(node, &LimitDefaults::default()).of_rule();
        let soft = node.get("soft").and_then(|node| self.soft(node));
        let cooldown = node.get("cooldown").and_then(|node| self.cooldown(node, name));
        let limit = node.get("limit");
        // A misspelt or foreign limit is already reported.
        let misspelt = |entry: &MapEntry| {
            let hint = || foreign::in_rule(entry, node).and_then(|hint| hint.field);
            closest(&entry.key.text, ["limit", "cooldown"]).is_some() || hint() == Some("limit")
        };
        let limited = limit.is_some()
            || node.get("cooldown").is_some()
            || node.entries().iter().any(misspelt);
        if !limited && !node.entries().is_empty() {
            self.error(node, "no-limit", "this rule has no limit")
                .help("add a `limit`, as in `limit: 100/min`, or a `cooldown`");
        }
        for field in ["soft", "cost", "debt", "algorithm", "slices", "timezone"] {
            if let Some(entry) =
                node.entry(field).filter(|_| limit.is_none() && node.get("cooldown").is_some())
            {
                self.error_at(
                    entry.key.span,
                    "not-for-cooldown",
                    format!("a cooldown has no `{field}`"),
                )
                .help("remove it, or add a `limit`");
            }
        }
        let carries_over = node.get("carry_over").and_then(Node::flag).unwrap_or(true);
        let ladder = Self::ladder(limit, documents);
        let limits = match limit {
            Some(limit) => {
                let carrying = (carries_over, ladder.as_slice());
                self.limits(limit, name, &defaults, soft.as_ref(), carrying, documents)?
            }
            None => Limits::None,
        };
        if let Some(carry_over) = node.entry("carry_over").filter(|_| !limits.is_by_tier()) {
            self.error_at(
                carry_over.key.span,
                "not-by-tier",
                "`carry_over` has no effect, because the limit does not depend on the tier",
            )
            .help("remove it");
        }
        let costs = node.get("cost").map_or_else(Costs::default, |node| self.costs(node));
        let word = |field: &str| node.get(field).and_then(Node::text);
        let rule = Rule {
            name: name.into(),
            matcher,
            key,
            if_missing: word("if_missing").and_then(if_missing),
            limits,
            cooldown,
            costs,
            mode: if word("mode") == Some("shadow") { Mode::Shadow } else { Mode::Enforce },
            scope: if word("scope") == Some("node") { Scope::Node } else { Scope::Cluster },
            on_store_error: match word("on_store_error") {
                Some("allow") => OnStoreError::Allow,
                Some("deny") => OnStoreError::Deny,
                _ => OnStoreError::Local,
            },
            strict: node.get("strict").and_then(Node::flag).unwrap_or(false),
            carries_over,
            overrides: Vec::new(),
            edits: QuotaEdits::default(),
            limits_of_callers: Vec::new(),
            // Set when all limits are known.
            policies: PolicyNames::default(),
            is_reported: node.get("headers").and_then(Node::flag).unwrap_or(true),
            message: node.get("message").and_then(|node| self.message(node)).map(Into::into),
        };
        let span_of = |field: &str| node.get(field).map_or(node.span, |node| node.span);
        let span = node.get("name").map_or(node.span, |name| name.span);
        let (key_span, limit_span) = (span_of("key"), span_of("limit"));
        let accepted = Accepted::of(node);
        Some(RuleDraft { rule, span, defaults, soft, ladder, key_span, limit_span, accepted })
    }

    fn limits(
        &mut self,
        node: &Node,
        rule: &str,
        defaults: &LimitDefaults,
        soft: Option<&Soft>,
        (carries_over, ladder): (bool, &[u64]),
        documents: &[Document],
    ) -> Option<Limits> {
        let Some(entry) = node.get("tier") else {
            let naming = LimitNaming { rule, tier: None, ladder };
            let limits = self.rule_limits(node, defaults, soft, naming)?;
            return Some(Limits::Same(LimitSet::Limited(limits)));
        };
        for other in node.entries().iter().filter(|entry| entry.key.text != "tier") {
            let is_setting =
                ["algorithm", "slices", "strict", "timezone"].contains(&other.key.text.as_str());
            let help = if is_setting {
                "write it into the rule, beside `limit`"
            } else {
                "write it into the tiers"
            };
            self.error_at(
                other.key.span,
                "tier-in-limit",
                "a limit with `tier` has no other fields",
            )
            .help(help);
        }
        let scalar = entry.scalar().filter(|scalar| !scalar.is_broken())?;
        let name = scalar.text();
        if self.tiers.is_none() {
            if !Self::has(documents, "tiers") {
                self.error(entry, "no-tiers", "no tiers are defined")
                    .help("define tiers, as in `tiers: { free: { api: 100/min } }`");
            }
            return None;
        }
        let tiers: Vec<&MapEntry> =
            entries(documents, "tiers").flat_map(|section| section.value.entries()).collect();
        let mut limits = Vec::new();
        let defaults = &defaults.used_at(entry.span);
        for tier in &tiers {
            let tier_name = (!carries_over).then_some(tier.key.text.as_str());
            let naming = LimitNaming { rule, tier: tier_name, ladder };
            limits.push(self.limits_of_tier(tier, entry, name, defaults, soft, naming));
        }
        let limits: Vec<LimitSet> = limits.into_iter().collect::<Option<_>>()?;
        Some(Limits::ByTier(limits))
    }

    /// Returns the lengths of all windows of a limit in any tier, the longest first.
    fn ladder(limit: Option<&Node>, documents: &[Document]) -> Vec<u64> {
        let Some(limit) = limit else { return Vec::new() };
        let Some(entry) = limit.get("tier").and_then(Node::text) else {
            return ladder([lengths(limit)]);
        };
        let tiers = entries(documents, "tiers").flat_map(|section| section.value.entries());
        let limits = tiers.filter_map(|tier| tier.value.get(entry));
        ladder(limits.map(|node| lengths(node.get("limit").unwrap_or(node))))
    }

    fn limits_of_tier(
        &mut self,
        tier: &MapEntry,
        used: &Node,
        name: &str,
        defaults: &LimitDefaults,
        soft: Option<&Soft>,
        naming: LimitNaming<'_>,
    ) -> Option<LimitSet> {
        if tier.value.text() == Some("unlimited") {
            return Some(LimitSet::Unlimited);
        }
        let Some(node) = tier.value.get(name) else {
            let known = tier.value.entries().iter().map(|entry| entry.key.text.as_str());
            let meant = closest(name, known);
            let name = used.scalar().map(Scalar::shown).unwrap_or_default();
            let help = match meant {
                Some(meant) => {
                    format!("did you mean `{meant}`? otherwise add `{name}: unlimited` to the tier")
                }
                None => format!("add it, as in `{name}: 100/min` or `{name}: unlimited`"),
            };
            let message = format!("the tier `{}` has no limit `{name}`", tier.key.shown());
            self.error(used, "missing-in-tier", message)
                .related(tier.key.span, "the tier")
                .help(help);
            return None;
        };
        if node.text() == Some("unlimited") {
            return Some(LimitSet::Unlimited);
        }
        let (limit, own) = match node.get("limit") {
            Some(limit) => (limit, node.get("soft")),
            None => (node, None),
        };
        let own = match own {
            Some(word) if word.text() == Some("off") => Some(None),
            Some(node) => Some(self.soft(node)),
            None => None,
        };
        let soft = match &own {
            Some(own) => own.as_ref(),
            None => soft,
        };
        self.rule_limits(limit, defaults, soft, naming)
            .map(|limits: Vec<RuleLimit>| LimitSet::Limited(limits))
    }

    fn cooldown(&mut self, node: &Node, rule: &str) -> Option<CooldownPolicy> {
        let after = node.get("after").and_then(Node::whole);
        let within = node.get("within").and_then(|node| self.length(node));
        let block = node.get("block").and_then(|node| self.length(node));
        let factor = node.get("factor").and_then(Node::whole);
        let longest = node.get("longest").map(|node| self.length(node));
        let pending = match node.get("pending") {
            Some(node) => Some(self.length(node)?),
            None => None,
        };
        let reset_on_success =
            node.get("reset_on_success").and_then(Node::flag).unwrap_or_default();
        let mut on_status = Vec::new();
        for item in node.get("on_status").map(Node::items).unwrap_or_default() {
            match item
                .whole()
                .and_then(|status| u16::try_from(status).ok())
                .filter(|status| (100..=599).contains(status))
            {
                Some(status) => on_status.push(status),
                None => {
                    _ = self
                        .error(item, "bad-status", "this is not a response status")
                        .help("use 100 to 599, as in `[401, 403]`");
                }
            }
        }
        if on_status.is_empty() {
            on_status.extend(FAILURES);
        }
        let escalation = match (factor, longest) {
            (None, None) => None,
            (Some(factor), Some(max)) => {
                Some(Escalation { factor: u32::try_from(factor).unwrap_or(u32::MAX), max: max? })
            }
            _ => {
                self.error(
                    node,
                    "half-escalation",
                    "a growing block needs both `factor` and `longest`",
                )
                .help("add the missing one, or remove the other");
                return None;
            }
        };
        let cooldown = Cooldown {
            after: after?,
            within: within?,
            block: block?,
            escalation,
            pending,
            reset_on_success,
        };
        let counts_successes = pending.is_some() || reset_on_success;
        match Limit::cooldown(format!("{rule}~cooldown"), cooldown) {
            Ok(limit) => Some(CooldownPolicy { limit, on_status, counts_successes }),
            Err(error) => self.impossible(node.span, &error),
        }
    }
}

impl RuleDraft {
    /// Returns the requests that the rule applies to.
    pub(crate) fn matcher(&self) -> &Matcher {
        &self.rule.matcher
    }
}
