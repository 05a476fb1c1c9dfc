//! `identify.tier.table`: the tiers of callers.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use super::Compiler;
use crate::directory::Assigned;
use crate::file::load::Document;
use sluicegate_yaml::Node;
use sluicegate_yaml::SourceSpan;
use sluicegate_yaml::closest;

impl Compiler<'_> {
    /// Reads the table of the tiers of callers.
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
            let text = self.sources.text(source);
            let Some(root) = sluicegate_yaml::parse(source, text, self.env, &mut self.diagnostics)
            else {
                return;
            };
            if root.entries().is_empty() && !root.is_null() {
                self.error(&root, "bad-table", "this file is not a table of callers and tiers")
                    .help("write a line `caller: tier` for each caller");
            }
            self.rows(identity, &root);
        }
    }

    fn rows(&mut self, identity: usize, table: &Node) {
        for entry in table.entries() {
            self.mask_caller(identity, entry.key.span);
            let Some(tier) = entry.value.text() else {
                self.error(&entry.value, "bad-table", "expected the name of a tier")
                    .help("write the line as `caller: tier`");
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
            self.error(
                table,
                "bad-table",
                format!("the file `{}` is not UTF-8 text", path.display()),
            )
            .help("save it with the encoding UTF-8");
            return;
        };
        let source = self.sources.add(path.display().to_string(), text.to_owned());
        let mut seen: HashMap<&str, SourceSpan> = HashMap::new();
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            let at = start;
            start += line.len();
            let row = line.trim_end();
            if row.trim().is_empty() || row.starts_with('#') || row == "caller,tier" {
                continue;
            }
            let span = SourceSpan::new(source, at, at + row.len());
            // Masked first, because a diagnostic shows the line.
            let named = row.split_once(',').map_or(row, |(caller, _)| caller).trim_end();
            self.mask_caller(identity, SourceSpan::new(source, at, at + named.len()));
            match row.split_once(',') {
                Some((caller, tier)) => {
                    let (caller, tier) = (caller.trim(), tier.trim());
                    let tier_at =
                        SourceSpan::new(source, at + row.len() - tier.len(), at + row.len());
                    let caller_at = match caller {
                        "" => span,
                        _ => self.sources.within(span, caller, 0..caller.len()),
                    };
                    if let Some(first) = seen.get(caller).filter(|_| !caller.is_empty()) {
                        self.error_at(caller_at, "duplicate-caller", "this caller has two lines")
                            .related(*first, "the first line")
                            .help("keep one of them");
                        continue;
                    }
                    seen.insert(caller, caller_at);
                    self.row(identity, (caller, caller_at), (tier, tier_at));
                }
                None => {
                    _ = self
                        .error_at(span, "bad-table", "this line has no tier")
                        .help("write the line as `caller,tier`");
                }
            }
        }
    }

    /// Masks a caller with a secret identity.
    fn mask_caller(&mut self, identity: usize, caller: SourceSpan) {
        if self.identities[identity].secret {
            self.sources.mask(caller);
        }
    }

    fn row(
        &mut self,
        identity: usize,
        (caller, at): (&str, SourceSpan),
        (tier, tier_at): (&str, SourceSpan),
    ) {
        let Some(tiers) = &self.tiers else { return };
        if tiers.named(tier).is_none() {
            let meant = closest(tier, tiers.names.iter().map(|name| &**name));
            let help = match meant {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("the tiers are {}", tiers.names.join(", ")),
            };
            let message = format!("there is no tier `{}`", sluicegate_yaml::shortened(tier, 60));
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::file::load::{InMemoryFiles, LARGEST_TABLE};
    use crate::{Report, RuleFile};

    fn report(file: &str, table: Vec<u8>) -> Report {
        let text = format!(
            "
identify: {{ user: {{ header: x-user }}, tier: {{ lookup: user, table: {file}, default: free }} }}
tiers: {{ free: {{ api: 5/min }}, gold: {{ api: 50/min }} }}
rules: [{{ name: api, key: user, limit: {{ tier: api }} }}]
"
        );
        let shelf = InMemoryFiles::new().with("rules.yaml", text).with(file, table);
        RuleFile::load_with(Path::new("rules.yaml"), &shelf, &|_| None).unwrap().report
    }

    #[test]
    fn rejects_a_table_that_is_too_large() {
        // A comment, because it is read fast.
        let mut table = vec![b'#'; LARGEST_TABLE];
        assert_eq!(report("tiers.csv", table.clone()).diagnostics(), []);
        table.push(b'#');
        let report = report("tiers.csv", table);
        let [diagnostic] = report.diagnostics() else { panic!("{report}") };
        assert_eq!(diagnostic.code(), "too-large");
        assert_eq!(diagnostic.message(), "the file `tiers.csv` is larger than 64 MiB");
    }

    #[test]
    fn rejects_a_caller_with_two_lines_in_a_table() {
        for (table, twice) in [
            ("caller,tier\nann,gold\nbob,gold\n", 0),
            ("ann,gold\nann,free\n", 1),
            ("ann,gold\nann,gold\n", 1),
            ("ann,gold\nbob,gold\n ann , free\nann,gold\n", 2),
            ("ann,gold\nAnn,gold\n", 0),
        ] {
            let report = report("tiers.csv", table.into());
            let codes: Vec<_> = report.diagnostics().iter().map(crate::Diagnostic::code).collect();
            assert_eq!(codes, vec!["duplicate-caller"; twice], "{table}");
        }
    }
}
