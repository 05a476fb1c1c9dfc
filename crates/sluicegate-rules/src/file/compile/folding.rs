//! `paths`: which spellings of a path are the same path.

use super::{Compiler, hidden_text};
use crate::request::path::Folding;
use sluicegate_yaml::Node;

impl Compiler<'_> {
    pub(super) fn folding(&mut self, node: &Node) -> Folding {
        let ignore_case = node.get("ignore_case").and_then(Node::flag).unwrap_or(false);
        let items = node.get("ignore_trailing").map(Node::items).unwrap_or_default();
        let trailing = items.iter().filter_map(|item| self.trailing(item));
        trailing.fold(Folding::new(ignore_case), Folding::ignoring_trailing)
    }

    /// Reads the character of an item of `ignore_trailing`.
    fn trailing(&mut self, node: &Node) -> Option<u8> {
        const HELP: &str = "use single characters as in `[\".\", \"%20\", \"%0a\"]`";
        let scalar = node.scalar().filter(|scalar| !scalar.is_broken())?;
        let byte = match scalar.text().as_bytes() {
            [byte] => Some(*byte),
            [b'%', digits @ ..] if digits.len() == 2 => {
                str::from_utf8(digits).ok().and_then(|digits| u8::from_str_radix(digits, 16).ok())
            }
            _ => None,
        };
        let Some(byte) = byte.filter(u8::is_ascii) else {
            let message = if scalar.is_secret() {
                hidden_text(scalar, "a character")
            } else {
                format!("`{}` is not one ASCII character", scalar.shown())
            };
            self.error(node, "bad-trailing", message).help(HELP);
            return None;
        };
        if byte.is_ascii_alphanumeric() || b"%?#;\\*{}".contains(&byte) {
            let shown = char::from(byte);
            let message = format!("`{shown}` is part of a path or separates its parts");
            self.error(node, "bad-trailing", message).help(HELP);
            return None;
        }
        // Slashes at the end of a path are ignored anyway.
        Some(byte).filter(|byte| *byte != b'/')
    }
}
