//! Allow-lists, block-lists and overrides.

use std::sync::Arc;

use super::limits::Naming;
use super::rules::Draft;
use super::{Compiler, items};
use crate::directory::{Assigned, During, Listed, Listing, Override};
use crate::identity::{NotACaller, Source};
use crate::limits::Windows;
use crate::load::Document;
use crate::node::{Entry, Node, Value};
use crate::ruleset::ListedNetworks;
use crate::source::Span;
use crate::spelling;

/// The name of an identity, and what a caller is filed under beside it.
type Caller = (Box<str>, Box<[u8]>);

impl Compiler<'_> {
    /// Who is let through, and who is kept out.
    pub(super) fn lists(&mut self, documents: &[Document]) {
        for (field, listing) in [("allow", Listing::Allow), ("block", Listing::Block)] {
            for item in items(documents, field) {
                let during = self.during(item);
                let callers: Vec<&Entry> = item
                    .entries()
                    .iter()
                    .filter(|entry| !["from", "until", "reason"].contains(&entry.key.text.as_str()))
                    .collect();
                if callers.is_empty() && matches!(item.value, Value::Map(_)) {
                    self.error(item, "nobody", "this entry names nobody")
                        .help("name callers, as in `{ ip: [192.0.2.7] }`");
                }
                self.refuse_two(callers.iter().copied());
                for entry in callers {
                    self.list(entry, listing, during);
                }
            }
        }
    }

    fn list(&mut self, entry: &Entry, listing: Listing, during: During) {
        self.refuse_nobody(entry);
        let Some(identity) = self.identity(&entry.key.text, entry.key.span) else { return };
        if matches!(self.identities[identity].source, Source::Address { .. }) {
            let networks = self.networks_of(&entry.value);
            self.networks.push(ListedNetworks { identity, networks, listing, during });
            return;
        }
        let name = self.identities[identity].name.clone();
        for item in entry.value.items() {
            let Some(scalar) = item.scalar().filter(|scalar| !scalar.is_broken()) else { continue };
            let Some(subject) = self.subject(identity, scalar.text(), item.span) else { continue };
            self.directory.change(&name, &subject, |standing| {
                standing.listed.push(Listed { listing, during });
            });
        }
    }

    /// An identity without a value names nobody.
    fn refuse_nobody(&mut self, entry: &Entry) {
        if entry.value.items().is_empty() {
            self.error_at(entry.key.span, "nobody", "this names nobody")
                .help("name callers, as in `[alice, bob]`, or leave it out");
        }
    }

    /// Two identities in one entry could be meant as either or as both.
    fn refuse_two<'n>(&mut self, mut callers: impl Iterator<Item = &'n Entry>) {
        if let (Some(first), Some(second)) = (callers.next(), callers.next()) {
            let message = "this entry names callers by two identities";
            self.error_at(second.key.span, "two-identities", message)
                .related(first.key.span, "the other is here")
                .help("make an entry of each: either is then enough");
        }
    }

    /// What a caller is filed under whom the file names.
    pub(super) fn subject(
        &mut self,
        identity: usize,
        value: &str,
        span: Span,
    ) -> Option<Box<[u8]>> {
        let known = &self.identities[identity];
        if known.secret {
            self.sources.mask(span);
        }
        match known.subject(value, &self.digester, self.folding) {
            Ok(subject) => Some(subject),
            Err(NotACaller::Address) => {
                self.error_at(span, "bad-address", "this is not an address")
                    .help("use one as in `203.0.113.9`");
                None
            }
            Err(NotACaller::Fingerprint) => {
                self.error_at(span, "bad-caller", "a fingerprint cannot be written down")
                    .help("name the caller by another identity");
                None
            }
            Err(NotACaller::Nobody) => {
                self.error_at(span, "empty", "a caller cannot be nobody")
                    .help("write the value of the identity");
                None
            }
        }
    }

    /// Other limits or another tier for a time.
    pub(super) fn overrides(&mut self, documents: &[Document], rules: &mut [Draft]) {
        for item in items(documents, "overrides") {
            let during = self.during(item);
            let callers = item.get("caller").map(|caller| self.callers(caller));
            match (item.entry("tier"), item.entry("limit")) {
                (Some(tier), None) => self.override_tier(item, &tier.value, callers, during),
                (None, Some(limit)) => self.override_limit(item, limit, callers, during, rules),
                (Some(tier), Some(limit)) => {
                    self.error_at(
                        limit.key.span,
                        "two-overrides",
                        "this gives another limit and another tier",
                    )
                    .related(tier.key.span, "the tier")
                    .help("make two overrides of it");
                }
                (None, None) if matches!(item.value, Value::Map(_)) => {
                    self.error(item, "no-override", "this changes nothing")
                        .help("give a `limit` with its `rule`, or a `tier`");
                }
                (None, None) => {}
            }
        }
    }

    fn callers(&mut self, node: &Node) -> Vec<Caller> {
        let mut callers = Vec::new();
        if node.entries().is_empty() && !matches!(node.value, Value::Scalar(_) | Value::List(_)) {
            self.error(node, "nobody", "this names nobody")
                .help("name callers, as in `{ user: alice }`, or leave it out");
        }
        self.refuse_two(node.entries().iter());
        for entry in node.entries() {
            self.refuse_nobody(entry);
            let Some(identity) = self.identity(&entry.key.text, entry.key.span) else { continue };
            let name = self.identities[identity].name.clone();
            for item in entry.value.items() {
                let Some(scalar) = item.scalar().filter(|scalar| !scalar.is_broken()) else {
                    continue;
                };
                if let Some(subject) = self.subject(identity, scalar.text(), item.span) {
                    callers.push((name.clone(), subject));
                }
            }
        }
        callers
    }

    fn override_tier(
        &mut self,
        item: &Node,
        tier: &Node,
        callers: Option<Vec<Caller>>,
        during: During,
    ) {
        if let Some(rule) = item.entry("rule") {
            self.error_at(rule.key.span, "bad-override", "a tier is a caller's, not a rule's")
                .help("leave out `rule`");
        }
        let Some(tier) = self.tier(tier) else { return };
        let name: Arc<str> = self.tiers.as_ref().map_or("", |tiers| tiers.name(tier)).into();
        let Some(callers) = callers else {
            self.error(item, "no-caller", "nothing says whose tier this is")
                .help("name the `caller`, as in `caller: { user: 42 }`");
            return;
        };
        for (identity, subject) in callers {
            let tier = name.clone();
            self.directory.change(&identity, &subject, |standing| {
                standing.tiers.push(Assigned { tier, during });
            });
        }
    }

    fn override_limit(
        &mut self,
        item: &Node,
        limit: &Entry,
        callers: Option<Vec<Caller>>,
        during: During,
        rules: &mut [Draft],
    ) {
        let Some(name) = item.get("rule") else {
            self.error_at(
                limit.key.span,
                "no-rule",
                "nothing says of which rule this is the limit",
            )
            .help("name it: `rule: …`");
            return;
        };
        let Some(scalar) = name.scalar().filter(|scalar| !scalar.is_broken()) else { return };
        let Some(draft) = rules.iter_mut().find(|draft| &*draft.rule.name == scalar.text()) else {
            let meant =
                spelling::closest(scalar.text(), rules.iter().map(|draft| &*draft.rule.name));
            let help = meant.map_or("name a rule of this file".to_owned(), |meant| {
                format!("did you mean `{meant}`?")
            });
            self.error(name, "unknown-rule", format!("there is no rule `{}`", scalar.shown()))
                .help(help);
            return;
        };
        let naming = Naming { rule: &draft.rule.name, tier: None, ladder: &draft.ladder };
        let Some(owed) = self.owed(&limit.value, &draft.style, draft.soft.as_ref(), naming) else {
            return;
        };
        let windows = Windows::Owed(owed);
        match callers {
            None => draft.rule.overrides.push((during, windows)),
            Some(callers) => {
                let windows = Arc::new(windows);
                draft.rule.limits_of_callers.push(Arc::clone(&windows));
                for (identity, subject) in callers {
                    let one = Override {
                        rule: draft.rule.name.clone(),
                        windows: Arc::clone(&windows),
                        during,
                    };
                    self.directory
                        .change(&identity, &subject, |standing| standing.overrides.push(one));
                }
            }
        }
    }
}
