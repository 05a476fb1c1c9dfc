//! Collection of the rules that apply to a request, with their keys and limits.

use std::ops::Range;

use sluicegate::{ChargeId, Limit, Quota};
use smallvec::SmallVec;

use super::select_limits::SelectedLimits;
use super::{PlanBuffer, PlanOutcome};
use crate::directory::ListKind;
use crate::plan::key_buffer::KeyBuffer;
use crate::request::context::RequestContext;
use crate::request::identity::{IdentityValue, IfMissing};
use crate::request::purpose::Purpose;
use crate::rule_set::RuleSet;
use crate::rule_set::limits::LimitSet;
use crate::rule_set::rule::{Mode, Rule};

/// A rule that applies; its key is a range of the key buffer, which may still grow.
pub(super) struct AppliedRule<'p> {
    pub(super) rule: u32,
    pub(super) key: Range<usize>,
    pub(super) cost: u64,
    pub(super) limits: LimitSource<'p>,
}

/// The source of the limits of a rule that applies.
pub(super) enum LimitSource<'p> {
    /// No limits.
    None,
    Rules(&'p LimitSet),
    /// The limit set at this index of the plan buffer.
    Buffered(usize),
}

/// A rescale of a bucket before it is checked.
pub(super) struct CallerRescale<'p> {
    pub(super) rule: u32,
    pub(super) limit: &'p Limit,
    pub(super) from: Quota,
    pub(super) id: ChargeId,
}

pub(super) struct Collector<'p, 'd> {
    pub(super) purpose: Purpose,
    pub(super) buffer: &'d mut PlanBuffer,
    pub(super) applied: SmallVec<[AppliedRule<'p>; 16]>,
    pub(super) rescales: SmallVec<[CallerRescale<'p>; 1]>,
    /// A required identity that is missing, and the rule that requires it.
    pub(super) missing: Option<(&'p str, &'p str)>,
}

impl<'p> Collector<'p, '_> {
    /// Collects the rules that apply, in the order of the file.
    pub(super) fn walk(
        &mut self,
        rules: &'p RuleSet,
        context: &mut RequestContext<'p>,
    ) -> PlanOutcome<'p> {
        match listing(rules, context) {
            Some(ListKind::Block) => return PlanOutcome::Blocked,
            Some(ListKind::Allow) => return PlanOutcome::Free,
            None => {}
        }
        for index in rules.index.candidates(context) {
            let Some(rule) = usize::try_from(index).ok().and_then(|index| rules.rules.get(index))
            else {
                continue;
            };
            if rule.matcher.check_beyond_path(context).is_ok() {
                self.apply(index, rule, context);
            }
            if self.missing.is_some() {
                break;
            }
        }
        PlanOutcome::Check
    }

    fn apply(&mut self, index: u32, rule: &'p Rule, context: &mut RequestContext<'p>) {
        if matches!(self.purpose, Purpose::Failure(_) | Purpose::Success)
            && rule
                .cooldown
                .as_ref()
                .and_then(|cooldown| cooldown.reported_result(self.purpose))
                .is_none()
        {
            return;
        }
        let key = match key_of(rule, context, &mut self.buffer.keys) {
            KeyOutcome::At(key) => key,
            KeyOutcome::Skip => return,
            // A shadow rule never refuses.
            KeyOutcome::Missing(_) if rule.mode == Mode::Shadow => return,
            KeyOutcome::Missing(identity) => {
                self.missing = Some((&context.rules.identities[identity].name, &rule.name));
                return;
            }
        };
        let (cost, limits) = match self.purpose {
            Purpose::Take | Purpose::Charge | Purpose::Refund => {
                (rule.costs.of(context), self.select_limits(index, &key, rule, context))
            }
            Purpose::Failure(_) | Purpose::Success => {
                (context.request.cost.unwrap_or(1), LimitSource::None)
            }
        };
        self.applied.push(AppliedRule { rule: index, key, cost, limits });
    }

    /// Selects the limits of a rule for this caller, at this time.
    fn select_limits(
        &mut self,
        index: u32,
        key: &Range<usize>,
        rule: &'p Rule,
        context: &mut RequestContext<'p>,
    ) -> LimitSource<'p> {
        let (limits, tier) = match SelectedLimits::of(rule, context) {
            SelectedLimits::Caller(limits) => {
                self.buffer.limit_sets.push(limits);
                return LimitSource::Buffered(self.buffer.limit_sets.len() - 1);
            }
            SelectedLimits::Override(limits) => return LimitSource::Rules(limits),
            SelectedLimits::Own { limits, tier } => (limits, tier),
        };
        if tier.is_some() {
            self.carry_over(index, key, rule, limits, context);
        }
        if !rule.edits.rescaled.is_empty() {
            let place = tier.map_or(0, |tier| tier.0);
            self.carry_over_edit(index, key, rule, (place, limits), context);
        }
        limits.map_or(LimitSource::None, LimitSource::Rules)
    }
}

/// The result of writing the key of a rule.
pub(crate) enum KeyOutcome {
    /// The range of the key in the key buffer.
    At(Range<usize>),
    /// The rule does not apply, because an identity is missing.
    Skip,
    /// The identity at this index is required and missing.
    Missing(usize),
}

/// Writes the key of a rule.
pub(crate) fn key_of(
    rule: &Rule,
    context: &mut RequestContext<'_>,
    keys: &mut KeyBuffer,
) -> KeyOutcome {
    let start = keys.len();
    for identity in &rule.key {
        let default = context.rules.identities[*identity].if_missing;
        let found = context.identity(*identity);
        if found.is_missing() {
            match rule.if_missing.unwrap_or(default) {
                IfMissing::Share => {}
                IfMissing::Skip => return KeyOutcome::Skip,
                IfMissing::Refuse => return KeyOutcome::Missing(*identity),
            }
        }
        found.write(keys);
    }
    KeyOutcome::At(start..keys.len())
}

/// The list that the caller is on, if any; the block-list takes precedence.
pub(crate) fn listing(rules: &RuleSet, context: &mut RequestContext<'_>) -> Option<ListKind> {
    let now = context.now;
    let mut found = None;
    for listed in rules.networks.iter().filter(|listed| listed.during.contains(now)) {
        if let IdentityValue::Address { address, .. } = context.identity(listed.identity)
            && listed.networks.contains(*address)
        {
            match listed.listing {
                ListKind::Block => return Some(ListKind::Block),
                ListKind::Allow => found = Some(ListKind::Allow),
            }
        }
    }
    for (_, record) in context.caller_records() {
        match record.listing_at(now) {
            Some(ListKind::Block) => return Some(ListKind::Block),
            Some(ListKind::Allow) => found = Some(ListKind::Allow),
            None => {}
        }
    }
    if context.carries_blocked_value() { Some(ListKind::Block) } else { found }
}
