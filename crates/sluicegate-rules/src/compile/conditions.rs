//! What a header, an attribute or an identity has to be.

use super::Compiler;
use super::identities::names_a_secret;
use crate::condition::Condition;
use crate::node::Node;

impl Compiler<'_> {
    /// What a value of this name has to be. What opens doors, by its name, is compared and not shown.
    pub(super) fn condition_of(&mut self, name: &str, node: &Node) -> Option<Condition> {
        let condition = self.condition(node)?;
        let says_a_text = !matches!(condition, Condition::Present(_));
        Some(if says_a_text && names_a_secret(name) {
            condition.shown_as("what it has to be")
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
                self.error(node, "two-conditions", "this is two conditions in one")
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
            self.error(node, "no-condition", "nothing is accepted here, so the rule never applies")
                .help("name what is, or leave the condition out");
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
                let message = format!("`{}` needs a number behind it", wrong.comparison);
                self.error(node, "bad-condition", message)
                    .help(format!("write it as in `\"{} 30\"`", wrong.comparison));
                None
            }
        }
    }
}
