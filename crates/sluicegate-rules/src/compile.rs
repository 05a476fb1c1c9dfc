//! From the nodes of rule files to a rule set, with everything that is wrong on the way.

mod conditions;
mod costs;
mod folding;
mod headers;
mod identities;
mod limits;
mod lists;
mod matching;
mod rules;
mod settings;
mod sources;
mod store;
mod tables;
mod tiers;
mod values;

pub(crate) use self::rules::Draft;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::calendar::Zoned;
use crate::digest::Digester;
use crate::directory::Directory;
use crate::finding::{Finding, Findings};
use crate::format;
use crate::identity::Identity;
use crate::index::Index;
use crate::load::{Document, Files, LARGEST_TABLE, Loaded};
use crate::node::{Entry, Node, Scalar, Value};
use crate::path::Folding;
use crate::policies::PolicyNames;
use crate::report::Report;
use crate::rule::Rule;
use crate::ruleset::{ListedNetworks, RuleSet};
use crate::settings::Settings;
use crate::shape;
use crate::source::{Sources, Span};
use crate::spelling::Guesses;
use crate::tier::Tiers;
#[cfg(feature = "jwt")]
use crate::token::Token;

/// What files came to.
pub(crate) struct Compiled {
    pub(crate) rules: RuleSet,
    pub(crate) settings: Settings,
    /// There are no rules, and a file says so.
    pub(crate) none_in_words: bool,
}

/// Compiles what was loaded. Without errors there is a result; warnings may be there either way.
pub(crate) fn compile(
    loaded: Loaded,
    files: &dyn Files,
    env: &dyn Fn(&str) -> Option<String>,
) -> (Option<Compiled>, Report, Vec<PathBuf>) {
    let Loaded { sources, documents, findings, paths, .. } = loaded;
    let mut compiler = Compiler::new(sources, findings, files, env, paths);
    for document in &documents {
        // What has the right shape is looked at even where other parts have not: all mistakes at once.
        shape::check(&document.root, &format::FILE, &mut compiler.findings);
    }
    let result = compiler.compile(&documents);
    let Compiler { sources, findings, watched, .. } = compiler;
    let result = Some(result).filter(|_| !findings.has_errors());
    (result, Report::new(sources, findings), watched)
}

/// What is known while files are compiled.
struct Compiler<'c> {
    sources: Sources,
    findings: Findings,
    files: &'c dyn Files,
    env: &'c dyn Fn(&str) -> Option<String>,
    /// Every file that was read, so that a change of any is seen.
    watched: Vec<PathBuf>,
    identities: Vec<Identity>,
    by_name: HashMap<Box<str>, usize>,
    /// Where identities were given a name in the file.
    named_at: HashMap<Box<str>, Span>,
    #[cfg(feature = "jwt")]
    tokens: Vec<(sources::TokenSettings, Token)>,
    tiers: Option<Tiers>,
    zone: Option<Box<str>>,
    digester: Digester,
    directory: Directory,
    networks: Vec<ListedNetworks>,
    has_secret: bool,
    folding: Folding,
    guesses: Guesses,
}

impl<'c> Compiler<'c> {
    fn new(
        sources: Sources,
        findings: Findings,
        files: &'c dyn Files,
        env: &'c dyn Fn(&str) -> Option<String>,
        watched: Vec<PathBuf>,
    ) -> Self {
        Self {
            sources,
            findings,
            files,
            env,
            watched,
            identities: Vec::new(),
            by_name: HashMap::new(),
            named_at: HashMap::new(),
            #[cfg(feature = "jwt")]
            tokens: Vec::new(),
            tiers: None,
            zone: None,
            digester: Digester::new(None),
            directory: Directory::new(),
            networks: Vec::new(),
            has_secret: false,
            folding: Folding::default(),
            guesses: Guesses::default(),
        }
    }

    fn compile(&mut self, documents: &[Document]) -> Compiled {
        let settings = self.settings(documents);
        let headers = self.headers(documents);
        let paths = self.once(documents, "paths");
        self.folding = paths.map(|paths| self.folding(paths)).unwrap_or_default();
        if let Some(zone) = self.once(documents, "timezone") {
            self.zone = self.zone_name(zone);
        }
        if let Some(secret) = self.once(documents, "secret") {
            self.secret(secret);
        }
        self.identities(documents);
        self.tiers(documents);
        let mut rules = self.rules(documents);
        self.lists(documents);
        self.overrides(documents, &mut rules);
        let drafts = rules;
        let none_in_words = drafts.is_empty() && says_none(documents);
        // What is half understood looks doubtful in ways that its author did not mean.
        if !self.findings.has_errors() {
            crate::doubts::check(&drafts, &self.identities, &mut self.findings);
            if paths.is_none() {
                crate::doubts::spellings(&drafts, &mut self.findings);
            }
            if let (true, false, Some(first)) =
                (drafts.is_empty(), none_in_words, documents.first())
            {
                let span = Span::new(first.root.span.source(), 0, 0);
                self.warn_at(span, "no-rules", "there are no rules, so nothing is limited").help(
                    "write some, as in `rules: [{ name: api, key: ip, limit: 100/min }]`, \
                     or `rules: []` if that is meant",
                );
            }
        }
        let mut rules: Vec<Rule> = drafts.into_iter().map(|draft| draft.rule).collect();
        for rule in &mut rules {
            rule.policies = PolicyNames::of(rule);
        }
        let identities = std::mem::take(&mut self.identities);
        let known = self.known_identities(&identities);
        Compiled {
            rules: RuleSet {
                known,
                identities,
                #[cfg(feature = "jwt")]
                tokens: std::mem::take(&mut self.tokens)
                    .into_iter()
                    .map(|(_, token)| token)
                    .collect(),
                tiers: self.tiers.take(),
                index: Index::of(&rules),
                rules,
                directory: std::mem::take(&mut self.directory),
                networks: std::mem::take(&mut self.networks),
                digester: self.digester.clone(),
                has_secret: self.has_secret,
                folding: self.folding,
                headers,
                generation: crate::ruleset::next_generation(),
            },
            settings,
            none_in_words,
        }
    }

    /// The one value of a field that may be given once in all files together.
    fn once<'d>(&mut self, documents: &'d [Document], field: &str) -> Option<&'d Node> {
        let mut entries = entries(documents, field);
        let first = entries.next()?;
        for again in entries {
            self.findings.push(
                Finding::error(
                    again.key.span,
                    "given-twice",
                    format!("`{field}` is given in two files"),
                )
                .related(first.key.span, "it is given here already")
                .help("keep one of them"),
            );
        }
        Some(&first.value).filter(|node| !node.is_null())
    }

    fn secret(&mut self, node: &Node) {
        let Some(scalar) = node.scalar().filter(|scalar| !scalar.is_broken()) else { return };
        self.sources.mask(node.span);
        if scalar.text().len() < SHORTEST_SECRET {
            let message =
                format!("the secret has {} bytes, which can be guessed", scalar.text().len());
            self.error(node, "short-secret", message)
                .help(format!("use at least {SHORTEST_SECRET}, as from `openssl rand -hex 32`"));
            return;
        }
        if !scalar.is_secret() {
            self.findings.push(
                Finding::warning(node.span, "secret-in-file", "the secret stands in the file")
                    .help("take it from the environment: `${SLUICEGATE_SECRET}`"),
            );
        }
        self.has_secret = true;
        self.digester = Digester::new(Some(scalar.text().as_bytes()));
    }

    /// Reports an error at a node; more can be said about it.
    fn error(
        &mut self,
        node: &Node,
        code: &'static str,
        message: impl Into<String>,
    ) -> Reported<'_> {
        self.error_at(node.span, code, message)
    }

    fn error_at(
        &mut self,
        span: Span,
        code: &'static str,
        message: impl Into<String>,
    ) -> Reported<'_> {
        self.reported(Finding::error(span, code, message))
    }

    fn warn_at(
        &mut self,
        span: Span,
        code: &'static str,
        message: impl Into<String>,
    ) -> Reported<'_> {
        self.reported(Finding::warning(span, code, message))
    }

    fn reported(&mut self, finding: Finding) -> Reported<'_> {
        Reported { findings: &mut self.findings, finding: Some(finding) }
    }

    /// A calendar of a zone that is known to exist.
    fn calendar(&self, zone: Option<&str>) -> Option<Arc<Zoned>> {
        zone.or(self.zone.as_deref()).and_then(|zone| Zoned::named(zone).ok())
    }

    /// Reads a file that a file names, and watches it from then on.
    fn read(&mut self, node: &Node, document: &Path) -> Option<(PathBuf, Vec<u8>)> {
        let name = node.text()?;
        let path =
            document.parent().map_or_else(|| PathBuf::from(name), |folder| folder.join(name));
        self.watched.push(path.clone());
        let shown = |path: &Path| {
            let scalar = node.scalar().filter(|scalar| scalar.is_secret());
            scalar.map_or_else(|| path.display().to_string(), Scalar::shown)
        };
        match self.files.read(&path) {
            Ok(bytes) if bytes.len() > LARGEST_TABLE => {
                let mib = LARGEST_TABLE >> 20;
                let message = format!("the file `{}` is larger than {mib} MiB", shown(&path));
                self.error(node, "too-large", message)
                    .help("leave out what is the default, or let requests tell it");
                None
            }
            Ok(bytes) => Some((path, bytes)),
            Err(error) => {
                let reason = crate::load::reason(&error);
                let shown = shown(&path);
                let message = format!("cannot read the file `{shown}`: {reason}");
                self.error(node, "unreadable-file", message)
                    .help("its path is taken from the folder of the file that names it");
                None
            }
        }
    }

    fn known_identities(&self, identities: &[Identity]) -> Vec<bool> {
        identities.iter().map(|identity| self.directory.names(&identity.name)).collect()
    }
}

/// Shorter secrets can be guessed.
const SHORTEST_SECRET: usize = 16;

/// An error that is reported when all has been said about it.
struct Reported<'f> {
    findings: &'f mut Findings,
    finding: Option<Finding>,
}

impl Reported<'_> {
    fn help(mut self, help: impl Into<String>) -> Self {
        self.finding = self.finding.take().map(|finding| finding.help(help));
        self
    }

    fn related(mut self, span: Span, text: impl Into<String>) -> Self {
        self.finding = self.finding.take().map(|finding| finding.related(span, text));
        self
    }
}

impl Drop for Reported<'_> {
    fn drop(&mut self) {
        if let Some(finding) = self.finding.take() {
            self.findings.push(finding);
        }
    }
}

/// What is wrong with a value, in the words of whoever read it; those may repeat it, which is not done
/// with what came from the environment.
fn said(scalar: &Scalar, reason: &impl std::fmt::Display, what: &str) -> String {
    if scalar.is_secret() { unsaid(scalar, what) } else { reason.to_string() }
}

/// The same without a word of the value.
fn unsaid(scalar: &Scalar, what: &str) -> String {
    format!("the value of `{}` is not {what}; check what the variable is set to", scalar.shown())
}

/// Whether a file says that there are no rules: with an empty list, not with a field left empty, as
/// a file has it that was cut off.
fn says_none(documents: &[Document]) -> bool {
    entries(documents, "rules")
        .any(|entry| matches!(&entry.value.value, Value::List(items) if items.is_empty()))
}

/// A field of each document that has it.
fn entries<'d>(documents: &'d [Document], field: &str) -> impl Iterator<Item = &'d Entry> {
    documents.iter().filter_map(move |document| document.root.entry(field))
}

/// The items of a list that may stand in several files.
fn items<'d>(documents: &'d [Document], field: &str) -> impl Iterator<Item = &'d Node> {
    entries(documents, field).flat_map(|entry| entry.value.items())
}
