//! The plan of a request, derived from the rule file alone.

use sluicegate_oracle::trace::AskSpec;

use super::changes::Changes;
use super::evaluation::{Outcome, Planned};
use super::limit::{self, Owed};
use crate::case::{Ended, Purpose, Request, Via};
use crate::rule_file::{Cost, IfMissing, Limits, ListEntry, Rule, RuleFile};

/// The reason for a plan.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Aim {
    Take,
    Charge,
    Refund,
    Report(Ended),
}

impl From<Purpose> for Aim {
    fn from(purpose: Purpose) -> Self {
        match purpose {
            Purpose::Take => Self::Take,
            Purpose::Charge => Self::Charge,
            Purpose::Refund => Self::Refund,
        }
    }
}

/// A plan before it is decided.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) outcome: Outcome,
    pub(crate) checks: Vec<Planned>,
    pub(crate) cost: u64,
    pub(crate) tier: Option<String>,
    pub(crate) unlimited: bool,
    /// Whether each check is decided by itself, as those of reports are.
    pub(crate) independent: bool,
}

/// The circumstances of a plan.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Circumstances<'a> {
    pub(crate) file: &'a RuleFile,
    pub(crate) changes: &'a Changes,
    pub(crate) now: u64,
    pub(crate) node: usize,
    pub(crate) via: Via,
}

/// Returns the checks of a request.
pub(crate) fn plan(about: Circumstances<'_>, request: &Request, aim: Aim) -> Plan {
    let empty = |outcome: Outcome| {
        let unlimited = outcome == Outcome::Free;
        let independent = matches!(aim, Aim::Report(_));
        let tier = tier_of(about.file, request).map(str::to_owned);
        Plan { outcome, checks: Vec::new(), cost: 0, tier, unlimited, independent }
    };
    match listing(about, request) {
        Some(true) => return empty(Outcome::Blocked),
        Some(false) => return empty(Outcome::Free),
        None => {}
    }
    let mut plan = empty(Outcome::Asked);
    for (place, rule) in about.file.rules.iter().enumerate() {
        if !applies(rule, request, about.via) {
            continue;
        }
        let ended = match aim {
            Aim::Report(ended) => match effect(rule, ended) {
                None => continue,
                some => some,
            },
            _ => None,
        };
        let key = match key(rule, request) {
            Key::Is(key) => key,
            Key::Skip => continue,
            Key::Missing(_) if rule.shadow => continue,
            Key::Missing(identity) => {
                return empty(Outcome::Unidentified { identity, rule: rule.name.clone() });
            }
        };
        let applied = Applied { about, place, rule, key };
        match aim {
            Aim::Report(_) => applied.report(&mut plan, ended, aim),
            _ => applied.owe(&mut plan, request, aim),
        }
    }
    if !plan.independent {
        // The sets of shadow rules come behind the set of the others.
        plan.checks.sort_by_key(|check| check.shadow);
    }
    plan
}

/// A rule that applies to a request.
struct Applied<'a> {
    about: Circumstances<'a>,
    place: usize,
    rule: &'a Rule,
    key: String,
}

/// The effect of a report on a cooldown: whether it is a failure.
fn effect(rule: &Rule, ended: Ended) -> Option<bool> {
    let cooldown = rule.cooldown.as_ref()?;
    let counts_successes = cooldown.pending_us.is_some() || cooldown.reset_on_success;
    let failure = match ended {
        Ended::Failed { .. } | Ended::Status(401 | 403) => true,
        Ended::Succeeded | Ended::Status(..=399) => false,
        Ended::Status(_) => return None,
    };
    (failure || counts_successes).then_some(failure)
}

impl Applied<'_> {
    fn report(&self, plan: &mut Plan, failure: Option<bool>, aim: Aim) {
        let (Some(cooldown), Some(failure)) = (&self.rule.cooldown, failure) else { return };
        let Aim::Report(ended) = aim else { return };
        let units = match ended {
            Ended::Failed { failures } => failures,
            _ => 1,
        };
        plan.cost = plan.cost.max(units);
        let limit = limit::of_cooldown(self.rule, cooldown);
        let ask = if failure { AskSpec::Charge { units } } else { AskSpec::Refund { units: 1 } };
        plan.checks.push(self.check(limit.clone(), ask));
        let look = AskSpec::Take { least: 0, most: 0, patience_us: None };
        plan.checks.push(self.check(limit, look));
    }

    fn owe(&self, plan: &mut Plan, request: &Request, aim: Aim) {
        let cost = price(self.rule, request);
        plan.cost = plan.cost.max(cost);
        if let Some(cooldown) = self.rule.cooldown.as_ref().filter(|_| matches!(aim, Aim::Take)) {
            let units = if cooldown.pending_us.is_some() { cost.min(1) } else { 0 };
            let ask = AskSpec::Take { least: units, most: units, patience_us: None };
            plan.checks.push(self.check(limit::of_cooldown(self.rule, cooldown), ask));
        }
        let Some(owed) = self.limits(plan, request) else { return };
        for Owed { limit, beyond } in owed {
            let units = if limit.holds() { cost.min(1) } else { cost };
            let ask = match aim {
                Aim::Charge | Aim::Refund if limit.holds() => continue,
                Aim::Charge => AskSpec::Charge { units },
                Aim::Refund => AskSpec::Refund { units },
                _ => AskSpec::Take { least: units, most: units, patience_us: None },
            };
            plan.checks.push(self.check(limit, ask));
            if let Some((limit, delay_us)) = beyond.filter(|_| matches!(aim, Aim::Take)) {
                plan.checks.push(Planned { alternative: true, delay_us, ..self.check(limit, ask) });
            }
        }
    }

    /// The limits in force: an override of the caller, one of the rule, the rule's own.
    fn limits(&self, plan: &mut Plan, request: &Request) -> Option<Vec<Owed>> {
        let Circumstances { file, changes, now, .. } = self.about;
        let rule = self.rule;
        let mut overrides = file
            .overrides
            .iter()
            .rev()
            .filter(|one| one.rule == rule.name && limit::is_in_force(one, now));
        let of_caller = overrides
            .clone()
            .find(|one| one.user.is_some() && one.user.as_deref() == request.identity("user"));
        let of_rule = || overrides.find(|one| one.user.is_none());
        if let Some(one) = of_caller.or_else(of_rule) {
            return Some(limit::owed(rule, &one.limit, None));
        }
        match &rule.limits {
            Limits::None => None,
            Limits::Same(windows) => {
                let owed = limit::owed(rule, windows, None);
                self.rescale_edits(plan, &owed, "");
                Some(owed)
            }
            Limits::ByTier(by_tier) => {
                let tiers = file.tiers.as_ref()?;
                let tier = tier_of(file, request)?;
                let Some(windows) = by_tier.get(tier) else {
                    plan.unlimited = true;
                    return None;
                };
                let own = rule.fresh_tiers.then_some(tier);
                let owed = limit::owed(rule, windows, own);
                if !rule.fresh_tiers {
                    let before = changes.tier_before(request.user.as_deref(), tier);
                    let before = before.filter(|change| tiers.names.contains(&change.tier));
                    if let Some(change) = before {
                        let old = by_tier.get(&change.tier).map(Vec::as_slice).unwrap_or_default();
                        let old = limit::owed(rule, old, None);
                        for (from, to, id) in Changes::carried_over(change, &old, &owed, now) {
                            self.push_rescale(plan, to, from, id);
                        }
                    }
                }
                self.rescale_edits(plan, &owed, tier);
                Some(owed)
            }
        }
    }

    fn rescale_edits(&self, plan: &mut Plan, owed: &[Owed], tier: &str) {
        let about = self.about;
        for (from, to, id) in about.changes.edited(&self.rule.name, tier, owed, about.now) {
            let named = |check: &Planned| {
                check.is_rescale() && check.rule == Some(self.place) && check.limit.name == to.name
            };
            if !plan.checks.iter().any(named) {
                self.push_rescale(plan, to, from, id);
            }
        }
    }

    fn push_rescale(
        &self,
        plan: &mut Plan,
        limit: limit::Limit,
        from: sluicegate_oracle::trace::QuotaSpec,
        id: u64,
    ) {
        // A change is made once for each counter.
        let id = super::changes::digest(&format!("{id} {} {}", limit.name, self.counter_key()));
        plan.checks.push(self.check(limit, AskSpec::Rescale { from, id }));
    }

    fn counter_key(&self) -> String {
        match self.rule.node_scope {
            true => format!("node {} {}", self.about.node, self.key),
            false => self.key.clone(),
        }
    }

    fn check(&self, limit: limit::Limit, ask: AskSpec) -> Planned {
        Planned {
            rule: Some(self.place),
            limit,
            key: self.counter_key(),
            ask,
            shadow: self.rule.shadow,
            alternative: false,
            delay_us: 0,
            priced: matches!(self.rule.cost, Cost::Fixed(_)),
            node: self.rule.node_scope.then_some(self.about.node),
            unasked: None,
        }
    }
}

/// Whether the caller is on the block-list (true) or on the allow-list (false).
fn listing(about: Circumstances<'_>, request: &Request) -> Option<bool> {
    let in_force = |until: Option<u64>| until.is_none_or(|until| about.now < until);
    let names = |one: &ListEntry, user: &Option<String>| user.as_ref() == Some(&one.user);
    let listed = about.file.lists.iter().filter(|one| in_force(one.until_us)).filter(|one| {
        // A block-list considers every value; an allow-list needs one certain identity.
        match request.second_user {
            Some(_) => one.block && (names(one, &request.user) || names(one, &request.second_user)),
            None => names(one, &request.user),
        }
    });
    listed.map(|one| one.block).max()
}

fn applies(rule: &Rule, request: &Request, via: Via) -> bool {
    if rule.descriptor {
        let names: Vec<&str> = request.attributes().into_iter().map(|(name, _)| name).collect();
        let wanted = ["user", "tenant"];
        // Descriptors have exactly the entries of a rule; proxies send no attributes.
        let entries = match via {
            Via::Grpc => names == wanted,
            Via::Authorize | Via::Tricked => false,
            Via::Http | Via::Resp => wanted.iter().all(|name| names.contains(name)),
        };
        return entries && request.tenant.as_deref() != Some("t2");
    }
    rule.method.as_ref().is_none_or(|method| *method == request.method)
        && rule.path.as_ref().is_none_or(|path| *path == request.path)
}

/// The tier of a request's user.
pub(crate) fn tier_of<'f>(file: &'f RuleFile, request: &Request) -> Option<&'f str> {
    let tiers = file.tiers.as_ref()?;
    let listed = request.user.as_ref().and_then(|user| tiers.table.get(user));
    Some(listed.unwrap_or(&tiers.default))
}

/// The price of a request under a rule.
fn price(rule: &Rule, request: &Request) -> u64 {
    let sent = request.cost.unwrap_or(1);
    match rule.cost {
        _ if request.cost == Some(0) => 0,
        Cost::Caller => sent,
        Cost::Fixed(cost) => cost.max(1),
        Cost::CallerUpTo(max) => sent.clamp(1, max.max(1)),
    }
}

enum Key {
    Is(String),
    Skip,
    Missing(String),
}

fn key(rule: &Rule, request: &Request) -> Key {
    let mut key = String::new();
    for identity in &rule.key {
        match (request.identity(identity), rule.if_missing.unwrap_or(IfMissing::Share)) {
            (Some(value), _) => key.push_str(&format!("{identity}={value} ")),
            (None, IfMissing::Share) => key.push_str(&format!("no {identity} ")),
            (None, IfMissing::Skip) => return Key::Skip,
            (None, IfMissing::Refuse) => return Key::Missing(identity.clone()),
        }
    }
    Key::Is(key)
}
