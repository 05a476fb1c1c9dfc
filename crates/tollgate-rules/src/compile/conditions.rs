//! What a header, an attribute or an identity has to be.

use super::Compiler;
use crate::condition::Condition;
use crate::node::Node;

impl Compiler<'_> {
    pub(super) fn condition(&mut self, node: &Node) -> Option<Condition> {
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
