//! How much: quotas, slots, soft limits, what a tier may.

use std::fmt::Write as _;

use sluicegate::{Limit, Per, Quota, Slices, Span as Length};

use super::{Compiler, unsaid};
use crate::algorithm::Algorithm;
use crate::limits::{Beyond, Owing};
use crate::node::{Node, Value};
use crate::source::Span;

/// How quotas are counted, where they do not say so themselves.
#[derive(Debug, Clone, Default)]
pub(super) struct Style {
    algorithm: Algorithm,
    slices: Option<(u32, Span)>,
    strict: Option<(bool, Span)>,
    /// Whether the rule says that, and not one of its limits: then it means more than how sliding
    /// windows count.
    strict_of_rule: bool,
    zone: Option<(Box<str>, Span)>,
    /// Whether settlements may go into debt.
    debt: bool,
    /// Where a rule asks for what a tier says: what is wrong may be either's fault.
    asked: Option<Span>,
}

impl Style {
    /// The same as what a rule says for all of its limits.
    pub(super) fn of_rule(self) -> Self {
        Self { strict_of_rule: true, ..self }
    }

    /// The same for what a rule asks a tier for.
    pub(super) fn asked_at(&self, span: Span) -> Self {
        Self { asked: Some(span), ..self.clone() }
    }
}

/// What is admitted beyond a limit, as it is written.
#[derive(Debug, Clone)]
pub(super) struct Soft {
    amount: Amount,
    delay: Length,
    span: Span,
}

#[derive(Debug, Clone, Copy)]
enum Amount {
    Extra(u64),
    Grace(Quota),
}

/// What limits are called.
#[derive(Debug, Clone, Copy)]
pub(super) struct Naming<'n> {
    pub(super) rule: &'n str,
    /// The tier, where each has counters of its own.
    pub(super) tier: Option<&'n str>,
    /// The lengths of all windows that the rule has, for any tier, the longest first.
    pub(super) ladder: &'n [u64],
}

/// One limit before it has its name.
struct Draft<'d> {
    node: &'d Node,
    kind: Kind,
}

impl Draft<'_> {
    fn length(&self) -> u64 {
        match &self.kind {
            Kind::Quota(quota, _) => length(*quota),
            Kind::Slots(..) => 0,
        }
    }
}

enum Kind {
    Quota(Quota, Style),
    Slots(u32, Length),
}

/// The most limits that hold at once in one rule or one entry of a tier.
const MOST_LIMITS: usize = 16;
/// How long a slot is kept by a holder that is not heard of again.
const LEASE: Length = Length::from_secs(60);

impl Naming<'_> {
    /// Whose limits they are.
    fn owner(&self) -> String {
        match self.tier {
            Some(tier) => format!("{}@{tier}", self.rule),
            None => self.rule.to_owned(),
        }
    }

    /// The name of the `nth` limit over a window of this length.
    ///
    /// Windows are ranked by their length, the longest first: a window that is added or taken away
    /// moves as few counters as can be, and the shortest. A length that the rule itself does not have
    /// (an override's) has a name of its own, and leaves the rule's counters as they are.
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

/// The lengths of the windows that a limit has, as far as it can be read.
pub(super) fn lengths(node: &Node) -> Vec<u64> {
    let quotas = node.items().iter().filter_map(|item| item.get("quota").unwrap_or(item).text());
    quotas.filter_map(|text| text.parse().ok()).map(length).collect()
}

/// The lengths of windows as a ladder, the longest first: a rung for each that any of these has.
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

/// The length of the window of a quota; a month counts as 30 days.
fn length(quota: Quota) -> u64 {
    match quota.per() {
        Per::Span(span) => span.as_micros(),
        Per::Months(months) => u64::from(months) * 30 * 86_400_000_000,
    }
}

impl Compiler<'_> {
    /// How the quotas of a rule are counted.
    pub(super) fn style(&mut self, node: &Node, default: &Style) -> Style {
        let algorithm = node.get("algorithm").and_then(Node::text).and_then(Algorithm::named);
        let slices = node.get("slices").and_then(|node| Some((node.whole()?, node.span)));
        let slices = slices.map(|(slices, span)| (u32::try_from(slices).unwrap_or(u32::MAX), span));
        let strict = node.get("strict").and_then(|node| Some((node.flag()?, node.span)));
        let zone = node.get("timezone").and_then(|node| Some((self.zone_name(node)?, node.span)));
        Style {
            algorithm: algorithm.unwrap_or(default.algorithm),
            slices: slices.or(default.slices),
            strict: strict.or(default.strict),
            strict_of_rule: strict.is_none() && default.strict_of_rule,
            zone: zone.or_else(|| default.zone.clone()),
            debt: node.get("debt").and_then(Node::flag).unwrap_or(default.debt),
            asked: default.asked,
        }
    }

    /// What is owed for a limit: a quota, several, slots.
    pub(super) fn owed(
        &mut self,
        node: &Node,
        style: &Style,
        soft: Option<&Soft>,
        naming: Naming<'_>,
    ) -> Option<Vec<Owing>> {
        if node.is_null() {
            return None;
        }
        if node.items().is_empty() {
            self.error(node, "no-limit", "there is no limit in this list")
                .help("write one, as in `[100/min, 1000/day]`");
            return None;
        }
        if let Some(first) = node.items().get(MOST_LIMITS) {
            let message =
                format!("there are {} limits here, more than {MOST_LIMITS}", node.items().len());
            self.error(first, "too-many-limits", message)
                .help("keep a few: one for each time that matters, as in `[10/s, 1000/day]`");
            return None;
        }
        let drafts: Vec<Option<Draft<'_>>> =
            node.items().iter().map(|item| self.draft(item, style)).collect();
        let drafts: Vec<Draft<'_>> = drafts.into_iter().collect::<Option<_>>()?;
        self.refuse_twins(&drafts);
        let owed: Vec<Option<Owing>> = drafts
            .iter()
            .enumerate()
            .map(|(index, draft)| {
                let earlier = &drafts[..index];
                let nth = earlier.iter().filter(|one| one.length() == draft.length()).count();
                self.owing(draft, nth, soft, naming)
            })
            .collect();
        owed.into_iter().collect()
    }

    /// Two limits over the same time: one of them never counts.
    fn refuse_twins(&mut self, drafts: &[Draft<'_>]) {
        for (index, draft) in drafts.iter().enumerate() {
            let twin = drafts[..index].iter().find(|earlier| match (&earlier.kind, &draft.kind) {
                (Kind::Quota(one, own), Kind::Quota(other, others)) => {
                    one.per() == other.per() && own.algorithm == others.algorithm
                }
                (Kind::Slots(..), Kind::Slots(..)) => true,
                _ => false,
            });
            if let Some(twin) = twin {
                let (span, first) = (draft.node.span, twin.node.span);
                self.error_at(span, "same-window", "two limits of one rule are over the same time")
                    .related(first, "the other is here")
                    .help("keep the stricter one");
            }
        }
    }

    fn draft<'d>(&mut self, node: &'d Node, style: &Style) -> Option<Draft<'d>> {
        if node.text().is_some() {
            let quota = self.quota(node)?;
            return Some(Draft { node, kind: Kind::Quota(quota, style.clone()) });
        }
        if let Some(tier) = node.entry("tier") {
            self.error_at(
                tier.key.span,
                "tier-in-limit",
                "what a tier says cannot be one of several limits",
            )
            .help("write the others into the tiers");
            return None;
        }
        match (node.entry("quota"), node.entry("concurrent")) {
            (Some(quota), None) => {
                if let Some(lease) = node.entry("lease") {
                    self.error_at(
                        lease.key.span,
                        "not-for-quotas",
                        "a quota has no lease: nothing is held",
                    )
                    .help("leave it out");
                }
                let style = self.style(node, style);
                let quota = self.quota(&quota.value)?;
                Some(Draft { node, kind: Kind::Quota(quota, style) })
            }
            (None, Some(slots)) => {
                for field in ["algorithm", "slices", "strict", "timezone"] {
                    if let Some(entry) = node.entry(field) {
                        self.error_at(
                            entry.key.span,
                            "not-for-slots",
                            format!("slots in flight have no `{field}`"),
                        )
                        .help("leave it out");
                    }
                }
                let lease = match node.get("lease") {
                    Some(lease) => self.length(lease)?,
                    None => LEASE,
                };
                let slots = slots.value.whole()?;
                Some(Draft {
                    node,
                    kind: Kind::Slots(u32::try_from(slots).unwrap_or(u32::MAX), lease),
                })
            }
            (Some(quota), Some(slots)) => {
                self.error_at(
                    slots.key.span,
                    "two-limits",
                    "this is a quota and slots in flight at once",
                )
                .related(quota.key.span, "the quota")
                .help("make a list of two limits: `[100/min, { concurrent: 20 }]`");
                None
            }
            (None, None) => {
                if matches!(node.value, Value::Map(_)) {
                    self.error(node, "no-limit", "this limits nothing")
                        .help("give a `quota`, or `concurrent`");
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
                self.error(node, "bad-quota", unsaid(scalar, "a quota"))
                    .help("use one as in `100/min`");
                None
            }
            Err(error) => {
                self.error(node, "bad-quota", sluicegate::ParseQuotaError::to_string(&error));
                None
            }
        }
    }

    fn owing(
        &mut self,
        draft: &Draft<'_>,
        nth: usize,
        soft: Option<&Soft>,
        naming: Naming<'_>,
    ) -> Option<Owing> {
        match &draft.kind {
            Kind::Quota(quota, style) => {
                let limit =
                    self.limit(draft.node, naming.name("", draft.length(), nth), *quota, style)?;
                let beyond = match soft {
                    Some(soft) => Some(self.beyond(
                        draft.node,
                        soft,
                        *quota,
                        style,
                        naming.name("~soft", draft.length(), nth),
                    )?),
                    None => None,
                };
                let sliding = style.algorithm == Algorithm::SlidingWindow;
                let strict = sliding && style.strict.is_some_and(|(strict, _)| strict);
                Some(Owing { limit, quota: Some(*quota), strict, beyond })
            }
            Kind::Slots(slots, lease) => {
                if let Some(soft) = soft {
                    self.error_at(
                        soft.span,
                        "soft-slots",
                        "slots in flight have nothing beyond them",
                    )
                    .related(draft.node.span, "the slots")
                    .help("leave out `soft`, or make a rule of its own for the slots");
                    return None;
                }
                match Limit::concurrency(format!("{}~slots", naming.owner()), *slots, *lease) {
                    Ok(limit) => Some(Owing { limit, quota: None, strict: false, beyond: None }),
                    Err(error) => self.impossible(draft.node.span, &error),
                }
            }
        }
    }

    fn limit(&mut self, node: &Node, name: String, quota: Quota, style: &Style) -> Option<Limit> {
        let sliding = style.algorithm == Algorithm::SlidingWindow;
        for (given, field) in [
            (style.slices.map(|(_, span)| span), "slices"),
            (style.strict.filter(|_| !style.strict_of_rule).map(|(_, span)| span), "strict"),
        ] {
            if let Some(span) = given.filter(|_| !sliding) {
                let message = format!(
                    "`{field}` is for sliding windows, and this is a {}",
                    style.algorithm.as_str()
                );
                self.error_at(span, "not-sliding", message)
                    .help("leave it out, or use `algorithm: sliding_window`");
                return None;
            }
        }
        let fixed = style.algorithm == Algorithm::FixedWindow;
        if let Some((_, span)) = style.zone.as_ref().filter(|_| !fixed) {
            let message = format!(
                "only calendar windows have a time zone, and this is a {}",
                style.algorithm.as_str()
            );
            self.error_at(*span, "not-calendar", message)
                .help("leave it out, or use `algorithm: fixed_window`");
            return None;
        }
        let strict = style.strict.is_some_and(|(strict, _)| strict);
        let slices = match (style.slices, strict) {
            (Some((slices, _)), true) => Slices::Strict(slices),
            (Some((slices, _)), false) => Slices::Weighted(slices),
            // Ten slices give up at most a tenth of the rate for never exceeding.
            (None, true) => Slices::Strict(10),
            (None, false) => Slices::Weighted(1),
        };
        match style.algorithm.limit(name, quota, slices) {
            Ok(limit) => {
                let limit = if style.debt { limit } else { limit.without_debt() };
                let zone = style.zone.as_ref().map(|(zone, _)| &**zone);
                Some(match self.calendar(zone).filter(|_| fixed) {
                    Some(calendar) => limit.in_calendar(calendar),
                    None => limit,
                })
            }
            Err(error) => match style.asked {
                None => self.impossible(node.span, &error),
                Some(asked) => {
                    let message = format!("this limit cannot be: {}", error.reason());
                    let how =
                        format!("asked for here, to be counted as a {}", style.algorithm.as_str());
                    self.error_at(node.span, "impossible-limit", message).related(asked, how);
                    None
                }
            },
        }
    }

    fn beyond(
        &mut self,
        node: &Node,
        soft: &Soft,
        main: Quota,
        style: &Style,
        name: String,
    ) -> Option<Beyond> {
        if style.algorithm == Algorithm::Queue {
            self.error_at(
                soft.span,
                "soft-queue",
                "a queue delays by itself, and has nothing beyond it",
            )
            .related(node.span, "the queue")
            .help("leave out `soft`; the burst of a queue is how many may wait");
            return None;
        }
        let quota = match (soft.amount, main.per()) {
            (Amount::Grace(quota), _) => Ok(quota),
            (Amount::Extra(extra), Per::Span(span)) => Quota::new(extra, span),
            (Amount::Extra(extra), Per::Months(months)) => Quota::per_months(extra, months),
        };
        match quota {
            Ok(quota) => {
                let limit = self.limit(node, name, quota, style)?;
                Some(Beyond { limit, quota, delay: soft.delay })
            }
            Err(error) => {
                self.error_at(soft.span, "bad-quota", error.to_string());
                None
            }
        }
    }

    /// What is admitted beyond a limit.
    pub(super) fn soft(&mut self, node: &Node) -> Option<Soft> {
        let delay = match node.get("delay") {
            Some(delay) => self.length(delay)?,
            None => Length::ZERO,
        };
        let amount = match (node.entry("extra"), node.entry("grace")) {
            (Some(extra), None) => Amount::Extra(extra.value.whole()?),
            (None, Some(grace)) => Amount::Grace(self.quota(&grace.value)?),
            (Some(extra), Some(grace)) => {
                self.error_at(
                    grace.key.span,
                    "two-amounts",
                    "this says twice how much is admitted beyond the limit",
                )
                .related(extra.key.span, "once here")
                .help("keep one of them");
                return None;
            }
            (None, None) => {
                if matches!(node.value, Value::Map(_) | Value::Null) {
                    self.error(
                        node,
                        "no-amount",
                        "nothing says how much is admitted beyond the limit",
                    )
                    .help("give `extra: 10`, or `grace: 50/day`");
                }
                return None;
            }
        };
        Some(Soft { amount, delay, span: node.span })
    }

    /// A limit that cannot be made, in the words of the core.
    pub(super) fn impossible<T>(
        &mut self,
        span: Span,
        error: &sluicegate::LimitError,
    ) -> Option<T> {
        self.error_at(
            span,
            "impossible-limit",
            format!("this limit cannot be: {}", error.reason()),
        );
        None
    }
}
