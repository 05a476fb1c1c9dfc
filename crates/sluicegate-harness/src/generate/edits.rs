//! Random edits of a rule file: quotas, tiers, overrides and lists, in both directions.

use super::USERS;
use std::collections::HashSet;

use super::rules::{list_entry, overriding, requoted};
use crate::rule_file::{Limits, RuleFile};
use sluicegate_testkit::Rng;

/// The rules and users that were changed before. A second change before the first has recovered
/// keeps shares instead of units, and is covered by other tests.
pub(super) type Changed = HashSet<String>;

/// The file with one thing changed. If that is a tier, it is likely that of the user `charged`.
pub(super) fn edited(
    rng: &mut Rng,
    file: &RuleFile,
    changed: &mut Changed,
    charged: Option<&str>,
) -> RuleFile {
    let mut file = file.clone();
    match rng.below(8) {
        0 | 1 | 4 | 5 if file.tiers.is_some() => change_tier(rng, &mut file, changed, charged),
        2 if file.overrides.is_empty() => {
            let one = overriding(rng, &file);
            file.overrides.extend(one);
        }
        2 => file.overrides.clear(),
        3 if file.lists.is_empty() => file.lists.push(list_entry(rng)),
        3 => file.lists.clear(),
        _ => change_quota(rng, &mut file, changed),
    }
    file
}

fn change_tier(rng: &mut Rng, file: &mut RuleFile, changed: &mut Changed, charged: Option<&str>) {
    let Some(tiers) = &mut file.tiers else { return };
    // The counters of a user that was just charged are in use.
    let charged = charged.filter(|_| !rng.one_in(4));
    let user = charged.unwrap_or_else(|| *rng.pick(&USERS)).to_owned();
    if !changed.insert(user.clone()) {
        return;
    }
    let current = tiers.table.get(&user).unwrap_or(&tiers.default);
    if rng.one_in(4) {
        tiers.table.remove(&user);
    } else if let Some(other) = tiers.names.iter().find(|name| *name != current) {
        tiers.table.insert(user, other.clone());
    }
}

fn change_quota(rng: &mut Rng, file: &mut RuleFile, changed: &mut Changed) {
    let place = rng.index(file.rules.len());
    let Some(rule) = file.rules.get_mut(place) else { return };
    if !changed.insert(rule.name.clone()) {
        return;
    }
    let lists = match &mut rule.limits {
        Limits::None => return,
        Limits::Same(windows) => vec![windows],
        Limits::ByTier(by_tier) => by_tier.values_mut().collect(),
    };
    for windows in lists {
        let place = rng.index(windows.len());
        windows[place] = requoted(rng, windows[place]);
    }
}
