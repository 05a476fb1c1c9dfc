//! Random rule files: three to eight limits, small enough that traffic reaches their edges.

mod windows;

use std::collections::BTreeMap;

pub(super) use self::windows::{LEASES, requoted};
use self::windows::{by_tier, windows};
use super::{METHODS, PATHS, USERS};
use crate::case::StoreKind;
use crate::clock::START;
use crate::rule_file::{
    Algorithm, Cooldown, Cost, HeaderNames, Headers, IfMissing, Limits, ListEntry, OnStoreError,
    Override, Quota, Rule, RuleFile, Soft, Tiers, Window,
};
use sluicegate_testkit::Rng;

const SECOND: u64 = 1_000_000;
const KEYS: [&[&str]; 9] = [
    &["user"],
    &["user"],
    &["user"],
    &["ip"],
    &["user", "ip"],
    &["tenant"],
    &["device"],
    &["room"],
    &[],
];
const TIERS: [&str; 2] = ["free", "pro"];
/// Keys of plain rules whose sets leave the page of a user and return to it.
const RETURNING: [&[&str]; 4] = [&["user"], &["ip"], &["user"], &["user", "ip"]];

/// The kind of the rules of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Theme {
    /// Any rules.
    Mixed,
    /// Any rules; all of their quotas are sliding windows.
    Sliding,
    /// [`plain_rule`]s, whose keys take turns if `returning`.
    Plain { returning: bool },
    /// [`lone_rule`]s.
    Lone,
}

impl Theme {
    fn random(rng: &mut Rng, store: StoreKind) -> Self {
        match (rng.below(12), store) {
            (0..=4, _) => Self::Mixed,
            (5..=6, _) | (7..=9, StoreKind::Memory) => Self::Sliding,
            (7..=9, _) | (10, StoreKind::Cluster) => Self::Plain { returning: rng.one_in(2) },
            (_, StoreKind::Memory) => Self::Plain { returning: false },
            _ => Self::Lone,
        }
    }
}

pub(super) fn file(rng: &mut Rng, store: StoreKind, nodes: usize) -> RuleFile {
    let without_shares = rng.one_in(3);
    let theme = Theme::random(rng, store);
    let is_tiered = match theme {
        Theme::Mixed => rng.one_in(2),
        Theme::Plain { .. } => rng.one_in(6),
        Theme::Sliding | Theme::Lone => rng.one_in(3),
    };
    let tiers = is_tiered.then(|| tiers(rng));
    let limits = rng.between(3, 8);
    let mut rules: Vec<Rule> = Vec::new();
    let mut count = 0;
    let most = if theme == Theme::Lone { 4 } else { 6 };
    while count < limits && rules.len() < most {
        let rule = match theme {
            Theme::Lone => lone_rule(rng, rules.len()),
            Theme::Plain { returning } => plain_rule(rng, rules.len(), nodes, returning),
            Theme::Mixed | Theme::Sliding => {
                rule(rng, rules.len(), tiers.is_some(), nodes, theme == Theme::Sliding)
            }
        };
        count += size(&rule);
        rules.push(rule);
    }
    if without_shares {
        for rule in &mut rules {
            rule.node_scope = false;
            if rule.on_store_error == OnStoreError::Local {
                rule.on_store_error = OnStoreError::Allow;
            }
        }
    }
    let mut file = RuleFile { tiers, rules, headers: headers(rng), ..RuleFile::default() };
    let returning = theme == Theme::Plain { returning: true };
    if !returning && rng.one_in(4) {
        let one = overriding(rng, &file);
        file.overrides.extend(one);
    }
    if !returning && rng.one_in(8) {
        let one = overriding(rng, &file);
        file.overrides.extend(one);
    }
    if rng.one_in(6) {
        let entry = list_entry(rng);
        if rng.one_in(3) {
            file.lists.push(ListEntry { block: !entry.block, ..entry.clone() });
        }
        file.lists.push(entry);
    }
    file
}

/// A rule with one limit, without other rules beside it: a deny cache can refuse it alone.
fn lone_rule(rng: &mut Rng, number: usize) -> Rule {
    let quota = Quota {
        amount: rng.between(1, 2),
        period_us: *rng.pick(&[10 * SECOND, 60 * SECOND]),
        burst: None,
    };
    let window = Window::Quota { quota, algorithm: Algorithm::TokenBucket };
    Rule {
        method: Some(METHODS[number / 2 % 2].to_owned()),
        path: Some(PATHS[number % 2].to_owned()),
        key: vec!["user".to_owned()],
        limits: Limits::Same(vec![window]),
        node_scope: false,
        debt: true,
        ..plain_rule(rng, number, 1, false)
    }
}

/// A rule with only token buckets in whole microseconds: decided by the fast script, several
/// counters to a page.
fn plain_rule(rng: &mut Rng, number: usize, nodes: usize, returning: bool) -> Rule {
    let key = if returning { RETURNING[number % RETURNING.len()] } else { *rng.pick(&RETURNING) };
    let mut windows: Vec<Window> = Vec::new();
    for period_us in [SECOND, 10 * SECOND, 60 * SECOND, 3_600 * SECOND] {
        if rng.one_in(3) || (windows.is_empty() && period_us > 60 * SECOND) {
            let amount = *rng.pick(&[1, 2, 4, 5, 8]);
            let quota = Quota { amount, period_us, burst: None };
            windows.push(Window::Quota { quota, algorithm: Algorithm::TokenBucket });
        }
    }
    Rule {
        name: format!("r{number}"),
        method: None,
        path: rng.one_in(if returning { 6 } else { 2 }).then(|| (*rng.pick(&PATHS)).to_owned()),
        descriptor: false,
        key: key.iter().map(|one| (*one).to_owned()).collect(),
        if_missing: None,
        limits: Limits::Same(windows),
        soft: None,
        cooldown: None,
        cost: Cost::Caller,
        shadow: false,
        // The first ones of a set that returns to a page are in one call.
        node_scope: nodes > 1 && (!returning || number > 2) && rng.one_in(2),
        on_store_error: *rng.pick(&[OnStoreError::Local, OnStoreError::Allow, OnStoreError::Deny]),
        debt: false,
        hidden: false,
        message: None,
        fresh_tiers: false,
    }
}

fn size(rule: &Rule) -> u64 {
    let windows = match &rule.limits {
        Limits::None => 0,
        Limits::Same(windows) => windows.len(),
        Limits::ByTier(by_tier) => by_tier.values().map(Vec::len).max().unwrap_or(0),
    };
    windows as u64 + u64::from(rule.cooldown.is_some())
}

fn tiers(rng: &mut Rng) -> Tiers {
    let mut table = BTreeMap::new();
    for user in &USERS[..2] {
        if !rng.one_in(3) {
            table.insert((*user).to_owned(), (*rng.pick(&TIERS)).to_owned());
        }
    }
    let names = TIERS.iter().map(|name| (*name).to_owned()).collect();
    Tiers { table, default: (*rng.pick(&TIERS)).to_owned(), names }
}

fn rule(rng: &mut Rng, number: usize, tiered: bool, nodes: usize, sliding: bool) -> Rule {
    let name = format!("r{number}");
    let descriptor = rng.one_in(12);
    let key = match () {
        () if descriptor => &["user", "tenant"][..],
        () if tiered && rng.one_in(3) => &["user"],
        () => *rng.pick(&KEYS),
    };
    let mut rule = Rule {
        name,
        method: (rng.one_in(6) && !descriptor).then(|| (*rng.pick(&METHODS)).to_owned()),
        path: (rng.one_in(4) && !descriptor).then(|| (*rng.pick(&PATHS)).to_owned()),
        descriptor,
        key: key.iter().map(|one| (*one).to_owned()).collect(),
        if_missing: None,
        limits: Limits::None,
        soft: None,
        cooldown: None,
        cost: cost(rng),
        shadow: rng.one_in(6),
        node_scope: nodes > 1 && rng.one_in(8),
        on_store_error: *rng.pick(&[OnStoreError::Local, OnStoreError::Allow, OnStoreError::Deny]),
        debt: rng.one_in(8),
        hidden: rng.one_in(10),
        message: rng.one_in(10).then(|| "Come back later.".to_owned()),
        fresh_tiers: false,
    };
    if rng.one_in(3) && !rule.key.is_empty() {
        let all = [IfMissing::Share, IfMissing::Skip, IfMissing::Refuse];
        rule.if_missing = Some(*rng.pick(&all));
    }
    let cooldown_alone = rng.one_in(10);
    if cooldown_alone || rng.one_in(8) {
        rule.cooldown = Some(cooldown(rng));
    }
    if cooldown_alone {
        rule.cost = Cost::Caller;
        rule.debt = false;
        return rule;
    }
    // Two quotas on one counter are covered by other cases, so only users have tiers and
    // overrides.
    if tiered && by_user(&rule) && !rng.one_in(4) {
        rule.limits = Limits::ByTier(by_tier(rng, sliding));
        rule.fresh_tiers = rng.one_in(4);
    } else {
        rule.limits = Limits::Same(windows(rng, sliding));
    }
    let slots_only = all_windows(&rule).all(|window| matches!(window, Window::Slots { .. }));
    let hard = |window: &Window| match window {
        Window::Slots { .. } => true,
        Window::Quota { algorithm, .. } => *algorithm == Algorithm::Queue,
    };
    if rng.one_in(5) && !all_windows(&rule).any(hard) {
        rule.soft = Some(soft(rng));
    }
    if slots_only {
        rule.debt = false;
    }
    rule
}

fn by_user(rule: &Rule) -> bool {
    rule.key.iter().any(|one| one == "user")
}

/// Every window of a rule, for all tiers.
pub(super) fn all_windows(rule: &Rule) -> impl Iterator<Item = &Window> {
    let lists: Vec<&Vec<Window>> = match &rule.limits {
        Limits::None => Vec::new(),
        Limits::Same(windows) => vec![windows],
        Limits::ByTier(by_tier) => by_tier.values().collect(),
    };
    lists.into_iter().flatten()
}

fn cost(rng: &mut Rng) -> Cost {
    match rng.below(6) {
        0 => Cost::Fixed(rng.between(1, 3)),
        1 => Cost::CallerUpTo(rng.between(1, 4)),
        _ => Cost::Caller,
    }
}

fn soft(rng: &mut Rng) -> Soft {
    let delay_us = *rng.pick(&[100_000, 250_000, 1_000_000]);
    if rng.one_in(2) {
        Soft { extra: Some(rng.between(1, 3)), grace: None, delay_us }
    } else {
        let quota = Quota {
            amount: rng.between(1, 3),
            period_us: *rng.pick(&[10 * SECOND, 60 * SECOND]),
            burst: None,
        };
        Soft { extra: None, grace: Some(quota), delay_us }
    }
}

fn cooldown(rng: &mut Rng) -> Cooldown {
    let block_us = *rng.pick(&[5 * SECOND, 60 * SECOND]);
    Cooldown {
        after: rng.between(1, 3),
        within_us: *rng.pick(&[10 * SECOND, 600 * SECOND]),
        block_us,
        escalation: rng.one_in(2).then(|| (rng.between(2, 3), 10 * block_us)),
        pending_us: rng.one_in(3).then(|| *rng.pick(&[2 * SECOND, 10 * SECOND])),
        reset_on_success: rng.one_in(4),
    }
}

pub(super) fn overriding(rng: &mut Rng, file: &RuleFile) -> Option<Override> {
    let limited = |rule: &&Rule| all_windows(rule).next().is_some() && !rule.descriptor;
    let rules: Vec<&Rule> = file.rules.iter().filter(limited).collect();
    let rule = *rules.get(rng.index(rules.len().max(1)))?;
    let windows: Vec<Window> = all_windows(rule).copied().collect();
    let place = rng.index(windows.len());
    let window = requoted(rng, windows[place]);
    let start = |rng: &mut Rng| START / SECOND * SECOND + rng.between(1, 40) * SECOND;
    Some(Override {
        user: (by_user(rule) && !rng.one_in(3)).then(|| (*rng.pick(&USERS)).to_owned()),
        rule: rule.name.clone(),
        limit: vec![window],
        from_us: rng.one_in(3).then(|| start(rng)),
        until_us: rng.one_in(2).then(|| start(rng) + 60 * SECOND),
    })
}

pub(super) fn list_entry(rng: &mut Rng) -> ListEntry {
    let until = START / SECOND * SECOND + rng.between(1, 90) * SECOND;
    ListEntry {
        block: rng.one_in(2),
        user: (*rng.pick(&USERS)).to_owned(),
        until_us: rng.one_in(2).then_some(until),
    }
}

fn headers(rng: &mut Rng) -> Headers {
    let names = match rng.below(8) {
        0 => HeaderNames::XRateLimit,
        1 => HeaderNames::Legacy,
        2 => HeaderNames::Off,
        _ => HeaderNames::XRatelimit,
    };
    Headers { names, epoch: rng.one_in(4), no_ietf: rng.one_in(6), upgrade: rng.one_in(5) }
}
