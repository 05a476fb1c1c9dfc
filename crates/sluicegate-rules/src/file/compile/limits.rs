//! Limits: quotas, concurrency limits, soft limits.

// Long because each way to write a limit has its own diagnostics.

use std::fmt::Write as _;

use sluicegate::{Algorithm, Limit, Per, Quota, Slices, Span as Length, Spec};

use super::{Compiler, hidden_text};
use crate::file::schema_tables::foreign;
use crate::rule_set::limits::{RuleLimit, SoftLimit};
use sluicegate_yaml::SourceSpan;
use sluicegate_yaml::{Node, Value};

/// The settings of a rule for those of its limits that have none of their own.
#[derive(Debug, Clone, Default)]
pub(super) struct LimitDefaults {
    algorithm: Algorithm,
    slices: Option<(u32, SourceSpan)>,
    strict: Option<(bool, SourceSpan)>,
    /// Whether `strict` is that of the rule, which also applies to other algorithms.
    strict_of_rule: bool,
    zone: Option<(Box<str>, SourceSpan)>,
    /// Whether a settlement may go into debt.
    debt: bool,
    /// The place where a rule uses an entry of a tier, because either may have to be corrected.
    used_at: Option<SourceSpan>,
}

impl LimitDefaults {
    /// Marks these settings as those of a rule.
    pub(super) fn of_rule(self) -> Self {
        Self { strict_of_rule: true, ..self }
    }

    /// These settings for an entry of a tier that a rule uses.
    pub(super) fn used_at(&self, span: SourceSpan) -> Self {
        Self { used_at: Some(span), ..self.clone() }
    }
}

/// A soft limit as it is written.
#[derive(Debug, Clone)]
pub(super) struct Soft {
    amount: Amount,
    delay: Length,
    span: SourceSpan,
}

#[derive(Debug, Clone, Copy)]
enum Amount {
    Extra(u64),
    Grace(Quota),
}

/// The parts of the names of limits.
#[derive(Debug, Clone, Copy)]
pub(super) struct LimitNaming<'n> {
    pub(super) rule: &'n str,
    /// The tier, if each tier has its own counters.
    pub(super) tier: Option<&'n str>,
    /// The lengths of all windows of the rule in any tier, the longest first.
    pub(super) ladder: &'n [u64],
}

/// A limit before it gets its name.
struct LimitDraft<'d> {
    node: &'d Node,
    kind: LimitKind,
}

impl LimitDraft<'_> {
    fn length(&self) -> u64 {
        match &self.kind {
            LimitKind::Quota(quota, _) => length(*quota),
            LimitKind::Slots(..) => 0,
        }
    }
}

enum LimitKind {
    Quota(Quota, LimitDefaults),
    Slots(u32, Length),
}

/// The largest number of limits in one rule or one entry of a tier.
const MOST_LIMITS: usize = 16;
/// The default lease: the time after which an abandoned slot is released.
const LEASE: Length = Length::from_secs(60);

impl LimitNaming<'_> {
    /// The rule, with the tier if it has its own counters.
    fn owner(&self) -> String {
        match self.tier {
            Some(tier) => format!("{}@{tier}", self.rule),
            None => self.rule.to_owned(),
        }
    }

    /// Returns the name of the `nth` limit over a window of this length.
    ///
    /// Windows are ranked by their length, the longest first, so that adding or removing one
    /// renames as few counters as possible, and the shortest ones. A length that the rule itself
    /// does not have (that of an override) gets its own name and leaves the rule's counters alone.
    fn name(&self, part: &str, length: u64, nth: usize) -> String {
        let mut name = self.owner();
        name.push_str(part);
        let same = self.ladder.iter().enumerate().filter(|(_, rung)| **rung == length);
        match same.map(|(rank, _)| rank).nth(nth) {
            Some(0) => {}
            Some(rank) => _ = write!(name, ":{}", rank + 1),
            None => _ = write!(name, "+{}", Length::from_micros(length)),
        }
        name
    }
}

/// Returns the lengths of the windows of a limit, as far as it can be read.
pub(super) fn lengths(node: &Node) -> Vec<u64> {
    let quotas = node.items().iter().filter_map(|item| item.get("quota").unwrap_or(item).text());
    quotas.filter_map(|text| text.parse().ok()).map(length).collect()
}

/// Merges the lengths of windows, the longest first.
///
/// A length occurs as often as in the list that has it most often.
pub(super) fn ladder(each: impl IntoIterator<Item = Vec<u64>>) -> Vec<u64> {
    let mut ladder: Vec<u64> = Vec::new();
    for lengths in each {
        for (index, length) in lengths.iter().enumerate() {
            let own = lengths[..=index].iter().filter(|other| *other == length).count();
            if ladder.iter().filter(|rung| *rung == length).count() < own {
                ladder.push(*length);
            }
        }
    }
    ladder.sort_unstable_by_key(|length| std::cmp::Reverse(*length));
    ladder
}

/// Returns the window length of a quota; a month counts as 30 days.
fn length(quota: Quota) -> u64 {
    match quota.per() {
        Per::Span(span) => span.as_micros(),
        Per::Months(months) => u64::from(months) * 30 * 86_400_000_000,
    }
}

impl Compiler<'_> {
    /// Reads the settings of a rule or of a limit.
    pub(super) fn limit_defaults(&mut self, node: &Node, default: &LimitDefaults) -> LimitDefaults {
        let algorithm = node.get("algorithm").and_then(Node::text).and_then(Algorithm::named);
        let slices = node.get("slices").and_then(|node| Some((node.whole()?, node.span)));
        let slices = slices.map(|(slices, span)| (u32::try_from(slices).unwrap_or(u32::MAX), span));
        let strict = node.get("strict").and_then(|node| Some((node.flag()?, node.span)));
        let zone = node.get("timezone").and_then(|node| Some((self.zone_name(node)?, node.span)));
        LimitDefaults {
            algorithm: algorithm.unwrap_or(default.algorithm),
            slices: slices.or(default.slices),
            strict: strict.or(default.strict),
            strict_of_rule: strict.is_none() && default.strict_of_rule,
            zone: zone.or_else(|| default.zone.clone()),
            debt: node.get("debt").and_then(Node::flag).unwrap_or(default.debt),
            used_at: default.used_at,
        }
    }

    /// Reads `limit`: a quota, a concurrency limit, or a list of these.
    pub(super) fn rule_limits(
        &mut self,
        node: &Node,
        defaults: &LimitDefaults,
        soft: Option<&Soft>,
        naming: LimitNaming<'_>,
    ) -> Option<Vec<RuleLimit>> {
        if node.is_null() {
            return None;
        }
        if node.items().is_empty() {
            self.error(node, "no-limit", "this list of limits is empty")
                .help("write a limit, as in `[100/min, 1000/day]`");
            return None;
        }
        if let Some(first) = node.items().get(MOST_LIMITS) {
            let message = format!(
                "there are {} limits here, and {MOST_LIMITS} are allowed",
                node.items().len()
            );
            self.error(first, "too-many-limits", message)
                .help("keep one for each period that matters, as in `[10/s, 1000/day]`");
            return None;
        }
        let drafts: Vec<Option<LimitDraft<'_>>> =
            node.items().iter().map(|item| self.draft(item, defaults)).collect();
        let drafts: Vec<LimitDraft<'_>> = drafts.into_iter().collect::<Option<_>>()?;
        self.check_distinct_windows(&drafts);
        let limits: Vec<Option<RuleLimit>> = drafts
            .iter()
            .enumerate()
            .map(|(index, draft)| {
                let earlier = &drafts[..index];
                let nth = earlier.iter().filter(|one| one.length() == draft.length()).count();
                self.rule_limit(draft, nth, soft, naming)
            })
            .collect();
        limits.into_iter().collect()
    }

    /// Reports two limits over the same period, because one of them has no effect.
    fn check_distinct_windows(&mut self, drafts: &[LimitDraft<'_>]) {
        for (index, draft) in drafts.iter().enumerate() {
            let twin = drafts[..index].iter().find(|earlier| match (&earlier.kind, &draft.kind) {
                (LimitKind::Quota(one, by_one), LimitKind::Quota(other, by_other)) => {
                    one.per() == other.per() && by_one.algorithm == by_other.algorithm
                }
                (LimitKind::Slots(..), LimitKind::Slots(..)) => true,
                _ => false,
            });
            if let Some(twin) = twin {
                let (span, first) = (draft.node.span, twin.node.span);
                self.error_at(span, "same-window", "two limits of this rule have the same period")
                    .related(first, "the other limit")
                    .help("keep the stricter one");
            }
        }
    }

    fn draft<'d>(&mut self, node: &'d Node, defaults: &LimitDefaults) -> Option<LimitDraft<'d>> {
        if node.text().is_some() {
            let quota = self.quota(node)?;
            return Some(LimitDraft { node, kind: LimitKind::Quota(quota, defaults.clone()) });
        }
        if let Some(tier) = node.entry("tier") {
            self.error_at(
                tier.key.span,
                "tier-in-limit",
                "an entry of a tier cannot be one of several limits",
            )
            .help("write the other limits into the tiers");
            return None;
        }
        match (node.entry("quota"), node.entry("concurrent")) {
            (Some(quota), None) => {
                if let Some(lease) = node.entry("lease") {
                    self.error_at(lease.key.span, "not-for-quotas", "a quota has no `lease`")
                        .help("remove it; `lease` belongs to `concurrent`");
                }
                let defaults = self.limit_defaults(node, defaults);
                let quota = self.quota(&quota.value)?;
                Some(LimitDraft { node, kind: LimitKind::Quota(quota, defaults) })
            }
            (None, Some(slots)) => {
                for field in ["algorithm", "slices", "strict", "timezone"] {
                    if let Some(entry) = node.entry(field) {
                        self.error_at(
                            entry.key.span,
                            "not-for-slots",
                            format!("a concurrency limit has no `{field}`"),
                        )
                        .help("remove it");
                    }
                }
                let lease = match node.get("lease") {
                    Some(lease) => self.length(lease)?,
                    None => LEASE,
                };
                let slots = slots.value.whole()?;
                Some(LimitDraft {
                    node,
                    kind: LimitKind::Slots(u32::try_from(slots).unwrap_or(u32::MAX), lease),
                })
            }
            (Some(quota), Some(slots)) => {
                self.error_at(
                    slots.key.span,
                    "two-limits",
                    "this is a quota and a concurrency limit in one",
                )
                .related(quota.key.span, "the quota")
                .help("write a list of two limits, as in `[100/min, { concurrent: 20 }]`");
                None
            }
            (None, None) => {
                let foreign = |entry| foreign::in_limit(entry, node).is_some();
                // A foreign field is already reported.
                if matches!(node.value, Value::Map(_)) && !node.entries().iter().any(foreign) {
                    self.error(node, "no-limit", "this limit has no quota")
                        .help("add a `quota`, as in `quota: 100/min`, or `concurrent`");
                }
                None
            }
        }
    }

    pub(super) fn quota(&mut self, node: &Node) -> Option<Quota> {
        let scalar = node.scalar().filter(|scalar| !scalar.is_broken())?;
        match scalar.text().parse() {
            Ok(quota) => Some(quota),
            Err(_) if scalar.is_secret() => {
                self.error(node, "bad-quota", hidden_text(scalar, "a quota"))
                    .help("use a quota such as `100/min`");
                None
            }
            Err(error) => {
                self.error(node, "bad-quota", sluicegate::ParseQuotaError::to_string(&error));
                None
            }
        }
    }

    fn rule_limit(
        &mut self,
        draft: &LimitDraft<'_>,
        nth: usize,
        soft: Option<&Soft>,
        naming: LimitNaming<'_>,
    ) -> Option<RuleLimit> {
        match &draft.kind {
            LimitKind::Quota(quota, defaults) => {
                let limit =
                    self.limit(draft.node, naming.name("", draft.length(), nth), *quota, defaults)?;
                let soft = match soft {
                    Some(soft) => Some(self.soft_limit(
                        draft.node,
                        soft,
                        *quota,
                        defaults,
                        naming.name("~soft", draft.length(), nth),
                    )?),
                    None => None,
                };
                Some(RuleLimit { limit, soft })
            }
            LimitKind::Slots(slots, lease) => {
                if let Some(soft) = soft {
                    self.error_at(soft.span, "soft-slots", "a concurrency limit has no soft limit")
                        .related(draft.node.span, "the concurrency limit")
                        .help(
                            "remove `soft`, or write a rule of its own for the concurrency limit",
                        );
                    return None;
                }
                match Limit::concurrency(format!("{}~slots", naming.owner()), *slots, *lease) {
                    Ok(limit) => Some(RuleLimit { limit, soft: None }),
                    Err(error) => self.impossible(draft.node.span, &error),
                }
            }
        }
    }

    fn limit(
        &mut self,
        node: &Node,
        name: String,
        quota: Quota,
        defaults: &LimitDefaults,
    ) -> Option<Limit> {
        let sliding = defaults.algorithm == Algorithm::SlidingWindow;
        for (given, field) in [
            (defaults.slices.map(|(_, span)| span), "slices"),
            (defaults.strict.filter(|_| !defaults.strict_of_rule).map(|(_, span)| span), "strict"),
        ] {
            if let Some(span) = given.filter(|_| !sliding) {
                let message = format!(
                    "`{field}` is for sliding windows, and this limit is a {}",
                    defaults.algorithm.as_str()
                );
                self.error_at(span, "not-sliding", message)
                    .help("remove it, or use `algorithm: sliding_window`");
                return None;
            }
        }
        let fixed = defaults.algorithm == Algorithm::FixedWindow;
        if let Some((_, span)) = defaults.zone.as_ref().filter(|_| !fixed) {
            let message = format!(
                "only calendar windows have a time zone, and this limit is a {}",
                defaults.algorithm.as_str()
            );
            self.error_at(*span, "not-calendar", message)
                .help("remove it, or use `algorithm: fixed_window`");
            return None;
        }
        let strict = defaults.strict.is_some_and(|(strict, _)| strict);
        let slices = match (defaults.slices, strict) {
            (Some((slices, _)), true) => Slices::Strict(slices),
            (Some((slices, _)), false) => Slices::Weighted(slices),
            // With ten slices, strictness costs at most a tenth of the rate.
            (None, true) => Slices::Strict(10),
            (None, false) => Slices::Weighted(1),
        };
        let spec =
            Spec::Quota { algorithm: defaults.algorithm, quota, slices, debt: defaults.debt };
        match Limit::new(name, spec) {
            Ok(limit) => {
                let zone = defaults.zone.as_ref().map(|(zone, _)| &**zone);
                Some(match self.calendar(zone).filter(|_| fixed) {
                    Some(calendar) => limit.in_calendar(calendar),
                    None => limit,
                })
            }
            Err(error) => match defaults.used_at {
                None => self.impossible(node.span, &error),
                Some(used_at) => {
                    let message = format!("this limit is not possible: {}", error.reason());
                    let how = format!("used here, as a {}", defaults.algorithm.as_str());
                    self.error_at(node.span, "impossible-limit", message).related(used_at, how);
                    None
                }
            },
        }
    }

    fn soft_limit(
        &mut self,
        node: &Node,
        soft: &Soft,
        main: Quota,
        defaults: &LimitDefaults,
        name: String,
    ) -> Option<SoftLimit> {
        if defaults.algorithm == Algorithm::Queue {
            self.error_at(
                soft.span,
                "soft-queue",
                "a queue has no soft limit, because it delays requests itself",
            )
            .related(node.span, "the queue")
            .help("remove `soft`; the burst of a queue is the number of requests that may wait");
            return None;
        }
        let quota = match (soft.amount, main.per()) {
            (Amount::Grace(quota), _) => Ok(quota),
            (Amount::Extra(extra), Per::Span(span)) => Quota::new(extra, span),
            (Amount::Extra(extra), Per::Months(months)) => Quota::per_months(extra, months),
        };
        match quota {
            Ok(quota) => {
                let limit = self.limit(node, name, quota, defaults)?;
                Some(SoftLimit { limit, delay: soft.delay })
            }
            Err(error) => {
                self.error_at(soft.span, "bad-quota", error.to_string());
                None
            }
        }
    }

    /// Reads `soft`.
    pub(super) fn soft(&mut self, node: &Node) -> Option<Soft> {
        let delay = match node.get("delay") {
            Some(delay) => self.length(delay)?,
            None => Length::ZERO,
        };
        let amount = match (node.entry("extra"), node.entry("grace")) {
            (Some(extra), None) => Amount::Extra(extra.value.whole()?),
            (None, Some(grace)) => Amount::Grace(self.quota(&grace.value)?),
            (Some(extra), Some(grace)) => {
                self.error_at(grace.key.span, "two-amounts", "this soft limit has two amounts")
                    .related(extra.key.span, "the other amount")
                    .help("keep one of them");
                return None;
            }
            (None, None) => {
                if matches!(node.value, Value::Map(_) | Value::Null) {
                    self.error(node, "no-amount", "this soft limit has no amount")
                        .help("add `extra: 10` or `grace: 50/day`");
                }
                return None;
            }
        };
        Some(Soft { amount, delay, span: node.span })
    }

    /// Reports a limit that the core rejects.
    pub(super) fn impossible<T>(
        &mut self,
        span: SourceSpan,
        error: &sluicegate::LimitError,
    ) -> Option<T> {
        self.error_at(
            span,
            "impossible-limit",
            format!("this limit is not possible: {}", error.reason()),
        );
        None
    }
}
