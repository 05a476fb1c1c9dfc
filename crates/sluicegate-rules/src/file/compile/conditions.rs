//! Conditions on headers, attributes and identities.

use super::Compiler;
use super::identities::names_a_secret;
use crate::matching::condition::Condition;
use sluicegate_yaml::Node;

impl Compiler<'_> {
    /// Reads the condition on a value; that on a secret value, by its name, is never shown.
    pub(super) fn condition_of(&mut self, name: &str, node: &Node) -> Option<Condition> {
        let condition = self.condition(node)?;
        let has_text = !matches!(condition, Condition::Present(_));
        Some(if has_text && names_a_secret(name) {
            condition.shown_as("the expected value")
        } else {
            condition
        })
    }

    fn condition(&mut self, node: &Node) -> Option<Condition> {
        if node.entries().is_empty() {
            return self.any_of(node);
        }
        let not = node.get("not").and_then(|node| self.any_of(node));
        let any_of = node.get("any_of").and_then(|node| self.any_of(node));
        let present = node.get("present").and_then(Node::flag).map(Condition::Present);
        let given = [not.map(|condition| Condition::Not(Box::new(condition))), any_of, present];
        let mut given = given.into_iter().flatten();
        match (given.next(), given.next()) {
            (Some(condition), None) => Some(condition),
            (Some(_), Some(_)) => {
                self.error(node, "two-conditions", "this condition has several fields")
                    .help("keep one of them");
                None
            }
            (None, _) => None,
        }
    }

    fn any_of(&mut self, node: &Node) -> Option<Condition> {
        let mut conditions: Vec<Condition> =
            node.items().iter().filter_map(|item| self.one_condition(item)).collect();
        if node.items().is_empty() {
            self.error(
                node,
                "no-condition",
                "this condition accepts no value, so the rule never applies",
            )
            .help("name the accepted values, or remove the condition");
            return None;
        }
        match conditions.len() {
            0 => None,
            1 => conditions.pop(),
            _ => Some(Condition::AnyOf(conditions)),
        }
    }

    fn one_condition(&mut self, node: &Node) -> Option<Condition> {
        let scalar = node.scalar().filter(|scalar| !scalar.is_broken())?;
        match Condition::of(scalar.text()) {
            Ok(condition) if scalar.is_secret() => {
                Some(condition.shown_as(format!("`{}`", scalar.shown())))
            }
            Ok(condition) => Some(condition),
            Err(wrong) => {
                let message = format!("`{}` needs a number after it", wrong.comparison);
                self.error(node, "bad-condition", message)
                    .help(format!("write it as in `\"{} 30\"`", wrong.comparison));
                None
            }
        }
    }
}
