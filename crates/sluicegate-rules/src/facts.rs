//! What is known of one request, found out when it is asked for and once.

mod shown;
mod values;

use std::borrow::Cow;
use std::sync::Arc;

use sluicegate::Time;
use smallvec::SmallVec;

use crate::address::client::{Client, Proxies};
use crate::directory::{Directory, Standing};
use crate::host::HostName;
use crate::identity::{DIGEST_OF_HEADERS, Identified, Identity, Source};
use crate::keys::Keys;
use crate::path::Paths;
use crate::request::{Request, Value};
use crate::ruleset::RuleSet;
use crate::tier::TierId;
use crate::{cookie, query};

/// What is known of one request.
pub(crate) struct Facts<'r> {
    pub(crate) rules: &'r RuleSet,
    pub(crate) directory: &'r Directory,
    pub(crate) request: Request<'r>,
    pub(crate) now: Time,
    paths: Found<Paths<'r>>,
    host: Option<Host<'r>>,
    identities: SmallVec<[Option<Identified<'r>>; 6]>,
    #[cfg(feature = "jwt")]
    claims: SmallVec<[Option<Result<crate::jwt::Claims, crate::jwt::Rejected>>; 1]>,
    tier: Option<TierId>,
    standings: Option<Standings>,
}

/// What has been looked for.
#[derive(Debug)]
enum Found<T> {
    Unasked,
    Nothing,
    This(T),
}

/// The host that a request was sent to.
#[derive(Debug)]
pub(crate) enum Host<'r> {
    Unknown,
    Named(HostName<'r>),
    /// Something else than a host.
    Malformed,
}

/// Which of the request's identities somebody is known under.
pub(crate) type Standings = SmallVec<[(usize, Arc<Standing>); 2]>;

impl<'r> Facts<'r> {
    pub(crate) fn of(
        rules: &'r RuleSet,
        directory: &'r Directory,
        request: Request<'r>,
        now: Time,
    ) -> Self {
        Self {
            rules,
            directory,
            request,
            now,
            paths: Found::Unasked,
            host: None,
            identities: SmallVec::from_elem(None, rules.identities.len()),
            #[cfg(feature = "jwt")]
            claims: SmallVec::new(),
            tier: None,
            standings: None,
        }
    }

    pub(crate) fn method(&self) -> Option<Cow<'r, str>> {
        match self.request.method {
            Some(method) => Some(Cow::Borrowed(method)),
            None => self.attribute("method").map(|value| value.as_text()),
        }
    }

    /// The target as it was sent.
    pub(crate) fn target(&self) -> Option<&'r [u8]> {
        self.request.target.or_else(|| match self.attribute("path") {
            Some(Value::Text(path)) => Some(path.as_bytes()),
            _ => None,
        })
    }

    /// The path, in each of its readings.
    pub(crate) fn paths(&mut self) -> Option<&Paths<'r>> {
        if matches!(self.paths, Found::Unasked) {
            let folding = self.rules.folding;
            let paths = self.target().map(|target| Paths::of(target, folding));
            self.paths = paths.map_or(Found::Nothing, Found::This);
        }
        match &self.paths {
            Found::This(paths) => Some(paths),
            Found::Nothing | Found::Unasked => None,
        }
    }

    pub(crate) fn host(&mut self) -> &Host<'r> {
        if self.host.is_none() {
            self.host = Some(self.find_host());
        }
        self.host.as_ref().unwrap_or(&Host::Unknown)
    }

    /// A target that names a host itself counts before all else that names one.
    fn find_host(&self) -> Host<'r> {
        if let Some(authority) = self.target().and_then(authority) {
            return HostName::of(authority).map_or(Host::Malformed, Host::Named);
        }
        let told = self.request.host.map(str::as_bytes).or_else(|| match self.attribute("host") {
            Some(Value::Text(host)) => Some(host.as_bytes()),
            _ => None,
        });
        let mut lines = 0;
        let mut header = None;
        if told.is_none() {
            self.request.headers.each("host", &mut |line| {
                lines += 1;
                header = Some(line);
            });
        }
        match told.or(header) {
            None => Host::Unknown,
            Some(_) if lines > 1 => Host::Malformed,
            Some(host) => HostName::of(host).map_or(Host::Malformed, Host::Named),
        }
    }

    pub(crate) fn attribute(&self, name: &str) -> Option<Value<'r>> {
        self.request.attributes.get(name)
    }

    /// The value of a header that is there once; sent twice with different values it could be
    /// read either way, and counts as not there.
    pub(crate) fn header(&self, name: &str) -> Option<&'r [u8]> {
        let mut found = None;
        let mut ambiguous = false;
        self.request.headers.each(name, &mut |line| {
            let line = line.trim_ascii();
            ambiguous |= found.is_some_and(|earlier| earlier != line);
            found = Some(line);
        });
        found.filter(|_| !ambiguous)
    }

    /// Who is asking, by the identity at this index.
    pub(crate) fn identity(&mut self, index: usize) -> &Identified<'r> {
        if self.identities[index].is_none() {
            let identity = &self.rules.identities[index];
            let digester = &self.rules.digester;
            let found = self
                .find(identity)
                .guarded(identity.secret, |of, bytes| digester.digest(of, [bytes]));
            self.identities[index] = Some(found);
        }
        self.identities[index].as_ref().unwrap_or(&Identified::Missing)
    }

    /// What an identity was found to be, as conditions compare it: also where it is so long that keys
    /// have a digest of it.
    pub(crate) fn identity_text(&mut self, index: usize) -> Option<Cow<'_, str>> {
        let rules = self.rules;
        let identity = rules.identities.get(index)?;
        if matches!(self.identity(index), Identified::Digest(_)) && !identity.secret {
            return match self.find(identity) {
                Identified::Bytes(bytes) => {
                    Some(Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()))
                }
                _ => None,
            };
        }
        match self.identity(index) {
            Identified::Bytes(bytes) => Some(String::from_utf8_lossy(bytes)),
            Identified::Address { address, .. } => Some(Cow::Owned(address.to_string())),
            Identified::Missing | Identified::Digest(_) => None,
        }
    }

    fn find(&mut self, identity: &'r Identity) -> Identified<'r> {
        // What the sender says an identity is, it is: it has looked already.
        if let Some(told) = self.attribute(&identity.name) {
            return Self::told(identity, told);
        }
        match &identity.source {
            Source::Attribute(name) => match self.attribute(name) {
                Some(told) => Self::told(identity, told),
                None => Identified::Missing,
            },
            Source::Header(name) => found(self.header(name)),
            Source::Cookie(name) => found(cookie::lone(self.request.headers, name)),
            Source::Query(name) => self
                .target()
                .and_then(|target| query::lone(target, name))
                .map_or(Identified::Missing, Identified::value),
            Source::Path { pattern, name } => {
                let paths = self.paths();
                let captured =
                    paths.and_then(|paths| paths.agreed(|path| pattern.capture(path, name)));
                captured.map_or(Identified::Missing, |it| Identified::value(it.to_vec()))
            }
            Source::Segment(number) => {
                let paths = self.paths();
                let segment = paths.and_then(|paths| paths.agreed(|it| nth_segment(it, *number)));
                segment.map_or(Identified::Missing, |it| Identified::value(it.to_vec()))
            }
            Source::Method => self.method().map_or(Identified::Missing, |method| {
                Identified::value(method.to_ascii_uppercase().into_bytes())
            }),
            Source::Host => match self.host() {
                Host::Named(host) => Identified::value(host.as_bytes().to_vec()),
                Host::Malformed | Host::Unknown => Identified::Missing,
            },
            Source::Address { proxies, prefixes } => match self
                .client(proxies)
                .map(|client| client.address)
            {
                Some(address) => Identified::Address { address, group: prefixes.group(address) },
                None => Identified::Missing,
            },
            Source::Claim { token, claim } => self.claim(*token, claim),
            Source::Fingerprint(names) => self.fingerprint(names),
        }
    }

    /// An identity that the sender tells.
    fn told(identity: &Identity, told: Value<'r>) -> Identified<'r> {
        if let Source::Address { prefixes, .. } = &identity.source {
            let address = match told {
                Value::Text(text) => crate::address::read(text.as_bytes()),
                _ => None,
            };
            return address.map_or(Identified::Missing, |address| Identified::Address {
                address,
                group: prefixes.group(address),
            });
        }
        match told.as_text() {
            Cow::Borrowed(text) => Identified::value(text.as_bytes()),
            Cow::Owned(text) => Identified::value(text.into_bytes()),
        }
    }

    /// The client, through the proxies that are trusted.
    pub(crate) fn client(&self, proxies: &Proxies) -> Option<Client> {
        let peer = self.request.peer?;
        let mut lines: SmallVec<[&[u8]; 4]> = SmallVec::new();
        if let Some(name) = proxies.header() {
            self.request.headers.each(name, &mut |line| lines.push(line));
        }
        Some(proxies.client(peer, lines.iter().copied()))
    }

    #[cfg(feature = "jwt")]
    fn claim(&mut self, token: usize, claim: &str) -> Identified<'r> {
        match self.claims(token) {
            Some(Ok(claims)) => claims.text(claim).map_or(Identified::Missing, |text| {
                Identified::value(text.into_owned().into_bytes())
            }),
            _ => Identified::Missing,
        }
    }

    #[cfg(not(feature = "jwt"))]
    fn claim(&mut self, _token: usize, _claim: &str) -> Identified<'r> {
        Identified::Missing
    }

    /// The claims of a token, verified once however many identities come from it.
    #[cfg(feature = "jwt")]
    pub(crate) fn claims(
        &mut self,
        index: usize,
    ) -> Option<&Result<crate::jwt::Claims, crate::jwt::Rejected>> {
        if self.claims.is_empty() {
            self.claims.resize_with(self.rules.tokens.len(), || None);
        }
        let token = self.rules.tokens.get(index)?;
        if self.claims[index].is_none() {
            let text = match &token.carrier {
                crate::token::Carrier::Header(name) => self.header(name),
                crate::token::Carrier::Cookie(name) => cookie::lone(self.request.headers, name),
            };
            let claims = match text {
                Some(text) => token.verifier.claims(text, self.now),
                None => Err(crate::jwt::Rejected::NoToken),
            };
            self.claims[index] = Some(claims);
        }
        self.claims[index].as_ref()
    }

    fn fingerprint(&self, names: &[Box<str>]) -> Identified<'r> {
        let mut any = false;
        let values: SmallVec<[Option<&[u8]>; 4]> = names
            .iter()
            .map(|name| {
                let value = self.header(name);
                any |= value.is_some();
                value
            })
            .collect();
        if !any {
            return Identified::Missing;
        }
        let parts = values.iter().flat_map(|value| match value {
            Some(value) => [&[1][..], value],
            None => [&[0][..], &[]],
        });
        Identified::Digest(self.rules.digester.digest(DIGEST_OF_HEADERS, parts))
    }

    /// Which tier the caller has.
    pub(crate) fn tier(&mut self) -> Option<TierId> {
        if self.tier.is_none() {
            self.tier = self.find_tier();
        }
        self.tier
    }

    /// Which tier the caller has, if that has been found out.
    pub(crate) fn tier_if_asked(&self) -> Option<TierId> {
        self.tier
    }

    fn find_tier(&mut self) -> Option<TierId> {
        let rules = self.rules;
        let tiers = rules.tiers.as_ref()?;
        let now = self.now;
        let assigned = self.standings().iter().find_map(|(_, standing)| {
            standing.tier_at(now).map(|assigned| Arc::clone(&assigned.tier))
        });
        if let Some(assigned) = assigned
            && let Some(tier) = tiers.named(&assigned)
        {
            return Some(tier);
        }
        let told = match tiers.identity {
            Some(index) => match self.identity(index) {
                Identified::Bytes(bytes) => {
                    std::str::from_utf8(bytes).ok().and_then(|name| tiers.named(name))
                }
                _ => None,
            },
            None => None,
        };
        Some(told.unwrap_or(tiers.default))
    }

    /// What the directory says of the request's identities.
    pub(crate) fn standings(&mut self) -> &Standings {
        if self.standings.is_none() {
            let mut standings = Standings::new();
            let nobody = self.rules.directory.is_empty() && self.directory.is_empty();
            for index in 0..if nobody { 0 } else { self.rules.identities.len() } {
                let known = self.rules.known[index]
                    || self.directory.knows(&self.rules.identities[index].name);
                if known {
                    self.add_standings(index, &mut standings);
                }
            }
            self.standings = Some(standings);
        }
        self.standings.get_or_insert_default()
    }

    fn add_standings(&mut self, index: usize, standings: &mut Standings) {
        let (rules, directory) = (self.rules, self.directory);
        let found = self.identity(index);
        if found.is_missing() {
            return;
        }
        let mut subject = Keys::default();
        found.write(&mut subject);
        let subject = subject.as_slice();
        let name = &rules.identities[index].name;
        // What others say counts before what the file says.
        let known = [directory.get(name, subject), rules.directory.get(name, subject)];
        standings.extend(known.into_iter().flatten().map(|standing| (index, standing)));
    }
}

fn nth_segment(path: &[u8], number: usize) -> Option<&[u8]> {
    path.split(|byte| *byte == b'/').nth(number)
}

/// The host and port that a target in absolute form begins with, as in `http://host/path`.
fn authority(target: &[u8]) -> Option<&[u8]> {
    let in_scheme = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
    let scheme = target.iter().take_while(|byte| in_scheme(byte)).count();
    target.first()?.is_ascii_alphabetic().then_some(())?;
    let behind = target.get(scheme..)?.strip_prefix(b"://")?;
    behind.split(|byte| b"/\\?#".contains(byte)).next()
}

fn found(value: Option<&[u8]>) -> Identified<'_> {
    value.map_or(Identified::Missing, Identified::value)
}
