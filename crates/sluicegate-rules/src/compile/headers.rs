//! `headers`: how callers are told how they stand; and what a rule says of its own.

use super::{Compiler, unsaid};
use crate::headers::{HeaderNames, HeaderSettings, Reset};
use crate::load::Document;
use crate::node::Node;

/// The longest URL, in bytes: it is sent in a header.
const LONGEST_URL: usize = 1_024;
/// The longest sentence, in bytes.
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

    /// The URL of a page that people are sent to.
    fn page(&mut self, node: &Node) -> Option<String> {
        let scalar = node.scalar().filter(|scalar| !scalar.is_broken())?;
        let text = scalar.text();
        let behind = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
        let plain = behind.is_some_and(|rest| {
            !rest.is_empty() && rest.bytes().all(|letter| letter.is_ascii_graphic())
        });
        if !plain || text.len() > LONGEST_URL {
            let message = if scalar.is_secret() {
                unsaid(scalar, "the URL of a page")
            } else {
                format!("`{}` is not the URL of a page", scalar.shown())
            };
            self.error(node, "bad-url", message).help(
                "use one as in `https://example.com/plans`, of at most 1024 letters without spaces",
            );
            return None;
        }
        Some(text.to_owned())
    }

    /// What people are told in the operator's own words.
    pub(super) fn message(&mut self, node: &Node) -> Option<String> {
        let scalar = node.scalar().filter(|scalar| !scalar.is_broken())?;
        let text = scalar.text().trim();
        if text.is_empty() || text.len() > LONGEST_MESSAGE {
            let message =
                format!("a message has 1 to {LONGEST_MESSAGE} bytes, and this has {}", text.len());
            self.error(node, "bad-message", message)
                .help("write a sentence or two, or leave it out");
            return None;
        }
        Some(text.to_owned())
    }
}
