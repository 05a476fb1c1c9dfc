//! `tiers` and `identify.tier`: the tiers, and the tier of a caller.

use super::identities::{TIER, is_name};
use super::{Compiler, entries};
use crate::file::load::Document;
use crate::request::identity::{Identity, IfMissing};
use crate::rule_set::tiers::{TierId, Tiers};
use sluicegate_yaml::closest;
use sluicegate_yaml::{MapEntry, Node};

/// The fields of `identify.tier` that name a source in the request.
const SOURCES: [&str; 5] = ["header", "cookie", "query", "attribute", "jwt"];

impl Compiler<'_> {
    /// Reads `tiers` and `identify.tier`.
    pub(super) fn tiers(&mut self, documents: &[Document]) {
        let names = self.tier_names(documents);
        let definitions = documents.iter().filter_map(|document| {
            let entry = document.root.get("identify")?.entry(TIER)?;
            Some((document, entry))
        });
        let definitions: Vec<_> = definitions.collect();
        if let [(_, first), (_, second), ..] = definitions.as_slice() {
            self.error_at(second.key.span, "given-twice", "`identify.tier` is given in two files")
                .related(first.key.span, "first given here")
                .help("keep one of them");
        }
        match (names.is_empty(), definitions.first()) {
            (true, None) => {}
            (true, Some((_, entry))) => {
                self.error_at(entry.key.span, "no-tiers", "no tiers are defined")
                    .help("define tiers, as in `tiers: { free: { api: 100/min } }`");
            }
            (false, None) => {
                if let Some(entry) = entries(documents, "tiers").next() {
                    self.error_at(
                        entry.key.span,
                        "no-tier",
                        "the tier of a caller has no source",
                    )
                    .help("add one, as in `identify: { tier: { header: x-tier, default: free } }`");
                }
            }
            (false, Some((document, entry))) => self.tier_source(names, entry, document),
        }
    }

    fn tier_names(&mut self, documents: &[Document]) -> Vec<Box<str>> {
        let mut seen: Vec<&MapEntry> = Vec::new();
        for entry in entries(documents, "tiers").flat_map(|section| section.value.entries()) {
            match seen.iter().find(|first| first.key.text == entry.key.text) {
                Some(first) => {
                    let message = format!("the tier `{}` is defined twice", entry.key.shown());
                    self.error_at(entry.key.span, "given-twice", message)
                        .related(first.key.span, "first defined here")
                        .help("keep one of them");
                }
                None => seen.push(entry),
            }
            if !is_name(&entry.key.text) {
                let message = format!("`{}` is not a valid name for a tier", entry.key.shown());
                self.error_at(entry.key.span, "bad-name", message)
                    .help("use up to 64 letters, digits, `_`, `.` and `-`, as in `free`");
            }
        }
        seen.iter().map(|entry| entry.key.text.as_str().into()).collect()
    }

    fn tier_source(&mut self, names: Vec<Box<str>>, entry: &MapEntry, document: &Document) {
        let node = &entry.value;
        let default = node.get("default").and_then(|default| tier_named(self, &names, default));
        let sources: Vec<_> = SOURCES.iter().filter_map(|field| node.entry(field)).collect();
        let lookup = node.entry("lookup");
        if let (Some(lookup), Some(source)) = (lookup, sources.first()) {
            self.error_at(
                source.key.span,
                "two-sources",
                "the tier has two sources: the request and a table",
            )
            .related(lookup.key.span, "the table")
            .help("keep one of them");
            return;
        }
        let source = match sources.as_slice() {
            [first, second, ..] => {
                self.error_at(second.key.span, "two-sources", "the tier has two sources")
                    .related(first.key.span, "the other source")
                    .help("keep one of them");
                None
            }
            [one] => self.source_in(one, document),
            // The caller of the API may send it as an attribute.
            [] => Some(crate::request::identity::IdentitySource::Attribute(TIER.into())),
        };
        let Some(source) = source else { return };
        let identity =
            Identity { name: TIER.into(), source, secret: false, if_missing: IfMissing::Share };
        let identity = self.add(identity);
        // It is found like an identity, but a key cannot contain it.
        self.by_name.remove(TIER);
        let Some(default) = default else { return };
        self.tiers = Some(Tiers::new(names, Some(identity), default));
        match (lookup, node.entry("table")) {
            (Some(lookup), Some(table)) => self.tier_table(&lookup.value, &table.value, document),
            (Some(lookup), None) => {
                self.error_at(lookup.key.span, "no-table", "`lookup` has no table")
                    .help("add one, as in `table: tiers.yaml`, a file with lines `caller: tier`");
            }
            (None, Some(table)) => {
                self.error_at(table.key.span, "no-lookup", "`table` has no identity to look up")
                    .help("add one, as in `lookup: api_key`");
            }
            (None, None) => {}
        }
    }

    /// Returns the tier that a node names.
    pub(super) fn tier(&mut self, node: &Node) -> Option<TierId> {
        let Some(tiers) = &self.tiers else {
            if node.text().is_some() {
                self.error(node, "no-tiers", "no tiers are defined")
                    .help("define tiers, as in `tiers: { free: { api: 100/min } }`");
            }
            return None;
        };
        let names = tiers.names.clone();
        tier_named(self, &names, node)
    }
}

fn tier_named(compiler: &mut Compiler<'_>, names: &[Box<str>], node: &Node) -> Option<TierId> {
    let scalar = node.scalar().filter(|scalar| !scalar.is_broken())?;
    if let Some(tier) = names.iter().position(|name| **name == *scalar.text()) {
        return Some(TierId(tier));
    }
    let meant = closest(scalar.text(), names.iter().map(|name| &**name));
    let help = match meant {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("the tiers are {}", names.join(", ")),
    };
    compiler
        .error(node, "unknown-tier", format!("there is no tier `{}`", scalar.shown()))
        .help(help);
    None
}
