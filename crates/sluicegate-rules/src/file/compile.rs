//! Compilation of rule files into a rule set, with diagnostics for all mistakes.

mod conditions;
mod costs;
mod folding;
mod headers;
mod identities;
mod jwt;
mod limits;
mod lists_and_overrides;
mod matcher;
mod rules;
mod scalars;
mod settings;
mod store;
mod tier_table;
mod tiers;

pub(crate) use self::rules::RuleDraft;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::calendar::ZonedCalendar;
use crate::directory::Directory;
use crate::file::load::{Document, FileSource, LARGEST_TABLE, Loaded};
use crate::file::schema_tables;
use crate::file::settings::Settings;
use crate::keyed_hash::KeyedHasher;
use crate::request::identity::Identity;
#[cfg(feature = "jwt")]
use crate::request::jwt::carrier::TokenSource;
use crate::request::path::Folding;
use crate::rule_set::index::Index;
use crate::rule_set::policy_names::PolicyNames;
use crate::rule_set::rule::Rule;
use crate::rule_set::tiers::Tiers;
use crate::rule_set::{ListedNetworks, RuleSet};
use sluicegate_yaml::Report;
use sluicegate_yaml::Suggester;
use sluicegate_yaml::validate;
use sluicegate_yaml::{Diagnostic, Diagnostics};
use sluicegate_yaml::{MapEntry, Node, Scalar, Value};
use sluicegate_yaml::{SourceMap, SourceSpan};

/// The result of a compilation without errors.
pub(crate) struct Compiled {
    pub(crate) rules: RuleSet,
    pub(crate) settings: Settings,
    /// Whether a file has an empty list of rules: `rules: []`.
    pub(crate) none_in_words: bool,
}

/// Compiles the loaded files; there is a result if there are no errors.
pub(crate) fn compile(
    loaded: Loaded,
    files: &dyn FileSource,
    env: &dyn Fn(&str) -> Option<String>,
) -> (Option<Compiled>, Report, Vec<PathBuf>) {
    let Loaded { sources, documents, diagnostics, paths, .. } = loaded;
    let mut compiler = Compiler::new(sources, diagnostics, files, env, paths);
    for document in &documents {
        // Compilation goes on after errors, so that all mistakes are reported at once.
        validate(&document.root, &schema_tables::FILE, &mut compiler.diagnostics);
    }
    let result = compiler.compile(&documents);
    let Compiler { sources, diagnostics, watched, .. } = compiler;
    let result = Some(result).filter(|_| !diagnostics.has_errors());
    (result, Report::new(sources, diagnostics), watched)
}

/// The state of a compilation.
struct Compiler<'c> {
    sources: SourceMap,
    diagnostics: Diagnostics,
    files: &'c dyn FileSource,
    env: &'c dyn Fn(&str) -> Option<String>,
    /// All files that were read, so that a change of one is detected.
    watched: Vec<PathBuf>,
    identities: Vec<Identity>,
    by_name: HashMap<Box<str>, usize>,
    /// Undefined names that are close to a defined one, with that one.
    misspelt: HashMap<Box<str>, String>,
    /// The places where the file defines identities.
    named_at: HashMap<Box<str>, SourceSpan>,
    #[cfg(feature = "jwt")]
    tokens: Vec<(jwt::TokenSettings, TokenSource)>,
    tiers: Option<Tiers>,
    zone: Option<Box<str>>,
    hasher: KeyedHasher,
    directory: Directory,
    networks: Vec<ListedNetworks>,
    has_secret: bool,
    folding: Folding,
    suggester: Suggester,
}

impl<'c> Compiler<'c> {
    fn new(
        sources: SourceMap,
        diagnostics: Diagnostics,
        files: &'c dyn FileSource,
        env: &'c dyn Fn(&str) -> Option<String>,
        watched: Vec<PathBuf>,
    ) -> Self {
        Self {
            sources,
            diagnostics,
            files,
            env,
            watched,
            identities: Vec::new(),
            by_name: HashMap::new(),
            misspelt: HashMap::new(),
            named_at: HashMap::new(),
            #[cfg(feature = "jwt")]
            tokens: Vec::new(),
            tiers: None,
            zone: None,
            hasher: KeyedHasher::new(None),
            directory: Directory::new(),
            networks: Vec::new(),
            has_secret: false,
            folding: Folding::default(),
            suggester: Suggester::default(),
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
        let mut drafts = rules;
        let none_in_words = drafts.is_empty() && has_empty_rules(documents);
        // Only without errors: a rule that was read in part would cause false warnings.
        if !self.diagnostics.has_errors() {
            crate::file::lint::check(&mut drafts, &self.identities, &mut self.diagnostics);
            if paths.is_none() {
                crate::file::lint::spellings(&drafts, &mut self.diagnostics);
            }
            if let (true, false, Some(first)) =
                (drafts.is_empty(), none_in_words, documents.first())
            {
                let span = SourceSpan::new(first.root.span.source(), 0, 0);
                self.warn_at(span, "no-rules", "there are no rules, so nothing is limited").help(
                    "write some, as in `rules: [{ name: api, key: ip, limit: 100/min }]`, \
                     or `rules: []` if there are to be none",
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
                hasher: self.hasher.clone(),
                has_secret: self.has_secret,
                folding: self.folding,
                headers,
                generation: crate::rule_set::next_generation(),
            },
            settings,
            none_in_words,
        }
    }

    /// Returns the value of a field that only one of the files may have.
    fn once<'d>(&mut self, documents: &'d [Document], field: &str) -> Option<&'d Node> {
        let mut entries = entries(documents, field);
        let first = entries.next()?;
        for again in entries {
            self.diagnostics.push(
                Diagnostic::error(
                    again.key.span,
                    "given-twice",
                    format!("`{field}` is given in two files"),
                )
                .related(first.key.span, "first given here")
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
                format!("the secret has {} bytes and can be guessed", scalar.text().len());
            self.error(node, "short-secret", message).help(format!(
                "use at least {SHORTEST_SECRET} bytes, as from `openssl rand -hex 32`"
            ));
            return;
        }
        if !scalar.is_secret() {
            self.diagnostics.push(
                Diagnostic::warning(
                    node.span,
                    "secret-in-file",
                    "the secret is written in the file",
                )
                .help("take it from the environment: `${SLUICEGATE_SECRET}`"),
            );
        }
        self.has_secret = true;
        self.hasher = KeyedHasher::new(Some(scalar.text().as_bytes()));
    }

    /// Reports an error at a node; the result adds help and related places.
    fn error(
        &mut self,
        node: &Node,
        code: &'static str,
        message: impl Into<String>,
    ) -> PendingDiagnostic<'_> {
        self.error_at(node.span, code, message)
    }

    fn error_at(
        &mut self,
        span: SourceSpan,
        code: &'static str,
        message: impl Into<String>,
    ) -> PendingDiagnostic<'_> {
        self.reported(Diagnostic::error(span, code, message))
    }

    fn warn_at(
        &mut self,
        span: SourceSpan,
        code: &'static str,
        message: impl Into<String>,
    ) -> PendingDiagnostic<'_> {
        self.reported(Diagnostic::warning(span, code, message))
    }

    fn reported(&mut self, diagnostic: Diagnostic) -> PendingDiagnostic<'_> {
        PendingDiagnostic { diagnostics: &mut self.diagnostics, diagnostic: Some(diagnostic) }
    }

    /// Returns the calendar of a time zone, or of the file's.
    fn calendar(&self, zone: Option<&str>) -> Option<Arc<ZonedCalendar>> {
        zone.or(self.zone.as_deref()).and_then(|zone| ZonedCalendar::named(zone).ok())
    }

    /// Reads a file that a rule file names, and adds it to the watched files.
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
                self.error(node, "too-large", message).help(
                    "leave out callers with the default tier, or take the tier from requests",
                );
                None
            }
            Ok(bytes) => Some((path, bytes)),
            Err(error) => {
                let reason = crate::file::load::reason(&error);
                let shown = shown(&path);
                let message = format!("cannot read the file `{shown}`: {reason}");
                self.error(node, "unreadable-file", message)
                    .help("its path is relative to the folder of the rule file");
                None
            }
        }
    }

    fn known_identities(&self, identities: &[Identity]) -> Vec<bool> {
        identities.iter().map(|identity| self.directory.names(&identity.name)).collect()
    }
}

/// The minimum length of a secret, in bytes, because shorter ones can be guessed.
const SHORTEST_SECRET: usize = 16;

/// A diagnostic that is reported when it is dropped, after all calls that add to it.
struct PendingDiagnostic<'f> {
    diagnostics: &'f mut Diagnostics,
    diagnostic: Option<Diagnostic>,
}

impl PendingDiagnostic<'_> {
    fn help(mut self, help: impl Into<String>) -> Self {
        self.diagnostic = self.diagnostic.take().map(|diagnostic| diagnostic.help(help));
        self
    }

    fn related(mut self, span: SourceSpan, text: impl Into<String>) -> Self {
        self.diagnostic = self.diagnostic.take().map(|diagnostic| diagnostic.related(span, text));
        self
    }
}

impl Drop for PendingDiagnostic<'_> {
    fn drop(&mut self) {
        if let Some(diagnostic) = self.diagnostic.take() {
            self.diagnostics.push(diagnostic);
        }
    }
}

/// Returns the message of a parse error, or one that hides a value from the environment.
fn error_text(scalar: &Scalar, reason: &impl std::fmt::Display, what: &str) -> String {
    if scalar.is_secret() { hidden_text(scalar, what) } else { reason.to_string() }
}

/// Returns an error message that does not contain the value.
fn hidden_text(scalar: &Scalar, what: &str) -> String {
    format!("the value of `{}` is not {what}; check the value of the variable", scalar.shown())
}

/// Whether a file has an empty list of rules.
///
/// A field without a value does not count, because a truncated file has one.
fn has_empty_rules(documents: &[Document]) -> bool {
    entries(documents, "rules")
        .any(|entry| matches!(&entry.value.value, Value::List(items) if items.is_empty()))
}

/// Returns a field of all documents that have it.
fn entries<'d>(documents: &'d [Document], field: &str) -> impl Iterator<Item = &'d MapEntry> {
    documents.iter().filter_map(move |document| document.root.entry(field))
}

/// Returns the items of a list that several files may have.
fn items<'d>(documents: &'d [Document], field: &str) -> impl Iterator<Item = &'d Node> {
    entries(documents, field).flat_map(|entry| entry.value.items())
}
