//! What was charged, as texts that callers keep and bring back: slots and reservations.
//!
//! A text names the limits, keys and receipts of what was charged, and carries a tag that only those
//! with the secret can make: no node has to remember it, and nobody brings back what it was not given.

use std::fmt::Write as _;

use sluicegate::{Check, Key, Limit, Receipt, Scope};
use sluicegate_core::Figures;

use crate::digest::Digester;
use crate::limits::Windows;
use crate::rule::Rule;
use crate::ruleset::RuleSet;

const TAG: usize = 16;
/// Bytes that tell a process from others.
pub(crate) const MARK: usize = 8;

/// What a text is for: one kind is never taken for the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Slots in flight.
    Slot = 1,
    /// An estimate that is to be settled.
    Reservation = 2,
}

/// Who wrote a text: the tag's key, and which process it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pen<'a> {
    pub(crate) digester: &'a Digester,
    pub(crate) process: [u8; MARK],
}

/// A text, read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Told {
    /// Whether this process wrote it.
    pub(crate) is_own: bool,
    /// The tier of the caller, where there was one.
    tier: Box<str>,
    pub(crate) charges: Vec<Charged>,
}

/// What was charged to one limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Charged {
    limit: Box<str>,
    algorithm: Box<str>,
    figures: [u64; 2],
    pub(crate) key: Box<[u8]>,
    pub(crate) receipt: Receipt,
    /// Whether the rule itself says what the request cost.
    pub(crate) is_priced: bool,
}

/// Writes a text, charge by charge.
pub(crate) struct Writing<'a> {
    pen: Pen<'a>,
    bytes: Vec<u8>,
    empty: usize,
}

impl<'a> Writing<'a> {
    pub(crate) fn new(kind: Kind, tier: Option<&str>, pen: Pen<'a>) -> Self {
        let mut bytes = vec![kind as u8];
        bytes.extend(pen.process);
        Key::append(&mut bytes, tier.unwrap_or_default().as_bytes());
        Self { pen, empty: bytes.len(), bytes }
    }

    pub(crate) fn add(&mut self, check: &Check<'_>, receipt: &Receipt, is_priced: bool) {
        let (limit, out) = (check.limit(), &mut self.bytes);
        Key::append(out, limit.name().as_bytes());
        Key::append(out, limit.algorithm().as_bytes());
        out.extend(figures(limit).map(u64::to_le_bytes).concat());
        Key::append(out, check.key());
        out.extend(receipt.to_bytes());
        out.push(u8::from(is_priced));
    }

    /// The text; `None` if there was nothing to write.
    pub(crate) fn finish(self) -> Option<String> {
        if self.bytes.len() == self.empty {
            return None;
        }
        let tag = self.pen.digester.mac(&self.bytes);
        let mut text = String::with_capacity(2 * (TAG + self.bytes.len()));
        for byte in tag.iter().chain(&self.bytes) {
            let _ = write!(text, "{byte:02x}");
        }
        Some(text)
    }
}

/// What a text says; `None` if it is not one of this kind that somebody with the secret wrote.
pub(crate) fn read(kind: Kind, text: &str, pen: Pen<'_>) -> Option<Told> {
    let bytes = unhex(text)?;
    let (tag, bytes) = bytes.split_at_checked(TAG)?;
    if !pen.digester.verify(bytes, tag) {
        return None;
    }
    let (own_kind, mut rest) = bytes.split_first()?;
    let process: [u8; MARK] = *chunk(&mut rest)?;
    if *own_kind != kind as u8 {
        return None;
    }
    let tier = word(&mut rest)?;
    let mut charges = Vec::new();
    while !rest.is_empty() {
        charges.push(Charged::read(&mut rest)?);
    }
    Some(Told { is_own: process == pen.process, tier, charges })
}

impl Charged {
    fn read(rest: &mut &[u8]) -> Option<Self> {
        let (limit, algorithm) = (word(rest)?, word(rest)?);
        let figures = [number(rest)?, number(rest)?];
        let key = part(rest)?.into();
        let receipt: &[u8; Receipt::BYTES] = chunk(rest)?;
        let receipt = Receipt::from_bytes(receipt)?;
        let [is_priced] = *chunk(rest)?;
        Some(Self { limit, algorithm, figures, key, receipt, is_priced: is_priced != 0 })
    }

    /// The name of the limit.
    pub(crate) fn limit(&self) -> &str {
        &self.limit
    }
}

impl Told {
    /// The limit that was charged, and its rule; `None` if the rules have it no more.
    ///
    /// Tiers and overrides have limits of the same name: the one that has the same figures is meant, or
    /// where the file was edited since, the one that the caller's tier has now.
    pub(crate) fn limit_of<'p>(
        &self,
        charge: &Charged,
        rules: &'p RuleSet,
    ) -> Option<(&'p Limit, &'p Rule)> {
        let rule = charge.limit.split(['~', ':', '@', '+']).next().and_then(|it| rules.rule(it))?;
        // What one process counts for itself, another knows nothing of.
        if rule.scope == Scope::Node && !self.is_own {
            return None;
        }
        let tier = rules.tiers.as_ref().and_then(|tiers| tiers.named(&self.tier));
        let own = rule.limits.of(tier).into_iter();
        let windows = own.chain(rule.limits.each()).chain(rule.overriding());
        let limits = windows.flat_map(Windows::limits).map(|(limit, _)| limit);
        let named = limits.filter(|limit| {
            limit.name() == &*charge.limit && limit.algorithm() == &*charge.algorithm
        });
        let mut first = None;
        for limit in named {
            if figures(limit) == charge.figures {
                return Some((limit, rule));
            }
            first = first.or(Some(limit));
        }
        first.map(|limit| (limit, rule))
    }
}

/// What tells limits of one name and algorithm apart: how much, and how fast that comes back.
fn figures(limit: &Limit) -> [u64; 2] {
    let length = match limit.figures() {
        Figures::Concurrency { lease, .. } => Some(lease),
        _ => limit.recovery(),
    };
    [limit.capacity(), length.map_or(0, sluicegate::Span::as_micros)]
}

fn chunk<'b, const BYTES: usize>(rest: &mut &'b [u8]) -> Option<&'b [u8; BYTES]> {
    let (chunk, behind) = rest.split_first_chunk()?;
    *rest = behind;
    Some(chunk)
}

fn number(rest: &mut &[u8]) -> Option<u64> {
    chunk(rest).map(|bytes| u64::from_le_bytes(*bytes))
}

fn word(rest: &mut &[u8]) -> Option<Box<str>> {
    str::from_utf8(part(rest)?).ok().map(Into::into)
}

/// A part that [`Key::append`] wrote.
fn part<'b>(rest: &mut &'b [u8]) -> Option<&'b [u8]> {
    let (mut length, mut shift) = (0_usize, 0_u32);
    loop {
        let (byte, behind) = rest.split_first()?;
        *rest = behind;
        length |= usize::from(byte & 0x7f).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            break;
        }
        shift += 7;
    }
    let (part, behind) = rest.split_at_checked(length)?;
    *rest = behind;
    Some(part)
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit =
        |letter: &u8| char::from(*letter).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let pairs = text.as_bytes().chunks(2);
    pairs
        .map(|pair| match pair {
            [high, low] => Some(digit(high)? << 4 | digit(low)?),
            _ => None,
        })
        .collect()
}
