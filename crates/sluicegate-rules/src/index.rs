//! Which rules may apply to a request, without looking at all of them.

use std::collections::HashMap;

use smallvec::SmallVec;

use crate::condition::Condition;
use crate::facts::Facts;
use crate::path::Router;
use crate::rule::Rule;

/// Rules by what they look at first.
#[derive(Debug)]
pub(crate) struct Index {
    /// Rules that apply to some paths only.
    by_path: Router<u32>,
    /// Rules that want an attribute to be one of some texts.
    by_attribute: Vec<(Box<str>, ByText)>,
    /// All others.
    anywhere: Vec<u32>,
}

/// Rules by the text that an attribute has to be.
type ByText = HashMap<Box<str>, Vec<u32>>;

/// Rules to look at, in the order of the file.
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

    /// The rules that may apply: those left out surely do not. What led here is not looked at again
    /// if it is the path.
    pub(crate) fn candidates(&self, facts: &mut Facts<'_>) -> Candidates {
        let mut candidates = Candidates::new();
        if let Some(paths) = facts.paths() {
            for path in paths.readings() {
                self.by_path.matching(path, |rule| candidates.push(rule));
            }
        }
        for (name, rules) in &self.by_attribute {
            let Some(value) = facts.attribute(name) else { continue };
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

/// The texts that a condition wants a value to be one of, if it is no more than that.
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
