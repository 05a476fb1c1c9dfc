//! Warnings about rules that are valid and probably not meant.

use sluicegate::{OnStoreError, Scope};

use crate::file::compile::RuleDraft;
use crate::request::identity::Identity;
use crate::request::path::Pattern;
use crate::rule_set::limits::{LimitSet, Limits};
use crate::rule_set::rule::Mode;
use sluicegate_yaml::{Diagnostic, Diagnostics, Node, SourceSpan};

/// The largest burst without a warning, as a multiple of the amount per period.
const LARGE_BURST: u64 = 10;
/// The largest number of identities in a key without a warning.
const MANY_FACTORS: usize = 4;
/// The warnings that a rule can accept.
pub(crate) const ACCEPTABLE: &[&str] = &[
    "large-burst",
    "many-factors",
    "never-matches",
    "no-effect",
    "unaffordable",
    "unbounded-cost",
    "unknown-identity",
];
/// The largest number of checks for one request.
pub(crate) const MOST_CHECKS: usize = sluicegate::Limiter::<sluicegate::Memory>::MAX_CHECKS;

/// Reports rules that never apply, and doubtful ones.
pub(crate) fn check(
    drafts: &mut [RuleDraft],
    identities: &[Identity],
    diagnostics: &mut Diagnostics,
) {
    for draft in drafts.iter_mut() {
        let before = diagnostics.len();
        never_applies(draft, diagnostics);
        many_factors(draft, identities, diagnostics);
        large_burst(draft, diagnostics);
        unaffordable(draft, diagnostics);
        idle_outage(draft, diagnostics);
        draft.accepted.apply(before, diagnostics);
        not_needed(draft, diagnostics);
    }
    too_many_checks(drafts, diagnostics);
}

/// Reports once that a rule for a literal path does not apply to other spellings of the path.
///
/// A rule for all paths that also limits the other spellings does not prevent the note, because its
/// limit is usually larger.
pub(crate) fn spellings(drafts: &[RuleDraft], diagnostics: &mut Diagnostics) {
    let limits = |draft: &&RuleDraft| {
        let rule = &draft.rule;
        let has_limits = rule.limits.each().iter().any(|set| !set.rule_limits().is_empty());
        rule.mode == Mode::Enforce && (has_limits || rule.cooldown.is_some())
    };
    let literal = |draft: &RuleDraft| {
        let matcher = draft.matcher();
        let mut paths = matcher.paths.iter().filter(|_| !matcher.is_from_environment);
        let has_letters = |path: &str| path.bytes().any(|byte| byte.is_ascii_alphabetic());
        let literal = |path: &Pattern| {
            Some(path.to_string()).filter(|it| path.is_literal() && has_letters(it))
        };
        Some((draft.span, paths.find_map(literal)?))
    };
    let Some((span, path)) = drafts.iter().filter(limits).find_map(literal) else { return };
    let message = format!(
        "this rule does not apply to `{}`, `{path}.`, `{path}%20` and `{path}%0a`",
        path.to_ascii_uppercase()
    );
    diagnostics.push(
        Diagnostic::note(span, "spellings", message)
            .label("some frameworks (Express, IIS, Rails) ignore case, or trim the end of a path")
            .help(
                "if yours does, add `paths: { ignore_case: true, ignore_trailing: [\".\", \"%20\", \"%0a\"] }` \
                 at the top of the file, and `paths: {}` if it does not",
            ),
    );
}

/// Reports accepted warnings that the rule does not cause.
fn not_needed(draft: &RuleDraft, diagnostics: &mut Diagnostics) {
    for (code, span) in draft.accepted.unused() {
        let name = &draft.rule.name;
        let message =
            format!("the rule `{name}` accepts the warning `{code}`, but does not cause it");
        diagnostics
            .push(Diagnostic::warning(span, "not-needed", message).help("remove it from `accept`"));
    }
}

fn never_applies(draft: &RuleDraft, diagnostics: &mut Diagnostics) {
    let matcher = draft.matcher();
    let is_excluded = matcher.not.iter().any(|not| not.is_part_of(matcher));
    let conditions = matcher.headers.iter().chain(&matcher.attributes);
    let mut impossible = conditions.filter(|(_, condition)| condition.is_impossible());
    if is_excluded || impossible.next().is_some() {
        let message = format!("the rule `{}` never applies", draft.rule.name);
        let help = if is_excluded {
            "its `not` excludes all requests that it matches; make the exception narrower"
        } else {
            "its conditions contradict each other; remove one"
        };
        diagnostics.push(Diagnostic::warning(draft.span, "never-matches", message).help(help));
    }
}

fn many_factors(draft: &RuleDraft, identities: &[Identity], diagnostics: &mut Diagnostics) {
    let key = &draft.rule.key;
    if key.len() > MANY_FACTORS {
        let names: Vec<&str> =
            key.iter().filter_map(|index| Some(&*identities.get(*index)?.name)).collect();
        let message = format!("the key has {} identities: {}", key.len(), names.join(", "));
        diagnostics.push(
            Diagnostic::warning(draft.key_span, "many-factors", message)
                .label("a caller that varies one of them gets a new counter")
                .help("use fewer, or several rules, which are enforced together"),
        );
    }
}

fn large_burst(draft: &RuleDraft, diagnostics: &mut Diagnostics) {
    for limit in draft.rule.limits.each().iter().flat_map(LimitSet::rule_limits) {
        let Some(quota) = limit.limit.quota() else { continue };
        let times = quota.burst().unwrap_or(0) / quota.amount();
        if times > LARGE_BURST {
            let message = format!("the burst of `{quota}` is {times} times the amount per period");
            diagnostics.push(
                Diagnostic::warning(draft.limit_span, "large-burst", message)
                    .label("after a pause a caller may use all of it at once")
                    .help(
                        "use a smaller burst, or add a second limit with a short period; if it is \
                         intended, add `accept: large-burst`",
                    ),
            );
        }
    }
}

/// Reports costs that are larger than the limit.
fn unaffordable(draft: &RuleDraft, diagnostics: &mut Diagnostics) {
    let costs = &draft.rule.costs;
    let dearest = costs.endpoints.iter().map(|endpoint| endpoint.cost).chain(costs.default).max();
    let Some(dearest) = dearest else { return };
    let limits = draft.rule.limits.each().iter().flat_map(LimitSet::rule_limits);
    let smallest = limits.filter(|it| !it.limit.holds()).map(|it| it.limit.capacity()).min();
    if let Some(capacity) = smallest.filter(|capacity| *capacity < dearest) {
        let message = format!(
            "a cost of {dearest} is never admitted, because the limit holds at most {capacity}"
        );
        diagnostics.push(
            Diagnostic::warning(draft.limit_span, "unaffordable", message)
                .help("raise the limit or its burst, or lower the cost"),
        );
    }
}

/// Reports settings for the shared store in a rule that never uses it.
fn idle_outage(draft: &RuleDraft, diagnostics: &mut Diagnostics) {
    let rule = &draft.rule;
    // `strict` of a sliding window has an effect without the store as well.
    let has_strict_window = match &rule.limits {
        Limits::Same(set) => {
            set.rule_limits().iter().any(|limit| limit.limit.spec().is_strict_window())
        }
        Limits::ByTier(_) => true,
        Limits::None => false,
    };
    let idle = [
        ("on_store_error", rule.on_store_error != OnStoreError::Local),
        ("strict", rule.strict && !has_strict_window),
    ];
    for (field, _) in idle.into_iter().filter(|(_, is_set)| *is_set && rule.scope == Scope::Node) {
        let message = format!("`{field}` of the rule `{}` has no effect", rule.name);
        diagnostics.push(
            Diagnostic::warning(draft.span, "no-effect", message)
                .label("with `scope: node` the rule never uses the shared store")
                .help(format!("remove `{field}` or `scope: node`")),
        );
    }
}

fn too_many_checks(drafts: &[RuleDraft], diagnostics: &mut Diagnostics) {
    let mut checks = 0;
    for draft in drafts.iter().filter(|draft| draft.matcher().is_empty()) {
        let limits = draft.rule.limits.each().iter().map(|set| {
            set.rule_limits()
                .iter()
                .map(|limit| 1 + usize::from(limit.soft.is_some()))
                .sum::<usize>()
        });
        checks += limits.max().unwrap_or(0) + usize::from(draft.rule.cooldown.is_some());
        if checks > MOST_CHECKS {
            let message =
                format!("with this rule every request has more than {MOST_CHECKS} checks");
            diagnostics.push(
                Diagnostic::error(draft.span, "too-many-checks", message)
                    .help("restrict rules with `match`, or remove some"),
            );
            return;
        }
    }
}

/// The warnings that a rule accepts.
#[derive(Default)]
pub(crate) struct Accepted {
    /// The code, its place in the file, and whether the warning was raised.
    warnings: Vec<(&'static str, SourceSpan, bool)>,
}

impl Accepted {
    /// Reads the field `accept` of a rule; unknown codes are reported by the validation.
    pub(crate) fn of(rule: &Node) -> Self {
        let items = rule.get("accept").map(Node::items).unwrap_or_default();
        let warnings = items.iter().filter_map(|item| {
            let code = ACCEPTABLE.iter().find(|code| item.text() == Some(**code))?;
            Some((*code, item.span, false))
        });
        Self { warnings: warnings.collect() }
    }

    /// Removes the accepted ones of the warnings after the first `before` diagnostics.
    pub(crate) fn apply(&mut self, before: usize, diagnostics: &mut Diagnostics) {
        for (code, _, raised) in &mut self.warnings {
            *raised |= diagnostics.remove_warnings(before, code);
        }
    }

    fn unused(&self) -> impl Iterator<Item = (&'static str, SourceSpan)> {
        self.warnings.iter().filter(|(.., raised)| !raised).map(|(code, span, _)| (*code, *span))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::RuleFile;
    use crate::file::load::InMemoryFiles;

    #[test]
    fn other_spellings_are_noted_once_unless_the_file_has_paths() {
        let login = "- { name: logins, key: ip, limit: 5/min, match: { path: /login } }";
        let reset = "- { name: resets, key: ip, limit: 5/min, match: { path: /reset } }";
        let notes = |above: &str, rules: &[&str]| {
            let text = format!("{above}\nrules:\n  {}\n", rules.join("\n  "));
            let shelf = InMemoryFiles::new().with("rules.yaml", text);
            let file = RuleFile::load_with(Path::new("rules.yaml"), &shelf, &|_| None).unwrap();
            assert_eq!((file.report.errors(), file.report.warnings()), (0, 0), "{}", file.report);
            file.report.diagnostics().len()
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
