//! `headers`: response headers; and the messages of rules.

use super::{Compiler, hidden_text};
use crate::file::load::Document;
use crate::rule_set::header_settings::{HeaderNames, HeaderSettings, Reset};
use sluicegate_yaml::Node;

/// The longest URL in bytes, because it is sent in a header.
const LONGEST_URL: usize = 1_024;
/// The longest message, in bytes.
const LONGEST_MESSAGE: usize = 1_024;

impl Compiler<'_> {
    pub(super) fn headers(&mut self, documents: &[Document]) -> HeaderSettings {
        let Some(node) = self.once(documents, "headers") else { return HeaderSettings::DEFAULT };
        let word = |field: &str| node.get(field).and_then(Node::text);
        HeaderSettings {
            names: word("names").and_then(HeaderNames::named).unwrap_or_default(),
            reset: if word("reset") == Some("epoch") { Reset::Epoch } else { Reset::Delta },
            ietf: node.get("ietf").and_then(Node::flag).unwrap_or(true),
            upgrade_url: node.get("upgrade_url").and_then(|node| self.page(node)),
            upgrade_message: node.get("upgrade_message").and_then(|node| self.message(node)),
        }
    }

    /// Reads the URL of a page for people.
    fn page(&mut self, node: &Node) -> Option<String> {
        let scalar = node.scalar().filter(|scalar| !scalar.is_broken())?;
        let text = scalar.text();
        let behind = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
        let plain = behind.is_some_and(|rest| {
            !rest.is_empty() && rest.bytes().all(|letter| letter.is_ascii_graphic())
        });
        if !plain || text.len() > LONGEST_URL {
            let message = if scalar.is_secret() {
                hidden_text(scalar, "the URL of a page")
            } else {
                format!("`{}` is not the URL of a page", scalar.shown())
            };
            self.error(node, "bad-url", message).help(
                "use one as in `https://example.com/plans`, with at most 1024 characters and no spaces",
            );
            return None;
        }
        Some(text.to_owned())
    }

    /// Reads a message for people.
    pub(super) fn message(&mut self, node: &Node) -> Option<String> {
        let scalar = node.scalar().filter(|scalar| !scalar.is_broken())?;
        let text = scalar.text().trim();
        if text.is_empty() || text.len() > LONGEST_MESSAGE {
            let message = format!(
                "this message has {} bytes, and 1 to {LONGEST_MESSAGE} are allowed",
                text.len()
            );
            self.error(node, "bad-message", message).help("write a sentence or two, or remove it");
            return None;
        }
        Some(text.to_owned())
    }
}
