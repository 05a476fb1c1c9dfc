//! The limits of a rule: names, numbers, and the names in headers.

use sluicegate_oracle::trace::{AlgorithmSpec, BucketSpec, EscalationSpec, LimitSpec, QuotaSpec};

use crate::rule_file::{
    Algorithm, Cooldown, Limits, Override, Quota, Rule, RuleFile, Soft, Window,
};

/// One limit, with all data that answers contain about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Limit {
    /// The name of its counters.
    pub(crate) name: String,
    /// The name in headers.
    pub(crate) policy: String,
    pub(crate) spec: AlgorithmSpec,
    pub(crate) algorithm: &'static str,
    pub(crate) capacity: u64,
    /// The time in which the capacity recovers.
    pub(crate) recovery_us: Option<u64>,
    pub(crate) quota: Option<Quota>,
}

impl Limit {
    /// The handle of this limit in the oracle.
    pub(crate) fn handle(&self) -> String {
        format!("{} {:?}", self.name, self.spec)
    }

    pub(crate) fn to_oracle(&self) -> LimitSpec {
        LimitSpec { name: self.name.clone(), algorithm: self.spec.clone() }
    }

    pub(crate) fn holds(&self) -> bool {
        self.algorithm == "concurrency"
    }

    pub(crate) fn lease_us(&self) -> Option<u64> {
        match self.spec {
            AlgorithmSpec::Concurrency { lease_us, .. } => Some(lease_us),
            _ => None,
        }
    }

    pub(crate) fn is_cooldown(&self) -> bool {
        self.algorithm == "cooldown"
    }

    pub(crate) fn is_bucket(&self) -> bool {
        matches!(self.algorithm, "token_bucket" | "leaky_bucket" | "queue")
    }

    /// The quota as the oracle rescales from it.
    pub(crate) fn quota_spec(&self) -> Option<QuotaSpec> {
        let quota = self.quota?;
        Some(QuotaSpec {
            amount: quota.amount,
            period_us: quota.period_us,
            burst: quota.capacity(),
        })
    }

    /// The calendar window that contains a time, for fixed windows.
    pub(crate) fn period(&self, now: u64) -> Option<(u64, u64)> {
        let AlgorithmSpec::FixedWindow { period_us, .. } = self.spec else { return None };
        // Weeks begin on Mondays, and 1970 began on a Thursday.
        let origin =
            if period_us % 604_800_000_000 == 0 { 4 * 86_400_000_000 % period_us } else { 0 };
        let into = (now + period_us - origin) % period_us;
        Some((now - into, now - into + period_us))
    }
}

/// One limit of a rule, with its soft limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Owed {
    pub(crate) limit: Limit,
    /// The soft limit and its delay.
    pub(crate) beyond: Option<(Limit, u64)>,
}

/// Returns the limits of a rule's `windows`; `tier` where each tier has its own counters.
pub(crate) fn owed(rule: &Rule, windows: &[Window], tier: Option<&str>) -> Vec<Owed> {
    windows.iter().map(|window| one(rule, window, tier)).collect()
}

fn one(rule: &Rule, window: &Window, tier: Option<&str>) -> Owed {
    let owner = match tier {
        Some(tier) => format!("{}@{tier}", rule.name),
        None => rule.name.clone(),
    };
    match window {
        Window::Slots { slots, lease_us } => {
            let limit = Limit {
                name: format!("{owner}~slots"),
                policy: policy(rule, window, false),
                spec: AlgorithmSpec::Concurrency { slots: *slots, lease_us: *lease_us },
                algorithm: "concurrency",
                capacity: *slots,
                recovery_us: None,
                quota: None,
            };
            Owed { limit, beyond: None }
        }
        Window::Quota { quota, algorithm } => {
            let suffix = rank_suffix(rule, quota.period_us);
            let policy_name = policy(rule, window, false);
            let limit =
                of_quota(format!("{owner}{suffix}"), policy_name, *quota, *algorithm, rule.debt);
            let beyond = rule.soft.map(|Soft { extra, grace, delay_us }| {
                let more =
                    Quota { amount: extra.unwrap_or(1), period_us: quota.period_us, burst: None };
                let more = grace.unwrap_or(more);
                let name = format!("{owner}~soft{suffix}");
                (of_quota(name, policy(rule, window, true), more, *algorithm, rule.debt), delay_us)
            });
            Owed { limit, beyond }
        }
    }
}

/// Windows are ranked by length, longest first; a length that the rule does not have is spelled
/// out.
fn rank_suffix(rule: &Rule, period_us: u64) -> String {
    let mut lengths = quota_lengths(rule);
    lengths.sort_unstable_by(|one, other| other.cmp(one));
    lengths.dedup();
    match lengths.iter().position(|length| *length == period_us) {
        Some(0) => String::new(),
        Some(rank) => format!(":{}", rank + 1),
        None => format!("+{}", span(period_us)),
    }
}

fn quota_lengths(rule: &Rule) -> Vec<u64> {
    let of = |windows: &[Window]| -> Vec<u64> {
        let lengths = windows.iter().filter_map(|window| match window {
            Window::Quota { quota, .. } => Some(quota.period_us),
            Window::Slots { .. } => None,
        });
        lengths.collect()
    };
    own_windows(rule).into_iter().flat_map(of).collect()
}

/// The windows of a rule for each tier.
fn own_windows(rule: &Rule) -> Vec<&[Window]> {
    match &rule.limits {
        Limits::None => Vec::new(),
        Limits::Same(windows) => vec![windows],
        Limits::ByTier(by_tier) => by_tier.values().map(Vec::as_slice).collect(),
    }
}

/// A rule with windows of one length uses its name; with several, each gets a suffix.
fn policy(rule: &Rule, window: &Window, soft: bool) -> String {
    let mut words: Vec<String> = own_windows(rule).into_iter().flatten().map(word).collect();
    words.sort();
    words.dedup();
    let word = word(window);
    let alone = words.len() < 2 && words.contains(&word);
    match (alone, soft) {
        (true, false) => rule.name.clone(),
        (true, true) => format!("{}/soft", rule.name),
        (false, false) => format!("{}/{word}", rule.name),
        (false, true) => format!("{}/{word}-soft", rule.name),
    }
}

fn word(window: &Window) -> String {
    match window {
        Window::Slots { .. } => "concurrent".to_owned(),
        Window::Quota { quota, .. } => match quota.period_us {
            1_000_000 => "second".to_owned(),
            60_000_000 => "minute".to_owned(),
            3_600_000_000 => "hour".to_owned(),
            86_400_000_000 => "day".to_owned(),
            604_800_000_000 => "week".to_owned(),
            other => span(other),
        },
    }
}

/// A limit of a quota that came with its request.
pub(crate) fn of_throttle(quota: Quota, algorithm: Algorithm) -> Limit {
    let name = format!("throttle:{}", algorithm.name());
    of_quota(name, "throttle".to_owned(), quota, algorithm, false)
}

fn of_quota(name: String, policy: String, quota: Quota, algorithm: Algorithm, debt: bool) -> Limit {
    let Quota { amount, period_us, .. } = quota;
    let bucket = BucketSpec { amount, period_us, burst: quota.capacity(), debt };
    let queue = u64::from(algorithm == Algorithm::Queue);
    let (spec, capacity) = match algorithm {
        Algorithm::TokenBucket => (AlgorithmSpec::TokenBucket(bucket), bucket.burst),
        Algorithm::LeakyBucket => (AlgorithmSpec::LeakyBucket(bucket), bucket.burst),
        Algorithm::Queue => (AlgorithmSpec::Queue(bucket), bucket.burst + queue),
        Algorithm::FixedWindow => (AlgorithmSpec::FixedWindow { amount, period_us, debt }, amount),
        Algorithm::SlidingWindow { slices, strict } => {
            (AlgorithmSpec::SlidingWindow { amount, period_us, slices, strict, debt }, amount)
        }
        Algorithm::SlidingLog => (AlgorithmSpec::SlidingLog { amount, period_us, debt }, amount),
    };
    let recovery = if algorithm.is_bucket() {
        (u128::from(capacity) * u128::from(period_us)).div_ceil(u128::from(amount))
    } else {
        u128::from(period_us)
    };
    let recovery_us = u64::try_from(recovery).ok();
    Limit {
        name,
        policy,
        spec,
        algorithm: algorithm.name(),
        capacity,
        recovery_us,
        quota: Some(quota),
    }
}

/// The limit that a cooldown is.
pub(crate) fn of_cooldown(rule: &Rule, cooldown: &Cooldown) -> Limit {
    let escalation = cooldown.escalation.map(|(factor, max_us)| EscalationSpec { factor, max_us });
    let policy = match rule.limits {
        Limits::None => rule.name.clone(),
        _ if own_windows(rule).iter().all(|windows| windows.is_empty()) => rule.name.clone(),
        _ => format!("{}/cooldown", rule.name),
    };
    Limit {
        name: format!("{}~cooldown", rule.name),
        policy,
        spec: AlgorithmSpec::Cooldown {
            after: cooldown.after,
            within_us: cooldown.within_us,
            block_us: cooldown.block_us,
            escalation,
            pending_us: cooldown.pending_us,
            reset_on_success: cooldown.reset_on_success,
        },
        algorithm: "cooldown",
        capacity: cooldown.after,
        recovery_us: Some(cooldown.within_us),
        quota: None,
    }
}

/// Returns every limit of a rule, that of a tier first, overrides last.
pub(crate) fn all_of(file: &RuleFile, rule: &Rule, tier: Option<&str>) -> Vec<Limit> {
    let mut out: Vec<Owed> = Vec::new();
    match &rule.limits {
        Limits::None => {}
        Limits::Same(windows) => out.extend(owed(rule, windows, None)),
        Limits::ByTier(by_tier) => {
            let own = |name: &str| rule.fresh_tiers.then(|| name.to_owned());
            let names = file.tiers.iter().flat_map(|tiers| tiers.names.iter().map(String::as_str));
            for name in tier.into_iter().chain(names) {
                let windows = by_tier.get(name).map(Vec::as_slice).unwrap_or_default();
                out.extend(owed(rule, windows, own(name).as_deref()));
            }
        }
    }
    for one in file.overrides.iter().filter(|one| one.rule == rule.name) {
        out.extend(owed(rule, &one.limit, None));
    }
    out.into_iter()
        .flat_map(|one| [Some(one.limit), one.beyond.map(|(limit, _)| limit)])
        .flatten()
        .collect()
}

/// Whether an override is in force.
pub(crate) fn is_in_force(one: &Override, now: u64) -> bool {
    one.from_us.is_none_or(|from| from <= now) && one.until_us.is_none_or(|until| now < until)
}

/// A length of time in the words of answers.
pub(crate) fn span(micros: u64) -> String {
    let units = [
        (604_800_000_000, "week", true),
        (86_400_000_000, "day", true),
        (3_600_000_000, "hour", true),
        (60_000_000, "min", false),
        (1_000_000, "s", false),
        (1_000, "ms", false),
        (1, "us", false),
    ];
    if micros == 0 {
        return "0s".to_owned();
    }
    let (size, unit, counted) = units
        .into_iter()
        .find(|(size, ..)| micros.is_multiple_of(*size))
        .unwrap_or((1, "us", false));
    let count = micros / size;
    format!("{count}{unit}{}", if counted && count > 1 { "s" } else { "" })
}
