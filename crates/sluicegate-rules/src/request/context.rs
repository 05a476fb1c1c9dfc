//! The context of a request: its derived properties, computed on demand and cached.

// Long because it caches every property of a request behind one type.

use std::borrow::Cow;
use std::sync::Arc;

use sluicegate::Time;
use smallvec::SmallVec;

use crate::directory::{CallerRecord, Directory};
use crate::plan::key_buffer::KeyBuffer;
use crate::request::address::client_ip::{ClientAddress, Proxies};
use crate::request::host::HostName;
use crate::request::identity::{DIGEST_OF_HEADERS, Identity, IdentitySource, IdentityValue};
use crate::request::path::Paths;
use crate::request::{AttributeValue, Request};
use crate::request::{cookie, query};
use crate::rule_set::RuleSet;
use crate::rule_set::tiers::TierId;

/// A request with its rules, and the properties derived from it, computed on demand.
pub(crate) struct RequestContext<'r> {
    pub(crate) rules: &'r RuleSet,
    pub(crate) directory: &'r Directory,
    pub(crate) request: Request<'r>,
    pub(crate) now: Time,
    paths: Lazy<Paths<'r>>,
    host: Option<Host<'r>>,
    identities: SmallVec<[Option<IdentityValue<'r>>; 6]>,
    #[cfg(feature = "jwt")]
    claims: SmallVec<
        [Option<Result<crate::request::jwt::Claims, crate::request::jwt::TokenRejection>>; 1],
    >,
    tier: Option<TierId>,
    caller_records: Option<CallerRecords>,
}

/// A value that is computed on demand, and may turn out to be absent.
#[derive(Debug)]
enum Lazy<T> {
    Pending,
    Absent,
    Present(T),
}

/// The host that a request was sent to.
#[derive(Debug)]
pub(crate) enum Host<'r> {
    Unknown,
    Named(HostName<'r>),
    /// The value is not a host, or there are several.
    Malformed,
}

/// The directory records of the request's identities, each with the index of its identity.
pub(crate) type CallerRecords = SmallVec<[(usize, Arc<CallerRecord>); 2]>;

impl<'r> RequestContext<'r> {
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
            paths: Lazy::Pending,
            host: None,
            identities: SmallVec::from_elem(None, rules.identities.len()),
            #[cfg(feature = "jwt")]
            claims: SmallVec::new(),
            tier: None,
            caller_records: None,
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
            Some(AttributeValue::Text(path)) => Some(path.as_bytes()),
            _ => None,
        })
    }

    /// The path, in all its readings.
    pub(crate) fn paths(&mut self) -> Option<&Paths<'r>> {
        if matches!(self.paths, Lazy::Pending) {
            let folding = self.rules.folding;
            let paths = self.target().map(|target| Paths::of(target, folding));
            self.paths = paths.map_or(Lazy::Absent, Lazy::Present);
        }
        match &self.paths {
            Lazy::Present(paths) => Some(paths),
            Lazy::Absent | Lazy::Pending => None,
        }
    }

    pub(crate) fn host(&mut self) -> &Host<'r> {
        if self.host.is_none() {
            self.host = Some(self.find_host());
        }
        self.host.as_ref().unwrap_or(&Host::Unknown)
    }

    /// Determines the host; one in the target takes precedence over every other source.
    fn find_host(&self) -> Host<'r> {
        if let Some(authority) = self.target().and_then(authority) {
            return HostName::of(authority).map_or(Host::Malformed, Host::Named);
        }
        let given = self.request.host.map(str::as_bytes).or_else(|| match self.attribute("host") {
            Some(AttributeValue::Text(host)) => Some(host.as_bytes()),
            _ => None,
        });
        let mut lines = 0;
        let mut header = None;
        if given.is_none() {
            self.request.headers.each("host", &mut |line| {
                lines += 1;
                header = Some(line);
            });
        }
        match given.or(header) {
            None => Host::Unknown,
            Some(_) if lines > 1 => Host::Malformed,
            Some(host) => HostName::of(host).map_or(Host::Malformed, Host::Named),
        }
    }

    pub(crate) fn attribute(&self, name: &str) -> Option<AttributeValue<'r>> {
        self.request.attributes.get(name)
    }

    /// The value of a header.
    ///
    /// `None` if it is absent, or repeated with different values: upstreams could read either.
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

    /// The value of the identity at this index.
    pub(crate) fn identity(&mut self, index: usize) -> &IdentityValue<'r> {
        if self.identities[index].is_none() {
            let identity = &self.rules.identities[index];
            let hasher = &self.rules.hasher;
            let found = self
                .find(identity)
                .guarded(identity.secret, |of, bytes| hasher.digest(of, [bytes]));
            self.identities[index] = Some(found);
        }
        self.identities[index].as_ref().unwrap_or(&IdentityValue::Missing)
    }

    /// The value of an identity as conditions compare it.
    ///
    /// Also available for long values, of which keys contain a digest; `None` for secret ones.
    pub(crate) fn identity_text(&mut self, index: usize) -> Option<Cow<'_, str>> {
        let rules = self.rules;
        let identity = rules.identities.get(index)?;
        if matches!(self.identity(index), IdentityValue::Digest(_)) && !identity.secret {
            return match self.find(identity) {
                IdentityValue::Bytes(bytes) => {
                    Some(Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()))
                }
                _ => None,
            };
        }
        match self.identity(index) {
            IdentityValue::Bytes(bytes) => Some(String::from_utf8_lossy(bytes)),
            IdentityValue::Address { address, .. } => Some(Cow::Owned(address.to_string())),
            IdentityValue::Missing | IdentityValue::Digest(_) => None,
        }
    }

    fn find(&mut self, identity: &'r Identity) -> IdentityValue<'r> {
        // An attribute with the name of the identity takes precedence: the sender has already
        // extracted the value.
        if let Some(value) = self.attribute(&identity.name) {
            return Self::from_attribute(identity, value);
        }
        match &identity.source {
            IdentitySource::Attribute(name) => match self.attribute(name) {
                Some(value) => Self::from_attribute(identity, value),
                None => IdentityValue::Missing,
            },
            IdentitySource::Header(name) => found(self.header(name)),
            IdentitySource::Cookie(name) => found(cookie::unique(self.request.headers, name)),
            IdentitySource::Query(name) => self
                .target()
                .and_then(|target| query::unique(target, name))
                .map_or(IdentityValue::Missing, IdentityValue::value),
            IdentitySource::Path { pattern, name } => {
                let paths = self.paths();
                let captured =
                    paths.and_then(|paths| paths.agreed(|path| pattern.capture(path, name)));
                captured.map_or(IdentityValue::Missing, |it| IdentityValue::value(it.to_vec()))
            }
            IdentitySource::Segment(number) => {
                let paths = self.paths();
                let segment = paths.and_then(|paths| paths.agreed(|it| nth_segment(it, *number)));
                segment.map_or(IdentityValue::Missing, |it| IdentityValue::value(it.to_vec()))
            }
            IdentitySource::Method => self.method().map_or(IdentityValue::Missing, |method| {
                IdentityValue::value(method.to_ascii_uppercase().into_bytes())
            }),
            IdentitySource::Host => match self.host() {
                Host::Named(host) => IdentityValue::value(host.as_bytes().to_vec()),
                Host::Malformed | Host::Unknown => IdentityValue::Missing,
            },
            IdentitySource::Address { proxies, prefixes } => match self
                .client(proxies)
                .map(|client| client.address)
            {
                Some(address) => IdentityValue::Address { address, group: prefixes.group(address) },
                None => IdentityValue::Missing,
            },
            IdentitySource::Claim { token, claim } => self.claim(*token, claim),
            IdentitySource::Fingerprint(names) => self.fingerprint(names),
        }
    }

    /// The value of an identity from an attribute.
    fn from_attribute(identity: &Identity, value: AttributeValue<'r>) -> IdentityValue<'r> {
        if let IdentitySource::Address { prefixes, .. } = &identity.source {
            let address = match value {
                AttributeValue::Text(text) => crate::request::address::read(text.as_bytes()),
                _ => None,
            };
            return address.map_or(IdentityValue::Missing, |address| IdentityValue::Address {
                address,
                group: prefixes.group(address),
            });
        }
        match value.as_text() {
            Cow::Borrowed(text) => IdentityValue::value(text.as_bytes()),
            Cow::Owned(text) => IdentityValue::value(text.into_bytes()),
        }
    }

    /// The client address behind the trusted proxies.
    pub(crate) fn client(&self, proxies: &Proxies) -> Option<ClientAddress> {
        let peer = self.request.peer?;
        let mut lines: SmallVec<[&[u8]; 4]> = SmallVec::new();
        if let Some(name) = proxies.header() {
            self.request.headers.each(name, &mut |line| lines.push(line));
        }
        Some(proxies.client(peer, lines.iter().copied()))
    }

    #[cfg(feature = "jwt")]
    fn claim(&mut self, token: usize, claim: &str) -> IdentityValue<'r> {
        match self.claims(token) {
            Some(Ok(claims)) => claims.text(claim).map_or(IdentityValue::Missing, |text| {
                IdentityValue::value(text.into_owned().into_bytes())
            }),
            _ => IdentityValue::Missing,
        }
    }

    #[cfg(not(feature = "jwt"))]
    fn claim(&mut self, _token: usize, _claim: &str) -> IdentityValue<'r> {
        IdentityValue::Missing
    }

    /// The claims of a token, which is verified once for all its identities.
    #[cfg(feature = "jwt")]
    pub(crate) fn claims(
        &mut self,
        index: usize,
    ) -> Option<&Result<crate::request::jwt::Claims, crate::request::jwt::TokenRejection>> {
        if self.claims.is_empty() {
            self.claims.resize_with(self.rules.tokens.len(), || None);
        }
        let token = self.rules.tokens.get(index)?;
        if self.claims[index].is_none() {
            let text = match &token.carrier {
                crate::request::jwt::carrier::Carrier::Header(name) => self.header(name),
                crate::request::jwt::carrier::Carrier::Cookie(name) => {
                    cookie::unique(self.request.headers, name)
                }
            };
            let claims = match text {
                Some(text) => token.verifier.claims(text, self.now),
                None => Err(crate::request::jwt::TokenRejection::NoToken),
            };
            self.claims[index] = Some(claims);
        }
        self.claims[index].as_ref()
    }

    fn fingerprint(&self, names: &[Box<str>]) -> IdentityValue<'r> {
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
            return IdentityValue::Missing;
        }
        let parts = values.iter().flat_map(|value| match value {
            Some(value) => [&[1][..], value],
            None => [&[0][..], &[]],
        });
        IdentityValue::Digest(self.rules.hasher.digest(DIGEST_OF_HEADERS, parts))
    }

    /// The tier of the caller.
    pub(crate) fn tier(&mut self) -> Option<TierId> {
        if self.tier.is_none() {
            self.tier = self.find_tier();
        }
        self.tier
    }

    fn find_tier(&mut self) -> Option<TierId> {
        let rules = self.rules;
        let tiers = rules.tiers.as_ref()?;
        let now = self.now;
        let assigned = self
            .caller_records()
            .iter()
            .find_map(|(_, record)| record.tier_at(now).map(|assigned| Arc::clone(&assigned.tier)));
        if let Some(assigned) = assigned
            && let Some(tier) = tiers.named(&assigned)
        {
            return Some(tier);
        }
        let from_request = match tiers.identity {
            Some(index) => match self.identity(index) {
                IdentityValue::Bytes(bytes) => {
                    std::str::from_utf8(bytes).ok().and_then(|name| tiers.named(name))
                }
                _ => None,
            },
            None => None,
        };
        Some(from_request.unwrap_or(tiers.default))
    }

    /// The directory records of the request's identities.
    pub(crate) fn caller_records(&mut self) -> &CallerRecords {
        if self.caller_records.is_none() {
            let mut records = CallerRecords::new();
            let is_empty = self.rules.directory.is_empty() && self.directory.is_empty();
            for index in 0..if is_empty { 0 } else { self.rules.identities.len() } {
                let may_have_records = self.rules.known[index]
                    || self.directory.knows(&self.rules.identities[index].name);
                if may_have_records {
                    self.add_caller_records(index, &mut records);
                }
            }
            self.caller_records = Some(records);
        }
        self.caller_records.get_or_insert_default()
    }

    fn add_caller_records(&mut self, index: usize, records: &mut CallerRecords) {
        let (rules, directory) = (self.rules, self.directory);
        let found = self.identity(index);
        if found.is_missing() {
            return;
        }
        let mut subject = KeyBuffer::default();
        found.write(&mut subject);
        let subject = subject.as_slice();
        let name = &rules.identities[index].name;
        // Assignments at run time take precedence over the file.
        let found = [directory.get(name, subject), rules.directory.get(name, subject)];
        records.extend(found.into_iter().flatten().map(|record| (index, record)));
    }
}

pub(super) fn nth_segment(path: &[u8], number: usize) -> Option<&[u8]> {
    path.split(|byte| *byte == b'/').nth(number)
}

/// The host and port that a target in absolute form begins with, as in `http://host/path`.
fn authority(target: &[u8]) -> Option<&[u8]> {
    let in_scheme = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
    let scheme = target.iter().take_while(|byte| in_scheme(byte)).count();
    target.first()?.is_ascii_alphabetic().then_some(())?;
    let rest = target.get(scheme..)?.strip_prefix(b"://")?;
    rest.split(|byte| b"/\\?#".contains(byte)).next()
}

fn found(value: Option<&[u8]>) -> IdentityValue<'_> {
    value.map_or(IdentityValue::Missing, IdentityValue::value)
}
