//! All values of an identity in a request that repeats it.

use std::borrow::Cow;

use smallvec::SmallVec;

use super::context::{Host, RequestContext, nth_segment};
use crate::directory::ListKind;
use crate::plan::key_buffer::KeyBuffer;
use crate::request::host::HostName;
use crate::request::identity::{IdentitySource, IdentityValue};
use crate::request::{cookie, query};

/// The values of an identity, each once.
pub(crate) type Values<'r> = SmallVec<[Cow<'r, [u8]>; 2]>;

impl<'r> RequestContext<'r> {
    /// All distinct values that a request carries for an identity.
    ///
    /// An identity with several values counts as missing, because upstreams differ in which one
    /// they read. Empty for addresses, fingerprints and methods, which have at most one value.
    pub(crate) fn values(&mut self, index: usize) -> Values<'r> {
        let mut values = Values::new();
        let Some(identity) = self.rules.identities.get(index) else { return values };
        if let Some(value) = self.attribute(&identity.name) {
            add(&mut values, text_bytes(value.as_text()));
            return values;
        }
        let headers = self.request.headers;
        match &identity.source {
            IdentitySource::Attribute(name) => {
                if let Some(value) = self.attribute(name) {
                    add(&mut values, text_bytes(value.as_text()));
                }
            }
            IdentitySource::Header(name) => {
                headers.each(name, &mut |line| add(&mut values, line.trim_ascii().into()));
            }
            IdentitySource::Cookie(name) => {
                cookie::each(headers, name, &mut |value| add(&mut values, value.into()));
            }
            IdentitySource::Query(name) => {
                let target = self.target().unwrap_or_default();
                query::each(target, name, &mut |value| add(&mut values, value));
            }
            IdentitySource::Path { pattern, name } => {
                let Some(paths) = self.paths() else { return values };
                for segment in paths.captured(|path| pattern.capture(path, name)) {
                    add(&mut values, segment.to_vec().into());
                }
            }
            IdentitySource::Segment(number) => {
                let Some(paths) = self.paths() else { return values };
                for segment in paths.captured(|path| nth_segment(path, *number)) {
                    add(&mut values, segment.to_vec().into());
                }
            }
            IdentitySource::Host => match self.host() {
                Host::Named(host) => add(&mut values, host.as_bytes().to_vec().into()),
                Host::Unknown => {}
                Host::Malformed => headers.each("host", &mut |line| {
                    if let Some(host) = HostName::of(line) {
                        add(&mut values, host.as_bytes().to_vec().into());
                    }
                }),
            },
            IdentitySource::Claim { token, claim } => self.claimed(*token, claim, &mut values),
            IdentitySource::Method
            | IdentitySource::Address { .. }
            | IdentitySource::Fingerprint(_) => {}
        }
        values
    }

    /// Whether any value that the request carries for an identity is on a block-list.
    ///
    /// The single value of an identity has been checked before. This checks the others: repeated
    /// values, and parts of a header line that a proxy may have joined from several lines.
    pub(crate) fn carries_blocked_value(&mut self) -> bool {
        (0..self.rules.identities.len()).any(|index| self.is_blocked_by_a_value(index))
    }

    fn is_blocked_by_a_value(&mut self, index: usize) -> bool {
        let (rules, directory) = (self.rules, self.directory);
        let identity = &rules.identities[index];
        if !(rules.known[index] || directory.knows(&identity.name)) {
            return false;
        }
        let joins = matches!(identity.source, IdentitySource::Header(_));
        if !joins && !self.identity(index).is_missing() {
            return false;
        }
        let (values, now) = (self.values(index), self.now);
        let blocks = |part: &[u8]| {
            let found = IdentityValue::value(part.trim_ascii())
                .guarded(identity.secret, |of, bytes| rules.hasher.digest(of, [bytes]));
            let mut subject = KeyBuffer::default();
            found.write(&mut subject);
            let known =
                [directory, &rules.directory].map(|it| it.get(&identity.name, subject.as_slice()));
            let mut listings = known.iter().flatten().map(|record| record.listing_at(now));
            !found.is_missing() && listings.any(|listing| listing == Some(ListKind::Block))
        };
        let separates = |byte: &u8| *byte == 0 || joins && *byte == b',';
        values.iter().any(|value| blocks(value) || value.split(separates).any(blocks))
    }

    /// Adds the claim of every token that the request carries.
    #[cfg(feature = "jwt")]
    fn claimed(&mut self, token: usize, claim: &str, values: &mut Values<'r>) {
        use crate::request::jwt::carrier::Carrier;
        /// Upstreams read the first token or the last; verifying many would be expensive.
        const MOST: usize = 8;

        let Some(token) = self.rules.tokens.get(token) else { return };
        let mut texts: SmallVec<[&[u8]; 2]> = SmallVec::new();
        let add_text = &mut |text: &'r [u8]| {
            if texts.len() == MOST {
                texts.pop();
            }
            texts.push(text);
        };
        match &token.carrier {
            Carrier::Header(name) => self.request.headers.each(name, add_text),
            Carrier::Cookie(name) => cookie::each(self.request.headers, name, add_text),
        }
        for text in texts {
            let claims = token.verifier.claims(text.trim_ascii(), self.now).ok();
            if let Some(text) = claims.as_ref().and_then(|claims| claims.text(claim)) {
                add(values, text.into_owned().into_bytes().into());
            }
        }
    }

    #[cfg(not(feature = "jwt"))]
    fn claimed(&mut self, _token: usize, _claim: &str, _values: &mut Values<'r>) {}
}

fn add<'r>(values: &mut Values<'r>, value: Cow<'r, [u8]>) {
    if !values.contains(&value) {
        values.push(value);
    }
}

fn text_bytes(text: Cow<'_, str>) -> Cow<'_, [u8]> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    }
}
