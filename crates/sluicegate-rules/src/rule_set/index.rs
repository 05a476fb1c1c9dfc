//! An index for finding the rules that may apply to a request.

use std::collections::HashMap;

use smallvec::SmallVec;

use crate::matching::condition::Condition;
use crate::request::context::RequestContext;
use crate::request::path::Router;
use crate::rule_set::rule::Rule;

/// The rules, indexed by path or by an attribute.
#[derive(Debug)]
pub(crate) struct Index {
    /// Rules that apply to certain paths only.
    by_path: Router<u32>,
    /// Rules that require an attribute to be one of certain texts.
    by_attribute: Vec<(Box<str>, ByText)>,
    /// All other rules.
    anywhere: Vec<u32>,
}

/// Rules by the required text of an attribute.
type ByText = HashMap<Box<str>, Vec<u32>>;

/// The rules to check, in the order of the file.
pub(crate) type Candidates = SmallVec<[u32; 32]>;

impl Index {
    pub(crate) fn of(rules: &[Rule]) -> Self {
        let (mut routes, mut anywhere) = (Vec::new(), Vec::new());
        let mut by_attribute: Vec<(Box<str>, ByText)> = Vec::new();
        for (index, rule) in (0_u32..).zip(rules) {
            let matcher = &rule.matcher;
            if !matcher.paths.is_empty() {
                routes.extend(matcher.paths.iter().map(|pattern| (pattern.clone(), index)));
                continue;
            }
            let wanted = matcher
                .attributes
                .iter()
                .find_map(|(name, condition)| Some((name, texts(condition)?)));
            let Some((name, texts)) = wanted else {
                anywhere.push(index);
                continue;
            };
            let place =
                by_attribute.iter().position(|(known, _)| known == name).unwrap_or_else(|| {
                    by_attribute.push((name.clone(), HashMap::new()));
                    by_attribute.len() - 1
                });
            for text in texts {
                by_attribute[place].1.entry(text.into()).or_default().push(index);
            }
        }
        Self { by_path: Router::new(routes), by_attribute, anywhere }
    }

    /// The rules that may apply; all others do not.
    ///
    /// The path of a candidate is already known to match.
    pub(crate) fn candidates(&self, context: &mut RequestContext<'_>) -> Candidates {
        let mut candidates = Candidates::new();
        if let Some(paths) = context.paths() {
            for path in paths.readings() {
                self.by_path.matching(path, |rule| candidates.push(rule));
            }
        }
        for (name, rules) in &self.by_attribute {
            let Some(value) = context.attribute(name) else { continue };
            candidates.extend_from_slice(rules.get(&*value.as_text()).map_or(&[], |rules| rules));
        }
        let indexed = !candidates.is_empty();
        candidates.extend_from_slice(&self.anywhere);
        if indexed {
            candidates.sort_unstable();
            candidates.dedup();
        }
        candidates
    }
}

/// The texts that a condition allows, if it is nothing but a list of texts.
fn texts(condition: &Condition) -> Option<Vec<&str>> {
    match condition {
        Condition::Equals(text) => Some(vec![text]),
        Condition::AnyOf(conditions) => conditions
            .iter()
            .map(|condition| match condition {
                Condition::Equals(text) => Some(&**text),
                _ => None,
            })
            .collect(),
        _ => None,
    }
}
