//! `identify`: the identities of callers.

use super::{Compiler, entries, hidden_text};
use crate::file::load::Document;
use crate::request::address::client_ip::{ForwardedBy, Proxies, TrustPolicy};
use crate::request::address::client_subnet::PrefixLengths;
use crate::request::identity::{Identity, IdentitySource, IfMissing};
use crate::request::path::Pattern;
use sluicegate_yaml::SourceSpan;
use sluicegate_yaml::{MapEntry, Node, Scalar};

/// The fields of an identity that name its source.
const SOURCES: [&str; 8] =
    ["header", "cookie", "query", "path", "segment", "attribute", "jwt", "fingerprint"];
const OF_ADDRESSES: [&str; 4] = ["trusted_proxies", "forwarded_by", "ipv4_prefix", "ipv6_prefix"];
/// Words in the names of credentials: `x-api-key`, `access_token`, `authorization`.
const SECRETS: [&str; 8] =
    ["authorization", "key", "apikey", "token", "secret", "password", "credential", "credentials"];

/// The name of the tier of a caller, which is found like an identity.
pub(super) const TIER: &str = "tier";

impl Compiler<'_> {
    /// Reads all identities that the files define.
    pub(super) fn identities(&mut self, documents: &[Document]) {
        for document in documents {
            let Some(section) = document.root.entry("identify") else { continue };
            for entry in section.value.entries().iter().filter(|entry| entry.key.text != TIER) {
                self.define(entry, document);
            }
        }
    }

    fn define(&mut self, entry: &MapEntry, document: &Document) {
        let name = entry.key.text.as_str();
        if let Some(first) = self.named_at.get(name).copied() {
            let message = format!("the identity `{}` is defined twice", entry.key.shown());
            self.error_at(entry.key.span, "given-twice", message)
                .related(first, "first defined here")
                .help("keep one of them");
            return;
        }
        if !is_name(name) {
            let message = format!("`{}` is not a valid name for an identity", entry.key.shown());
            self.error_at(entry.key.span, "bad-name", message)
                .help("use letters, digits, `_`, `.` and `-`, as in `api_key`");
            return;
        }
        self.named_at.insert(name.into(), entry.key.span);
        let Some(source) = self.source(entry, document) else {
            // Defined all the same, so that the rules which use it are not reported as well.
            self.add(Identity::attribute(name));
            return;
        };
        let node = &entry.value;
        let secret =
            node.get("secret").and_then(Node::flag).unwrap_or_else(|| source.is_secret(name));
        let if_missing = node.get("if_missing").and_then(Node::text).and_then(if_missing);
        self.add(Identity {
            name: name.into(),
            source,
            secret,
            if_missing: if_missing.unwrap_or_default(),
        });
    }

    fn source(&mut self, entry: &MapEntry, document: &Document) -> Option<IdentitySource> {
        let (name, node) = (&entry.key, &entry.value);
        if let Some(word) = node.text() {
            return Some(match word {
                "ip" => IdentitySource::address(),
                "method" => IdentitySource::Method,
                "host" => IdentitySource::Host,
                _ => return None,
            });
        }
        let mut given: Vec<_> = SOURCES.iter().filter_map(|field| node.entry(field)).collect();
        given.sort_by_key(|entry| entry.key.span);
        let addresses: Vec<_> = OF_ADDRESSES.iter().filter_map(|field| node.entry(field)).collect();
        if let [first, second, ..] = given.as_slice() {
            let message = format!("`{}` has two sources", name.shown());
            self.error_at(second.key.span, "two-sources", message)
                .related(first.key.span, "the other source")
                .help("keep one of them, or define two identities and combine them in the `key` of a rule");
            return None;
        }
        if let ([source], [address, ..]) = (given.as_slice(), addresses.as_slice()) {
            let message = format!(
                "`{}` is for addresses, but `{}` has the source `{}`",
                address.key.text,
                name.shown(),
                source.key.text
            );
            self.error_at(address.key.span, "not-an-address", message)
                .help(format!("remove `{}` or `{}`", address.key.text, source.key.text));
            return None;
        }
        match given.first() {
            Some(source) => self.source_in(source, document),
            None if !addresses.is_empty() || name.text == "ip" => self.address(node),
            None if name.text == "method" => Some(IdentitySource::Method),
            None if name.text == "host" => Some(IdentitySource::Host),
            None => Some(IdentitySource::Attribute(name.text.as_str().into())),
        }
    }

    /// Reads the source that a field of an identity names.
    pub(super) fn source_in(
        &mut self,
        entry: &MapEntry,
        document: &Document,
    ) -> Option<IdentitySource> {
        let node = &entry.value;
        match entry.key.text.as_str() {
            "header" => self.header_name(node).map(IdentitySource::Header),
            "cookie" => self.word(node, "a cookie").map(IdentitySource::Cookie),
            "query" => self.word(node, "a query parameter").map(IdentitySource::Query),
            "attribute" => self.word(node, "an attribute").map(IdentitySource::Attribute),
            "path" => self.path_source(node),
            "segment" => match node.whole()? {
                0 => {
                    self.error(node, "bad-segment", "segments are counted from 1")
                        .help("use 1 for the first segment");
                    None
                }
                number => usize::try_from(number).ok().map(IdentitySource::Segment),
            },
            "fingerprint" => {
                let names: Vec<_> =
                    node.items().iter().filter_map(|item| self.header_name(item)).collect();
                if names.is_empty() {
                    self.error(
                        node,
                        "empty-fingerprint",
                        "a fingerprint of no headers is the same for all callers",
                    )
                    .help("name the headers, as in `[user-agent, accept-language]`");
                    return None;
                }
                Some(IdentitySource::Fingerprint(names))
            }
            "jwt" => self.claim(node, document),
            _ => None,
        }
    }

    fn path_source(&mut self, node: &Node) -> Option<IdentitySource> {
        let pattern = self.pattern(node)?;
        let names: Vec<Box<str>> = pattern.names().map(Into::into).collect();
        let [name] = names.as_slice() else {
            let message =
                format!("the pattern names {} segments, and an identity needs one", names.len());
            self.error(node, "bad-path", message)
                .help("name one segment, as in `/tenants/{tenant}/**`");
            return None;
        };
        Some(IdentitySource::Path { name: name.clone(), pattern })
    }

    fn address(&mut self, node: &Node) -> Option<IdentitySource> {
        let forwarded_by = match node.get("forwarded_by").map(|header| self.header_name(header)) {
            None => ForwardedBy::XForwardedFor,
            Some(None) => return None,
            Some(Some(name)) => match &*name {
                "x-forwarded-for" => ForwardedBy::XForwardedFor,
                "forwarded" => ForwardedBy::Forwarded,
                other => ForwardedBy::Header(other.to_owned()),
            },
        };
        let proxies = node.get("trusted_proxies");
        let trust = match proxies.map(|proxies| (proxies, proxies.whole())) {
            None => {
                if let Some(header) = node.entry("forwarded_by") {
                    self.error_at(
                        header.key.span,
                        "no-trusted-proxies",
                        "this header is never read, because no proxy is trusted",
                    )
                    .help("name the trusted proxies, as in `trusted_proxies: [10.0.0.0/8]`");
                }
                TrustPolicy::None
            }
            Some((_, Some(0))) => TrustPolicy::None,
            Some((proxies, Some(hops))) => {
                if let Some(hops) = u8::try_from(hops).ok().filter(|hops| *hops <= MOST_HOPS) {
                    TrustPolicy::Hops(hops)
                } else {
                    self.error(
                        proxies,
                        "too-many-hops",
                        format!("{hops} trusted proxies are too many"),
                    )
                    .help(format!("use at most {MOST_HOPS}, or name the networks of the proxies"));
                    return None;
                }
            }
            Some((proxies, None)) => TrustPolicy::Networks(self.networks_of(proxies)),
        };
        let v4 = self.prefix(node, "ipv4_prefix", 32)?;
        let v6 = self.prefix(node, "ipv6_prefix", 64)?;
        match PrefixLengths::new(v4, v6) {
            Ok(prefixes) => {
                Some(IdentitySource::Address { proxies: Proxies { trust, forwarded_by }, prefixes })
            }
            Err(error) => {
                self.error(node, "bad-prefix", error.to_string());
                None
            }
        }
    }

    fn prefix(&mut self, node: &Node, field: &str, default: u8) -> Option<u8> {
        let Some(node) = node.get(field) else { return Some(default) };
        let most = if field == "ipv4_prefix" { 32 } else { 128 };
        let bits = node.whole()?;
        if let Some(bits) = u8::try_from(bits).ok().filter(|bits| (1..=most).contains(bits)) {
            Some(bits)
        } else {
            let message =
                format!("a prefix of {bits} bits is not possible for this kind of address");
            self.error(node, "bad-prefix", message).help(format!("use 1 to {most}"));
            None
        }
    }

    /// Reads a path pattern.
    pub(super) fn pattern(&mut self, node: &Node) -> Option<Pattern> {
        let scalar = node.scalar().filter(|scalar| !scalar.is_broken())?;
        self.pattern_in(scalar.text(), node.span, Some(scalar).filter(|scalar| scalar.is_secret()))
    }

    /// Reads a path pattern from a text; `secret` is the scalar if messages may not repeat it.
    pub(super) fn pattern_in(
        &mut self,
        text: &str,
        span: SourceSpan,
        secret: Option<&Scalar>,
    ) -> Option<Pattern> {
        match (Pattern::parse(text), secret) {
            (Ok(pattern), _) => Some(pattern.folded(self.folding)),
            (Err(_), Some(scalar)) => {
                self.error_at(span, "bad-pattern", hidden_text(scalar, "a path pattern"))
                    .help("use a pattern such as `/users/{id}`");
                None
            }
            (Err(error), None) => {
                let span = self.sources.within(span, text, error.range);
                self.error_at(span, "bad-pattern", error.message).help(error.help);
                None
            }
        }
    }

    fn word(&mut self, node: &Node, what: &str) -> Option<Box<str>> {
        let scalar = node.scalar().filter(|scalar| !scalar.is_broken())?;
        if scalar.text().trim().is_empty() {
            self.error(node, "empty", format!("the name of {what} is empty"))
                .help("write the name");
            return None;
        }
        Some(scalar.text().into())
    }

    pub(super) fn add(&mut self, identity: Identity) -> usize {
        let index = self.identities.len();
        self.by_name.insert(identity.name.clone(), index);
        self.identities.push(identity);
        index
    }

    fn warn_if_misspelt(&mut self, name: &str, span: SourceSpan) {
        let Some(meant) = self.misspelt.get(name) else { return };
        let help = format!("did you mean `{meant}`?");
        let message = "this is not in `identify`, so it is an attribute that the caller of the \
                       API has to send";
        self.warn_at(span, "unknown-identity", message).help(help);
    }

    /// Returns the index of an identity by its name.
    ///
    /// `ip`, `method` and `host` need no definition. Any other name without one is an attribute of
    /// that name, which the caller of the API sends.
    pub(super) fn identity(&mut self, name: &str, span: SourceSpan) -> Option<usize> {
        if let Some(index) = self.by_name.get(name).copied() {
            // Each use is warned about, because a rule accepts the warning for itself only.
            self.warn_if_misspelt(name, span);
            return Some(index);
        }
        if name == TIER {
            self.error_at(
                span,
                "tier-as-identity",
                "the tier is not an identity, so a counter cannot have it in its key",
            )
            .help("remove it; a limit by tier is written `limit: { tier: … }`");
            return None;
        }
        if !is_name(name) {
            self.error_at(span, "bad-name", "this is not a valid name for an identity")
                .help("use letters, digits, `_`, `.` and `-`, as in `api_key`");
            return None;
        }
        let source = match name {
            "ip" => IdentitySource::address(),
            "method" => IdentitySource::Method,
            "host" => IdentitySource::Host,
            _ => {
                let known = self.named_at.keys().map(|name| &**name);
                if let Some(meant) = self.suggester.closest(name, known).map(str::to_owned) {
                    self.misspelt.insert(name.into(), meant);
                    self.warn_if_misspelt(name, span);
                }
                IdentitySource::Attribute(name.into())
            }
        };
        Some(self.add(Identity {
            name: name.into(),
            source,
            secret: names_a_secret(name),
            if_missing: IfMissing::Share,
        }))
    }

    /// Whether a file has this section.
    pub(super) fn has(documents: &[Document], field: &str) -> bool {
        entries(documents, field).next().is_some()
    }
}

/// The largest number of trusted proxies; real deployments have fewer.
const MOST_HOPS: u8 = 16;

/// Whether a text is a valid name for an identity or a tier.
pub(super) fn is_name(name: &str) -> bool {
    let letter = |letter: u8| letter.is_ascii_alphanumeric() || b"_.-".contains(&letter);
    !name.is_empty() && name.len() <= 64 && name.bytes().all(letter)
}

/// Parses `if_missing`.
pub(super) fn if_missing(word: &str) -> Option<IfMissing> {
    match word {
        "share" => Some(IfMissing::Share),
        "skip" => Some(IfMissing::Skip),
        "401" => Some(IfMissing::Refuse),
        _ => None,
    }
}

/// Whether a name is that of a credential.
pub(super) fn names_a_secret(name: &str) -> bool {
    let mut words = name.split(|letter: char| !letter.is_ascii_alphanumeric());
    words.any(|word| SECRETS.iter().any(|secret| word.eq_ignore_ascii_case(secret)))
}

impl Identity {
    /// An identity whose source is the attribute of the same name.
    fn attribute(name: &str) -> Self {
        Self {
            name: name.into(),
            source: IdentitySource::Attribute(name.into()),
            secret: names_a_secret(name),
            if_missing: IfMissing::Share,
        }
    }
}

impl IdentitySource {
    /// The peer's address, without trusted proxies.
    fn address() -> Self {
        let proxies =
            Proxies { trust: TrustPolicy::None, forwarded_by: ForwardedBy::XForwardedFor };
        Self::Address { proxies, prefixes: PrefixLengths::default() }
    }

    /// Whether the values of this source are secret by default.
    fn is_secret(&self, identity: &str) -> bool {
        match self {
            Self::Cookie(_) => true,
            Self::Header(name)
            | Self::Query(name)
            | Self::Attribute(name)
            | Self::Path { name, .. }
            | Self::Claim { claim: name, .. } => names_a_secret(name) || names_a_secret(identity),
            Self::Segment(_) => names_a_secret(identity),
            // These are not credentials, regardless of their name.
            Self::Address { .. } | Self::Method | Self::Host | Self::Fingerprint(_) => false,
        }
    }
}
