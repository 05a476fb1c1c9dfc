//! `tiers`: their names, and how a caller's is found.

use super::identities::{TIER, is_name};
use super::{Compiler, entries};
use crate::identity::{Identity, IfMissing};
use crate::load::Document;
use crate::node::{Entry, Node};
use crate::spelling;
use crate::tier::{TierId, Tiers};

/// The fields of `identify.tier` that say where the request tells it.
const SOURCES: [&str; 5] = ["header", "cookie", "query", "attribute", "jwt"];

impl Compiler<'_> {
    /// The tiers, and how a caller's is found.
    pub(super) fn tiers(&mut self, documents: &[Document]) {
        let names = self.tier_names(documents);
        let how = documents.iter().filter_map(|document| {
            let entry = document.root.get("identify")?.entry(TIER)?;
            Some((document, entry))
        });
        let how: Vec<_> = how.collect();
        if let [(_, first), (_, second), ..] = how.as_slice() {
            self.error_at(second.key.span, "given-twice", "the tier is identified in two files")
                .related(first.key.span, "it is identified here already")
                .help("keep one of them");
        }
        match (names.is_empty(), how.first()) {
            (true, None) => {}
            (true, Some((_, entry))) => {
                self.error_at(entry.key.span, "no-tiers", "there are no tiers to tell apart")
                    .help("define them, as in `tiers: { free: { api: 100/min } }`");
            }
            (false, None) => {
                if let Some(entry) = entries(documents, "tiers").next() {
                    self.error_at(
                        entry.key.span,
                        "no-tier",
                        "nothing says which tier a caller has",
                    )
                    .help("say it, as in `identify: { tier: { header: x-tier, default: free } }`");
                }
            }
            (false, Some((document, entry))) => self.tier_source(names, entry, document),
        }
    }

    fn tier_names(&mut self, documents: &[Document]) -> Vec<Box<str>> {
        let mut seen: Vec<&Entry> = Vec::new();
        for entry in entries(documents, "tiers").flat_map(|section| section.value.entries()) {
            match seen.iter().find(|first| first.key.text == entry.key.text) {
                Some(first) => {
                    let message = format!("the tier `{}` is defined twice", entry.key.shown());
                    self.error_at(entry.key.span, "given-twice", message)
                        .related(first.key.span, "it is defined here already")
                        .help("keep one of them");
                }
                None => seen.push(entry),
            }
            if !is_name(&entry.key.text) {
                let message = format!("`{}` cannot be the name of a tier", entry.key.shown());
                self.error_at(entry.key.span, "bad-name", message)
                    .help("use up to 64 letters, digits, `_`, `.` and `-`, as in `free`");
            }
        }
        seen.iter().map(|entry| entry.key.text.as_str().into()).collect()
    }

    fn tier_source(&mut self, names: Vec<Box<str>>, entry: &Entry, document: &Document) {
        let node = &entry.value;
        let default = node.get("default").and_then(|default| tier_named(self, &names, default));
        let told: Vec<_> = SOURCES.iter().filter_map(|field| node.entry(field)).collect();
        let lookup = node.entry("lookup");
        if let (Some(lookup), Some(told)) = (lookup, told.first()) {
            self.error_at(
                told.key.span,
                "two-sources",
                "the tier is told by the request and looked up",
            )
            .related(lookup.key.span, "looked up here")
            .help("keep one of them");
            return;
        }
        let source = match told.as_slice() {
            [first, second, ..] => {
                self.error_at(second.key.span, "two-sources", "the tier is found in two places")
                    .related(first.key.span, "one is here")
                    .help("keep one of them");
                None
            }
            [one] => self.source_in(one, document),
            // The caller of the service may send it.
            [] => Some(crate::identity::Source::Attribute(TIER.into())),
        };
        let Some(source) = source else { return };
        let identity =
            Identity { name: TIER.into(), source, secret: false, if_missing: IfMissing::Share };
        let identity = self.add(identity);
        // It is found like an identity and is none: keys cannot be made of it.
        self.by_name.remove(TIER);
        let Some(default) = default else { return };
        self.tiers = Some(Tiers::new(names, Some(identity), default));
        match (lookup, node.entry("table")) {
            (Some(lookup), Some(table)) => self.tier_table(&lookup.value, &table.value, document),
            (Some(lookup), None) => {
                self.error_at(
                    lookup.key.span,
                    "no-table",
                    "there is no table to look the tier up in",
                )
                .help("name one: `table: tiers.yaml`, a file with a line `caller: tier` for each");
            }
            (None, Some(table)) => {
                self.error_at(
                    table.key.span,
                    "no-lookup",
                    "nothing says by what the table is looked up",
                )
                .help("name an identity, as in `lookup: api_key`");
            }
            (None, None) => {}
        }
    }

    /// The tier that a node names.
    pub(super) fn tier(&mut self, node: &Node) -> Option<TierId> {
        let Some(tiers) = &self.tiers else {
            if node.text().is_some() {
                self.error(node, "no-tiers", "there are no tiers")
                    .help("define them under `tiers`");
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
    let meant = spelling::closest(scalar.text(), names.iter().map(|name| &**name));
    let help = match meant {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("the tiers are {}", names.join(", ")),
    };
    compiler
        .error(node, "unknown-tier", format!("there is no tier `{}`", scalar.shown()))
        .help(help);
    None
}
