//! Identities of callers: where a request carries them, and their values.

use std::borrow::Cow;
use std::net::IpAddr;

use crate::keyed_hash::KeyedHasher;
use crate::plan::key_buffer::KeyBuffer;
use crate::request::address;
use crate::request::address::client_ip::Proxies;
use crate::request::address::client_subnet::{ClientSubnet, PrefixLengths};
use crate::request::host::HostName;
use crate::request::path::{Folding, Pattern};

/// One way to identify callers.
#[derive(Debug)]
pub(crate) struct Identity {
    pub(crate) name: Box<str>,
    pub(crate) source: IdentitySource,
    /// Whether stores, logs and metrics receive only a keyed digest of it.
    pub(crate) secret: bool,
    pub(crate) if_missing: IfMissing,
}

/// Where a request carries an identity.
#[derive(Debug)]
pub(crate) enum IdentitySource {
    /// Only the attribute of this name.
    Attribute(Box<str>),
    Header(Box<str>),
    Cookie(Box<str>),
    Query(Box<str>),
    /// The path segment that the single named segment of the pattern captures.
    Path {
        pattern: Pattern,
        name: Box<str>,
    },
    /// The n-th segment of the path, from 1.
    Segment(usize),
    Method,
    Host,
    Address {
        proxies: Proxies,
        prefixes: PrefixLengths,
    },
    /// A claim of a token; the token is verified first.
    Claim {
        token: usize,
        claim: Box<str>,
    },
    /// Several headers together.
    Fingerprint(Vec<Box<str>>),
}

/// What a rule does if an identity of its key is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum IfMissing {
    /// All callers without it share one counter.
    #[default]
    Share,
    /// The rule does not apply.
    Skip,
    /// The request is refused, because it has to identify its caller.
    Refuse,
}

/// The value of an identity in a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum IdentityValue<'r> {
    Missing,
    Bytes(Cow<'r, [u8]>),
    Digest([u8; 16]),
    Address { address: IpAddr, group: ClientSubnet },
}

/// A text that no request can have as the value of an identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InvalidCaller {
    /// The identity is an address, and the text is not.
    Address,
    /// The identity is a digest of several headers, which one text cannot express.
    Fingerprint,
    /// It is empty.
    Empty,
}

impl Identity {
    /// The key of a caller in a directory, next to the name of the identity.
    ///
    /// `value` is the value of the identity as a request would send it.
    pub(crate) fn subject(
        &self,
        value: &str,
        hasher: &KeyedHasher,
        folding: Folding,
    ) -> Result<Box<[u8]>, InvalidCaller> {
        let found = match &self.source {
            IdentitySource::Address { prefixes, .. } => {
                let address = address::read(value.as_bytes()).ok_or(InvalidCaller::Address)?;
                IdentityValue::Address { address, group: prefixes.group(address) }
            }
            IdentitySource::Method => IdentityValue::value(value.to_ascii_uppercase().into_bytes()),
            IdentitySource::Host => HostName::of(value).map_or(IdentityValue::Missing, |host| {
                IdentityValue::value(host.as_bytes().to_vec())
            }),
            IdentitySource::Fingerprint(_) => return Err(InvalidCaller::Fingerprint),
            IdentitySource::Path { .. } | IdentitySource::Segment(_) => {
                IdentityValue::value(folding.folded(value.as_bytes()))
                    .guarded(self.secret, |of, bytes| hasher.digest(of, [bytes]))
            }
            _ => IdentityValue::value(value.as_bytes())
                .guarded(self.secret, |of, bytes| hasher.digest(of, [bytes])),
        };
        if found.is_missing() {
            return Err(InvalidCaller::Empty);
        }
        let mut subject = KeyBuffer::default();
        found.write(&mut subject);
        Ok(subject.as_slice().into())
    }
}

/// Longer values go into keys as a digest, so that callers cannot choose how much memory a key
/// takes.
const LONGEST_KEPT: usize = 256;

/// Domains that keep digests of different kinds of values apart.
pub(crate) const DIGEST_OF_SECRET: u8 = 1;
pub(crate) const DIGEST_OF_LONG_VALUE: u8 = 2;
pub(crate) const DIGEST_OF_HEADERS: u8 = 3;

impl<'r> IdentityValue<'r> {
    /// A value; missing if it is blank or contains a NUL byte.
    ///
    /// Otherwise a caller could get a counter of its own by sending an empty header.
    pub(crate) fn value(value: impl Into<Cow<'r, [u8]>>) -> Self {
        let value = value.into();
        if value.iter().all(u8::is_ascii_whitespace) || value.contains(&0) {
            return Self::Missing;
        }
        Self::Bytes(value)
    }

    pub(crate) fn is_missing(&self) -> bool {
        matches!(self, Self::Missing)
    }

    /// Writes it as a part of a key, in the encoding of [`sluicegate::Key`].
    ///
    /// Different values give different parts.
    #[inline]
    pub(crate) fn write(&self, out: &mut KeyBuffer) {
        let (tag, bytes): (u8, &[u8]) = match self {
            Self::Missing => (0, &[]),
            Self::Bytes(bytes) => (1, bytes),
            Self::Digest(digest) => (2, digest),
            Self::Address { group, .. } => (3, group.as_bytes()),
        };
        match u8::try_from(bytes.len()) {
            Ok(length) if length < 0x80 => {
                out.push(&[tag, length]);
                out.push(bytes);
            }
            _ => {
                let mut part = vec![tag];
                sluicegate::Key::append(&mut part, bytes);
                out.push(&part);
            }
        }
    }

    /// Replaces a secret or long value by its digest.
    pub(crate) fn guarded(self, secret: bool, digest: impl Fn(u8, &[u8]) -> [u8; 16]) -> Self {
        match self {
            Self::Bytes(bytes) if secret => Self::Digest(digest(DIGEST_OF_SECRET, &bytes)),
            Self::Bytes(bytes) if bytes.len() > LONGEST_KEPT => {
                Self::Digest(digest(DIGEST_OF_LONG_VALUE, &bytes))
            }
            other => other,
        }
    }
}
