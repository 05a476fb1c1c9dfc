//! `jwt`: claims of tokens, and the verification of tokens.

use super::Compiler;
use crate::file::load::Document;
use crate::request::identity::IdentitySource;
use sluicegate_yaml::Node;

#[cfg(feature = "jwt")]
pub(super) use self::tokens::TokenSettings;

#[cfg(not(feature = "jwt"))]
impl Compiler<'_> {
    pub(super) fn claim(&mut self, node: &Node, _: &Document) -> Option<IdentitySource> {
        self.error(node, "no-tokens", "this program was built without JSON web tokens")
            .help("build it with the feature `jwt`");
        None
    }
}

#[cfg(feature = "jwt")]
mod tokens {
    use sluicegate::Span as Length;

    use super::{Compiler, Document, IdentitySource, Node};
    use crate::request::jwt::carrier::{Carrier, TokenSource};
    use crate::request::jwt::{KeySource, NamedKey, Verifier, algorithm_named};

    /// The settings of a token; identities with the same settings share a verifier.
    #[derive(Clone, PartialEq, Eq)]
    pub(in crate::file::compile) struct TokenSettings {
        carrier: Carrier,
        algorithms: Vec<Box<str>>,
        key: Option<(KeyFormat, Vec<u8>)>,
        issuer: Option<Box<str>>,
        audience: Vec<String>,
        leeway: Length,
    }

    #[derive(Clone, Copy, PartialEq, Eq)]
    enum KeyFormat {
        Secret,
        Pem,
        Jwks,
    }

    const KEYS: [(&str, KeyFormat, bool); 4] = [
        ("secret", KeyFormat::Secret, false),
        ("public_key", KeyFormat::Pem, false),
        ("public_key_file", KeyFormat::Pem, true),
        ("jwks_file", KeyFormat::Jwks, true),
    ];

    impl Compiler<'_> {
        /// Reads a claim and the verification of its token.
        pub(in crate::file::compile) fn claim(
            &mut self,
            node: &Node,
            document: &Document,
        ) -> Option<IdentitySource> {
            let claim = node.get("claim")?.text()?;
            let settings = self.token_settings(node, document)?;
            let known = self.tokens.iter().position(|(known, _)| *known == settings);
            let token = if let Some(token) = known {
                token
            } else {
                let verifier = self.verifier(node, &settings)?;
                let token = TokenSource { carrier: settings.carrier.clone(), verifier };
                self.tokens.push((settings, token));
                self.tokens.len() - 1
            };
            Some(IdentitySource::Claim { token, claim: claim.into() })
        }

        fn token_settings(&mut self, node: &Node, document: &Document) -> Option<TokenSettings> {
            let carrier = match (node.get("header"), node.entry("cookie")) {
                (Some(_), Some(cookie)) => {
                    self.error_at(cookie.key.span, "two-sources", "the token has two sources")
                        .help("keep one of them");
                    return None;
                }
                (Some(header), None) => Carrier::Header(self.header_name(header)?),
                (None, Some(cookie)) => Carrier::Cookie(cookie.value.text()?.into()),
                (None, None) => Carrier::Header("authorization".into()),
            };
            let texts = |field: &str| -> Vec<String> {
                let items = node.get(field).map(Node::items).unwrap_or_default();
                items.iter().filter_map(|item| item.text().map(str::to_owned)).collect()
            };
            let leeway = match node.get("leeway") {
                Some(leeway) => self.length(leeway)?,
                None => Length::ZERO,
            };
            Some(TokenSettings {
                carrier,
                algorithms: texts("algorithms").into_iter().map(Into::into).collect(),
                key: self.key(node, document)?,
                issuer: node.get("issuer").and_then(Node::text).map(Into::into),
                audience: texts("audience"),
                leeway,
            })
        }

        /// Reads the key; the inner `None` means `unverified: true`.
        #[allow(clippy::option_option, reason = "no key on purpose, or an error")]
        fn key(
            &mut self,
            node: &Node,
            document: &Document,
        ) -> Option<Option<(KeyFormat, Vec<u8>)>> {
            let given: Vec<_> = KEYS
                .into_iter()
                .filter_map(|(field, kind, file)| Some((node.entry(field)?, kind, file)))
                .collect();
            let unverified =
                node.entry("unverified").filter(|entry| entry.value.flag() == Some(true));
            match (given.as_slice(), unverified) {
                ([], Some(_)) => Some(None),
                ([], None) => {
                    self.error(node, "unverified-token", "the token is not verified, so a client could forge one")
                        .help("add `secret`, `public_key`, `public_key_file` or `jwks_file`; or, behind a gateway that has verified it, `unverified: true`");
                    None
                }
                ([(entry, ..)], Some(unverified)) => {
                    self.error_at(
                        unverified.key.span,
                        "unverified-token",
                        "`unverified` contradicts the key of this token",
                    )
                    .related(entry.key.span, "the key")
                    .help("keep one of them");
                    None
                }
                ([(entry, kind, true)], None) => {
                    let (_, bytes) = self.read(&entry.value, &document.path)?;
                    Some(Some((*kind, bytes)))
                }
                ([(entry, kind, false)], None) => {
                    let scalar = entry.value.scalar().filter(|scalar| !scalar.is_broken())?;
                    if *kind == KeyFormat::Secret {
                        self.sources.mask(entry.value.span);
                    }
                    Some(Some((*kind, scalar.text().as_bytes().to_vec())))
                }
                ([(first, ..), (second, ..), ..], _) => {
                    self.error_at(second.key.span, "two-keys", "this token has two keys")
                        .related(first.key.span, "the other key")
                        .help("keep one of them; a `jwks_file` may have several keys");
                    None
                }
            }
        }

        fn verifier(&mut self, node: &Node, settings: &TokenSettings) -> Option<Verifier> {
            let Some((kind, bytes)) = &settings.key else { return Some(Verifier::unverified()) };
            let at = node.get("algorithms").unwrap_or(node);
            let mut algorithms = Vec::new();
            for name in &settings.algorithms {
                match algorithm_named(name) {
                    Ok(algorithm) => algorithms.push(algorithm),
                    Err(error) => {
                        // The validation reports all other unknown names.
                        if &**name == "none" {
                            self.error(at, "bad-token", error.to_string());
                        }
                        return None;
                    }
                }
            }
            if algorithms.is_empty() {
                self.error(node, "bad-token", "no accepted algorithm is named")
                    .help("name them, as in `algorithms: [RS256]`");
                return None;
            }
            let source = match kind {
                KeyFormat::Secret => KeySource::Secret(bytes),
                KeyFormat::Pem => KeySource::Pem(bytes),
                KeyFormat::Jwks => KeySource::Jwks(bytes),
            };
            let issuer = settings.issuer.as_deref().map(str::to_owned);
            let keys = [NamedKey { kid: None, source }];
            match Verifier::new(
                &algorithms,
                &keys,
                issuer,
                settings.audience.clone(),
                settings.leeway,
            ) {
                Ok(verifier) => {
                    for warning in verifier.warnings() {
                        let at = node.get("secret").unwrap_or(node).span;
                        self.warn_at(at, "weak-key", warning.to_string())
                            .help("use a random secret, as from `openssl rand -hex 32`");
                    }
                    Some(verifier)
                }
                Err(error) => {
                    self.error(node, "bad-token", error.to_string());
                    None
                }
            }
        }
    }
}
