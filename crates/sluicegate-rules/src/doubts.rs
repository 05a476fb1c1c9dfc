//! Rules that are allowed and hardly meant.

use sluicegate::{Limit, Outage, Per, Scope};

use crate::compile::Draft;
use crate::finding::{Finding, Findings};
use crate::identity::Identity;
use crate::limits::{Limits, Owing, Windows};
use crate::path::Pattern;
use crate::rule::{Mode, Rule};

/// A burst of more than so many times what comes back in one period is doubtful.
const LARGE_BURST: u64 = 10;
/// A key of more identities than this is doubtful: whoever varies one of them gets a new counter.
const MANY_FACTORS: usize = 4;
/// The most checks that one request may owe.
pub(crate) const MOST_CHECKS: usize = sluicegate::Limiter::<sluicegate::Memory>::MAX_CHECKS;

/// Looks for rules that can never apply or never refuse, and for doubtful ones.
pub(crate) fn check(drafts: &[Draft], identities: &[Identity], findings: &mut Findings) {
    for draft in drafts {
        never_applies(draft, findings);
        many_factors(draft, identities, findings);
        large_burst(draft, findings);
        unaffordable(draft, findings);
        idle_outage(draft, findings);
    }
    hidden(drafts, findings);
    too_many_checks(drafts, findings);
}

/// Notes once that a rule for a literal path does not apply to other spellings of it.
///
/// Also where a rule for all paths limits those other spellings: it is mostly looser.
pub(crate) fn spellings(drafts: &[Draft], findings: &mut Findings) {
    let limits = |draft: &&Draft| {
        let rule = &draft.rule;
        let owes = rule.limits.each().iter().any(|windows| !windows.owed().is_empty());
        rule.mode == Mode::Enforce && (owes || rule.cooldown.is_some())
    };
    let literal = |draft: &Draft| {
        let matcher = draft.matcher();
        let mut paths = matcher.paths.iter().filter(|_| !matcher.untold);
        let has_letters = |path: &str| path.bytes().any(|byte| byte.is_ascii_alphabetic());
        let literal = |path: &Pattern| {
            Some(path.to_string()).filter(|it| path.is_literal() && has_letters(it))
        };
        Some((draft.span, paths.find_map(literal)?))
    };
    let Some((span, path)) = drafts.iter().filter(limits).find_map(literal) else { return };
    let message = format!(
        "`{}`, `{path}.`, `{path}%20` and `{path}%0a` are other paths than `{path}` to this rule",
        path.to_ascii_uppercase()
    );
    findings.push(
        Finding::note(span, "spellings", message)
            .label("some frameworks (Express, IIS, Rails) fold case or trim the end of a path")
            .help(
                "if yours does, write `paths: { ignore_case: true, ignore_trailing: [\".\", \"%20\", \"%0a\"] }` \
                 at the top of the file, and `paths: {}` if it does not",
            ),
    );
}

fn never_applies(draft: &Draft, findings: &mut Findings) {
    let matcher = draft.matcher();
    let left_out = matcher.not.iter().any(|not| not.covers(matcher));
    let conditions = matcher.headers.iter().chain(&matcher.attributes);
    let mut impossible = conditions.filter(|(_, condition)| condition.is_impossible());
    if left_out || impossible.next().is_some() {
        let message = format!("the rule `{}` never applies", draft.rule.name);
        let help = if left_out {
            "its `not` leaves out everything that it matches; make that narrower"
        } else {
            "its conditions cannot be met together; take one away"
        };
        findings.push(Finding::warning(draft.span, "never-matches", message).help(help));
    }
}

fn many_factors(draft: &Draft, identities: &[Identity], findings: &mut Findings) {
    let key = &draft.rule.key;
    if key.len() > MANY_FACTORS {
        let names: Vec<&str> =
            key.iter().filter_map(|index| Some(&*identities.get(*index)?.name)).collect();
        let message = format!("the key is made of {} identities: {}", key.len(), names.join(", "));
        findings.push(
            Finding::warning(draft.key_span, "many-factors", message)
                .label("whoever varies one of them gets a new counter")
                .help("key on fewer, or make several rules, which then hold together"),
        );
    }
}

fn large_burst(draft: &Draft, findings: &mut Findings) {
    for owing in draft.rule.limits.each().iter().flat_map(Windows::owed) {
        let Some(quota) = owing.quota else { continue };
        let times = quota.burst().unwrap_or(0) / quota.amount();
        if times > LARGE_BURST {
            let message =
                format!("the burst of `{quota}` is {times} times what comes back in its period");
            findings.push(
                Finding::warning(draft.limit_span, "large-burst", message)
                    .label("a caller who was quiet may use all of it at once")
                    .help(
                        "a smaller burst, or a second limit over a short time, keeps the peak down",
                    ),
            );
        }
    }
}

/// Costs that no caller can ever afford.
fn unaffordable(draft: &Draft, findings: &mut Findings) {
    let costs = &draft.rule.costs;
    let dearest = costs.endpoints.iter().map(|endpoint| endpoint.cost).chain(costs.default).max();
    let Some(dearest) = dearest else { return };
    let owed = draft.rule.limits.each().iter().flat_map(Windows::owed);
    let smallest =
        owed.filter(|owing| !owing.limit.holds()).map(|owing| owing.limit.capacity()).min();
    if let Some(capacity) = smallest.filter(|capacity| *capacity < dearest) {
        let message =
            format!("a cost of {dearest} is never admitted: the limit holds {capacity} at most");
        findings.push(
            Finding::warning(draft.limit_span, "unaffordable", message)
                .help("raise the limit or its burst, or lower the cost"),
        );
    }
}

/// What is to be done while a store is down that is never asked.
fn idle_outage(draft: &Draft, findings: &mut Findings) {
    let rule = &draft.rule;
    // It may still say how sliding windows count.
    let counts = match &rule.limits {
        Limits::Same(windows) => windows.owed().iter().any(|owing| owing.strict),
        Limits::ByTier(_) => true,
        Limits::None => false,
    };
    let idle = [
        ("on_store_error", rule.on_store_error != Outage::Local),
        ("strict", rule.strict && !counts),
    ];
    for (field, _) in idle.into_iter().filter(|(_, said)| *said && rule.scope == Scope::Node) {
        let message = format!("`{field}` of the rule `{}` has no effect", rule.name);
        findings.push(
            Finding::warning(draft.span, "no-effect", message)
                .label("with `scope: node` it never asks the shared store")
                .help("take one of the two away"),
        );
    }
}

/// Rules that never decide anything, because another is always at least as strict.
fn hidden(drafts: &[Draft], findings: &mut Findings) {
    // Rules on one key are few; looking at all pairs of many thousand rules would take long.
    let mut by_key: std::collections::HashMap<&[usize], Vec<&Draft>> =
        std::collections::HashMap::new();
    for draft in drafts
        .iter()
        .filter(|draft| draft.rule.cooldown.is_none() && draft.rule.mode == Mode::Enforce)
    {
        by_key.entry(&draft.rule.key).or_default().push(draft);
    }
    for group in by_key.values() {
        // Only a rule for all paths hides many others; those for the same paths lie side by side.
        let mut wide: Vec<&&Draft> =
            group.iter().filter(|draft| draft.matcher().paths.is_empty()).collect();
        // Of those, the ones that want the least hide the most.
        wide.sort_by_key(|draft| draft.matcher().wants());
        wide.truncate(NEAR);
        for (index, draft) in group.iter().enumerate() {
            let near = &group[index.saturating_sub(NEAR)..index];
            let above = wide.iter().copied().chain(near);
            // Of two that are equally strict, the first one stays.
            let stays = |other: &Draft| other.span > draft.span && hides(draft, other);
            let hides = |other: &&&Draft| {
                !std::ptr::eq(**other, *draft) && hides(other, draft) && !stays(other)
            };
            if let Some(other) = above.into_iter().find(hides) {
                let message = format!("the rule `{}` never refuses anybody", draft.rule.name);
                findings.push(
                    Finding::warning(draft.span, "hidden", message)
                        .related(
                            other.span,
                            "this one applies wherever it does, and is at least as strict",
                        )
                        .help("take one of them away, or change its limit"),
                );
            }
        }
    }
}

/// How many of the widest rules, and of those before it, a rule is compared with.
const NEAR: usize = 100;

fn hides(strict: &Draft, lax: &Draft) -> bool {
    let (Limits::Same(strict_windows), Limits::Same(lax_windows)) =
        (&strict.rule.limits, &lax.rule.limits)
    else {
        return false;
    };
    let plain = |draft: &Draft| {
        let costs = &draft.rule.costs;
        costs.endpoints.is_empty()
            && costs.measure.is_none()
            && costs.default.is_none()
            && draft.rule.overrides.is_empty()
    };
    plain(strict)
        && plain(lax)
        && strict.rule.if_missing == lax.rule.if_missing
        && counts_as_much(&strict.rule, &lax.rule)
        && strict.matcher().covers(lax.matcher())
        && lax_windows
            .owed()
            .iter()
            .all(|lax| strict_windows.owed().iter().any(|strict| is_stricter(strict, lax)))
}

/// Whether a rule counts all that another counts, and also does while the store is down.
fn counts_as_much(strict: &Rule, lax: &Rule) -> bool {
    match (strict.scope, strict.on_store_error) {
        (Scope::Node, _) => lax.scope == Scope::Node,
        (Scope::Cluster, Outage::Deny) => true,
        (Scope::Cluster, Outage::Local) => {
            lax.scope == Scope::Node || lax.on_store_error != Outage::Deny
        }
        (Scope::Cluster, Outage::Allow) => {
            lax.scope == Scope::Cluster && lax.on_store_error == Outage::Allow
        }
    }
}

fn is_stricter(strict: &Owing, lax: &Owing) -> bool {
    let (Some(one), Some(other)) = (strict.quota, lax.quota) else { return false };
    let burst = |limit: &Limit| limit.capacity();
    strict.limit.algorithm() == lax.limit.algorithm()
        && one.per() == other.per()
        && matches!(one.per(), Per::Span(_) | Per::Months(_))
        && strict.beyond.is_none()
        && one.amount() <= other.amount()
        && burst(&strict.limit) <= burst(&lax.limit)
}

fn too_many_checks(drafts: &[Draft], findings: &mut Findings) {
    let mut checks = 0;
    for draft in drafts.iter().filter(|draft| draft.matcher().is_empty()) {
        let owed = draft.rule.limits.each().iter().map(|windows| {
            windows
                .owed()
                .iter()
                .map(|owing| 1 + usize::from(owing.beyond.is_some()))
                .sum::<usize>()
        });
        checks += owed.max().unwrap_or(0) + usize::from(draft.rule.cooldown.is_some());
        if checks > MOST_CHECKS {
            let message = format!("every request owes more than {MOST_CHECKS} checks from here on");
            findings.push(
                Finding::error(draft.span, "too-many-checks", message)
                    .help("narrow rules down with `match`, or take some away"),
            );
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::path::Path;

    use super::NEAR;
    use crate::RuleFile;
    use crate::load::Shelf;

    #[test]
    fn a_rule_for_everything_hides_others_however_many_stand_before_it() {
        let mut text = String::from("rules:\n");
        for number in 0..3 * NEAR {
            let matched = format!("attribute: {{ plan: p{number} }}");
            let _ = writeln!(
                text,
                "  - {{ name: r{number}, key: ip, limit: 9/min, match: {{ {matched} }} }}"
            );
        }
        text += "  - { name: everything, key: ip, limit: 5/min }\n";
        let shelf = Shelf::new().with("rules.yaml", text);
        let file = RuleFile::load_with(Path::new("rules.yaml"), &shelf, &|_| None).unwrap();
        let hidden = file.report.findings().iter().filter(|finding| finding.code() == "hidden");
        assert_eq!(hidden.count(), 3 * NEAR);
    }

    #[test]
    fn other_spellings_are_noted_once_unless_they_are_limited_or_the_file_speaks_of_paths() {
        let login = "- { name: logins, key: ip, limit: 5/min, match: { path: /login } }";
        let reset = "- { name: resets, key: ip, limit: 5/min, match: { path: /reset } }";
        let notes = |above: &str, rules: &[&str]| {
            let text = format!("{above}\nrules:\n  {}\n", rules.join("\n  "));
            let shelf = Shelf::new().with("rules.yaml", text);
            let file = RuleFile::load_with(Path::new("rules.yaml"), &shelf, &|_| None).unwrap();
            assert_eq!((file.report.errors(), file.report.warnings()), (0, 0), "{}", file.report);
            file.report.findings().len()
        };
        let cooldown = "cooldown: { after: 5, within: 10m, block: 15m }";
        let blocked = format!("- {{ name: a, key: ip, {cooldown}, match: {{ path: /login }} }}");
        assert_eq!(notes("", &[login, reset]), 1);
        assert_eq!(notes("", &[&blocked]), 1);
        assert_eq!(notes("paths: {}", &[login, reset]), 0);
        assert_eq!(notes("paths: { ignore_trailing: . }", &[login, reset]), 0);
        for (sibling, noted) in [
            ("- { name: all, key: ip, limit: 9/min }", 1),
            ("- { name: all, key: ip, limit: 9/min, match: { path: '/**' } }", 1),
            ("- { name: all, key: ip, limit: 9/min, mode: shadow }", 1),
            ("- { name: posts, key: ip, limit: 9/min, match: { method: POST } }", 1),
            ("- { name: posts, key: ip, limit: 9/min, match: { method: POST, path: '/**' } }", 1),
        ] {
            assert_eq!(notes("", &[login, sibling]), noted, "{sibling}");
        }
        for quiet in [
            "- { name: a, key: ip, limit: 5/min, match: { path: /login }, mode: shadow }",
            "- { name: a, key: ip, limit: 5/min, match: { path: '/login/**' } }",
            "- { name: a, key: ip, limit: 5/min, match: { path: '/users/{id}' } }",
            "- { name: a, key: ip, limit: 5/min, match: { path: / } }",
            "- { name: a, key: ip, limit: 5/min, match: { not: { path: /login } } }",
        ] {
            assert_eq!(notes("", &[quiet]), 0, "{quiet}");
        }
    }
}
