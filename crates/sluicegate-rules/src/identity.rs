//! Who is asking: where an identity is found in a request, and what it then is.

use std::borrow::Cow;
use std::net::IpAddr;

use crate::address;
use crate::address::client::Proxies;
use crate::address::group::{Group, Prefixes};
use crate::digest::Digester;
use crate::host::HostName;
use crate::keys::Keys;
use crate::path::{Folding, Pattern};

/// One way of telling callers apart.
#[derive(Debug)]
pub(crate) struct Identity {
    pub(crate) name: Box<str>,
    pub(crate) source: Source,
    /// Known to store, log and metrics as a keyed digest only.
    pub(crate) secret: bool,
    pub(crate) if_missing: IfMissing,
}

/// Where an identity is found.
#[derive(Debug)]
pub(crate) enum Source {
    /// Only what the sender says: the attribute of this name.
    Attribute(Box<str>),
    Header(Box<str>),
    Cookie(Box<str>),
    Query(Box<str>),
    /// The segment of the path that the pattern's one name stands for.
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
        prefixes: Prefixes,
    },
    /// A claim of a token, which is verified before it is believed.
    Claim {
        token: usize,
        claim: Box<str>,
    },
    /// Several headers together.
    Fingerprint(Vec<Box<str>>),
}

/// What becomes of a rule whose key has an identity that the request does not tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum IfMissing {
    /// All who do not tell it share one counter.
    #[default]
    Share,
    /// The rule does not apply.
    Skip,
    /// The request is refused: it has to say who is asking.
    Refuse,
}

/// What was found of an identity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Identified<'r> {
    Missing,
    Bytes(Cow<'r, [u8]>),
    Digest([u8; 16]),
    Address { address: IpAddr, group: Group },
}

/// A text that cannot be what an identity was found to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotACaller {
    /// The identity is an address, and the text is none.
    Address,
    /// The identity is made of several headers, which cannot be written down.
    Fingerprint,
    /// It is empty.
    Nobody,
}

impl Identity {
    /// What a caller is filed under in a directory, beside the name of the identity, if this text is
    /// what the identity is found to be.
    pub(crate) fn subject(
        &self,
        value: &str,
        digester: &Digester,
        folding: Folding,
    ) -> Result<Box<[u8]>, NotACaller> {
        let found = match &self.source {
            Source::Address { prefixes, .. } => {
                let address = address::read(value.as_bytes()).ok_or(NotACaller::Address)?;
                Identified::Address { address, group: prefixes.group(address) }
            }
            Source::Method => Identified::value(value.to_ascii_uppercase().into_bytes()),
            Source::Host => HostName::of(value)
                .map_or(Identified::Missing, |host| Identified::value(host.as_bytes().to_vec())),
            Source::Fingerprint(_) => return Err(NotACaller::Fingerprint),
            Source::Path { .. } | Source::Segment(_) => {
                Identified::value(folding.folded(value.as_bytes()))
                    .guarded(self.secret, |of, bytes| digester.digest(of, [bytes]))
            }
            _ => Identified::value(value.as_bytes())
                .guarded(self.secret, |of, bytes| digester.digest(of, [bytes])),
        };
        if found.is_missing() {
            return Err(NotACaller::Nobody);
        }
        let mut subject = Keys::default();
        found.write(&mut subject);
        Ok(subject.as_slice().into())
    }
}

/// From here on a value goes into keys as a digest: a caller does not choose how much memory a key takes.
const LONGEST_KEPT: usize = 256;

/// Digests of different things are different: what they are of.
pub(crate) const DIGEST_OF_SECRET: u8 = 1;
pub(crate) const DIGEST_OF_LONG_VALUE: u8 = 2;
pub(crate) const DIGEST_OF_HEADERS: u8 = 3;

impl<'r> Identified<'r> {
    /// A value, unless there is nothing to it.
    ///
    /// Nothing, and what only looks like something, is the same as no value: a caller must not
    /// get a counter of its own by sending an empty header.
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

    /// Writes it as a part of a key, as [`sluicegate::Key`] has parts. Different things make different
    /// parts.
    #[inline]
    pub(crate) fn write(&self, out: &mut Keys) {
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

    /// The same, with what is secret or long as a digest.
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
