//! Tables of callers and their tiers.

use std::path::Path;
use std::sync::Arc;

use super::Compiler;
use crate::directory::Assigned;
use crate::load::Document;
use crate::node::Node;
use crate::source::Span;
use crate::spelling;
use crate::yaml;

impl Compiler<'_> {
    /// Who has which tier, by an identity.
    pub(super) fn tier_table(&mut self, lookup: &Node, table: &Node, document: &Document) {
        let Some(name) = lookup.text() else { return };
        let Some(identity) = self.identity(name, lookup.span) else { return };
        if !table.entries().is_empty() {
            self.rows(identity, table);
            return;
        }
        if table.text().is_none() {
            return;
        }
        let Some((path, bytes)) = self.read(table, &document.path) else { return };
        let is_csv =
            path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("csv"));
        if is_csv {
            self.csv(identity, &path, &bytes, table);
        } else {
            let source = self
                .sources
                .add(path.display().to_string(), String::from_utf8_lossy(&bytes).into_owned());
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let Some(root) = yaml::parse(source, &text, self.env, &mut self.findings) else {
                return;
            };
            if root.entries().is_empty() && !root.is_null() {
                self.error(&root, "bad-table", "this is not a table of callers and tiers")
                    .help("write a line `caller: tier` for each");
            }
            self.rows(identity, &root);
        }
    }

    fn rows(&mut self, identity: usize, table: &Node) {
        for entry in table.entries() {
            let Some(tier) = entry.value.text() else {
                self.error(&entry.value, "bad-table", "a tier was expected here")
                    .help("write `caller: tier`");
                continue;
            };
            if self.tiers.as_ref().is_some_and(|tiers| tiers.named(tier).is_none()) {
                self.tier(&entry.value);
                continue;
            }
            self.row(identity, (&entry.key.text, entry.key.span), (tier, entry.value.span));
        }
    }

    fn csv(&mut self, identity: usize, path: &Path, bytes: &[u8], table: &Node) {
        let Ok(text) = std::str::from_utf8(bytes) else {
            self.error(table, "bad-table", format!("the file {} is not text", path.display()))
                .help("save it with the encoding UTF-8");
            return;
        };
        let source = self.sources.add(path.display().to_string(), text.to_owned());
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            let at = start;
            start += line.len();
            let row = line.trim_end();
            if row.trim().is_empty() || row.starts_with('#') || row == "caller,tier" {
                continue;
            }
            let span = Span::new(source, at, at + row.len());
            match row.split_once(',') {
                Some((caller, tier)) => {
                    let (caller, tier) = (caller.trim(), tier.trim());
                    let tier_at = Span::new(source, at + row.len() - tier.len(), at + row.len());
                    let caller_at = match caller {
                        "" => span,
                        _ => self.sources.within(span, caller, 0..caller.len()),
                    };
                    self.row(identity, (caller, caller_at), (tier, tier_at));
                }
                None => {
                    _ = self
                        .error_at(span, "bad-table", "a line needs a caller and a tier")
                        .help("write `caller,tier`");
                }
            }
        }
    }

    fn row(&mut self, identity: usize, (caller, at): (&str, Span), (tier, tier_at): (&str, Span)) {
        let Some(tiers) = &self.tiers else { return };
        if tiers.named(tier).is_none() {
            let meant = spelling::closest(tier, tiers.names.iter().map(|name| &**name));
            let help = match meant {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("the tiers are {}", tiers.names.join(", ")),
            };
            let message = format!("there is no tier `{}`", crate::report::shortened(tier, 60));
            self.error_at(tier_at, "unknown-tier", message).help(help);
            return;
        }
        let Some(subject) = self.subject(identity, caller, at) else { return };
        let tier: Arc<str> = tier.into();
        let name = self.identities[identity].name.clone();
        self.directory
            .change(&name, &subject, |standing| standing.tiers.push(Assigned::always(tier)));
    }
}
