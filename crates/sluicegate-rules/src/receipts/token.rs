//! Receipt tokens: signed texts that callers send back to release a slot or settle a reservation.
//!
//! A token lists the limits, keys and receipts of the charges, and carries a tag that only a holder
//! of the secret can compute. So no node has to store tokens, and callers cannot forge them.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sluicegate::{Check, Key, Limit, Receipt, Scope};
use sluicegate_core::Parameters;

use crate::keyed_hash::KeyedHasher;
use crate::rule_set::RuleSet;
use crate::rule_set::limits::LimitSet;
use crate::rule_set::rule::Rule;

const TAG: usize = 16;
/// The number of bytes that identify a process in a token.
pub(crate) const MARK: usize = 8;

/// The kind of a token, so that one kind is never accepted as the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReceiptKind {
    /// Slots in flight.
    Slot = 1,
    /// An estimated charge that will be settled.
    Reservation = 2,
}

impl ReceiptKind {
    /// Returns its name in answers: `slot` or `reservation`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Slot => "slot",
            Self::Reservation => "reservation",
        }
    }
}

/// The error for a slot or a reservation that was not issued here, or was changed since.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidReceipt {
    /// The kind of receipt that was expected.
    pub kind: ReceiptKind,
}

impl fmt::Display for InvalidReceipt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.kind.as_str();
        write!(f, "this {kind} was not issued here; send back the value of `{kind}` unchanged")
    }
}

impl std::error::Error for InvalidReceipt {}

/// The key that signs tokens, and the id of the process that issues them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TokenSigner<'a> {
    pub(crate) hasher: &'a KeyedHasher,
    pub(crate) process: [u8; MARK],
}

/// A decoded token.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ReceiptToken {
    /// Whether this process issued it.
    pub(crate) is_own: bool,
    /// The tier of the caller; empty if it had none.
    tier: Box<str>,
    pub(crate) entries: Vec<TokenEntry>,
}

/// One charge of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TokenEntry {
    limit: Box<str>,
    algorithm: Box<str>,
    parameters: [u64; 2],
    pub(crate) key: Box<[u8]>,
    pub(crate) receipt: Receipt,
    /// Whether the rule sets a fixed price for the request.
    pub(crate) is_priced: bool,
}

/// Encodes a token, charge by charge.
pub(crate) struct TokenWriter<'a> {
    signer: TokenSigner<'a>,
    bytes: Vec<u8>,
    header_length: usize,
}

impl<'a> TokenWriter<'a> {
    pub(crate) fn new(kind: ReceiptKind, tier: Option<&str>, signer: TokenSigner<'a>) -> Self {
        let mut bytes = vec![kind as u8];
        bytes.extend(signer.process);
        Key::append(&mut bytes, tier.unwrap_or_default().as_bytes());
        Self { signer, header_length: bytes.len(), bytes }
    }

    pub(crate) fn add(&mut self, check: &Check<'_>, receipt: &Receipt, is_priced: bool) {
        let (limit, out) = (check.limit(), &mut self.bytes);
        Key::append(out, limit.name().as_bytes());
        Key::append(out, limit.algorithm().as_bytes());
        out.extend(parameters_of(limit).map(u64::to_le_bytes).concat());
        Key::append(out, check.key());
        out.extend(receipt.to_bytes());
        out.push(u8::from(is_priced));
    }

    /// The token; `None` if it has no charge.
    pub(crate) fn finish(self) -> Option<String> {
        if self.bytes.len() == self.header_length {
            return None;
        }
        let tag = self.signer.hasher.mac(&self.bytes);
        Some(URL_SAFE_NO_PAD.encode([&tag[..], &self.bytes].concat()))
    }
}

impl TokenEntry {
    fn read(rest: &mut &[u8]) -> Option<Self> {
        let (limit, algorithm) = (word(rest)?, word(rest)?);
        let parameters = [number(rest)?, number(rest)?];
        let key = Key::read_part(rest)?.into();
        let receipt: &[u8; Receipt::BYTES] = chunk(rest)?;
        let receipt = Receipt::from_bytes(receipt)?;
        let [is_priced] = *chunk(rest)?;
        Some(Self { limit, algorithm, parameters, key, receipt, is_priced: is_priced != 0 })
    }

    /// The name of the limit.
    pub(crate) fn limit(&self) -> &str {
        &self.limit
    }
}

impl ReceiptToken {
    /// Decodes a token of this kind.
    pub(crate) fn read(
        kind: ReceiptKind,
        text: &str,
        signer: TokenSigner<'_>,
    ) -> Result<Self, InvalidReceipt> {
        Self::verified(kind, text, signer).ok_or(InvalidReceipt { kind })
    }

    /// Decodes a token; `None` if it has another kind or an invalid tag.
    fn verified(kind: ReceiptKind, text: &str, signer: TokenSigner<'_>) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (tag, bytes) = bytes.split_at_checked(TAG)?;
        if !signer.hasher.verify(bytes, tag) {
            return None;
        }
        let (own_kind, mut rest) = bytes.split_first()?;
        let process: [u8; MARK] = *chunk(&mut rest)?;
        if *own_kind != kind as u8 {
            return None;
        }
        let tier = word(&mut rest)?;
        let mut entries = Vec::new();
        while !rest.is_empty() {
            entries.push(TokenEntry::read(&mut rest)?);
        }
        Some(Self { is_own: process == signer.process, tier, entries })
    }

    /// The limit that was charged, and its rule; `None` if the rules no longer have it.
    ///
    /// Tiers and overrides have limits of the same name: the one with the same parameters is used,
    /// or, if the file was edited since, the one of the caller's tier.
    pub(crate) fn limit_of<'p>(
        &self,
        entry: &TokenEntry,
        rules: &'p RuleSet,
    ) -> Option<(&'p Limit, &'p Rule)> {
        let rule = entry.limit.split(['~', ':', '@', '+']).next().and_then(|it| rules.rule(it))?;
        // A counter of scope `node` exists only in the process that charged it.
        if rule.scope == Scope::Node && !self.is_own {
            return None;
        }
        let tier = rules.tiers.as_ref().and_then(|tiers| tiers.named(&self.tier));
        let own = rule.limits.of(tier).into_iter();
        let limit_set = own.chain(rule.limits.each()).chain(rule.overriding());
        let limits = limit_set.flat_map(LimitSet::limits);
        let named = limits.filter(|limit| {
            limit.name() == &*entry.limit && limit.algorithm() == &*entry.algorithm
        });
        let mut first = None;
        for limit in named {
            if parameters_of(limit) == entry.parameters {
                return Some((limit, rule));
            }
            first = first.or(Some(limit));
        }
        first.map(|limit| (limit, rule))
    }
}

/// The capacity and recovery time that distinguish limits of the same name and algorithm.
fn parameters_of(limit: &Limit) -> [u64; 2] {
    let length = match limit.figures() {
        Parameters::Concurrency { lease, .. } => Some(lease),
        _ => limit.recovery(),
    };
    [limit.capacity(), length.map_or(0, sluicegate::Span::as_micros)]
}

fn chunk<'b, const BYTES: usize>(rest: &mut &'b [u8]) -> Option<&'b [u8; BYTES]> {
    let (chunk, after) = rest.split_first_chunk()?;
    *rest = after;
    Some(chunk)
}

fn number(rest: &mut &[u8]) -> Option<u64> {
    chunk(rest).map(|bytes| u64::from_le_bytes(*bytes))
}

fn word(rest: &mut &[u8]) -> Option<Box<str>> {
    str::from_utf8(Key::read_part(rest)?).ok().map(Into::into)
}
