//! Slots in flight as texts that callers keep and bring back.
//!
//! A text names the limits, keys and receipts of what is held, and carries a tag that only those
//! with the secret can make: nobody releases what it was not given.

use std::fmt::Write as _;

use tollgate::{Ask, Cost, Key, Plan, Receipt, Verdict};

use crate::digest::Digester;
use crate::planning::Planned;
use crate::ruleset::RuleSet;

const TAG: usize = 16;

/// A slot that was not given out by us, or not as it is now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotASlot;

impl std::fmt::Display for NotASlot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(
            "it is not a slot that was given out here; send back the text of `slot` as it was",
        )
    }
}

impl std::error::Error for NotASlot {}

/// What is held of one limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Held {
    limit: Box<str>,
    key: Box<[u8]>,
    receipt: Receipt,
}

/// The text for everything that a verdict lets its caller hold; `None` if that is nothing.
pub(crate) fn write(
    planned: &Planned<'_>,
    verdict: &Verdict,
    digester: &Digester,
) -> Option<String> {
    let mut bytes = Vec::new();
    for (check, decision) in planned.plan().checks().iter().zip(verdict.decisions()) {
        let receipt =
            decision.as_ref().filter(|_| check.limit().holds()).and_then(|made| made.receipt());
        if let Some(receipt) = receipt.filter(|_| verdict.is_allowed()) {
            Key::append(&mut bytes, check.limit().name().as_bytes());
            Key::append(&mut bytes, check.key());
            Key::append(&mut bytes, &receipt.to_bytes());
        }
    }
    if bytes.is_empty() {
        return None;
    }
    let tag = digester.mac(&bytes);
    let mut text = String::with_capacity(2 * (TAG + bytes.len()));
    for byte in tag.iter().chain(&bytes) {
        let _ = write!(text, "{byte:02x}");
    }
    Some(text)
}

/// What a text says is held.
pub(crate) fn read(text: &str, digester: &Digester) -> Result<Vec<Held>, NotASlot> {
    let bytes = unhex(text).ok_or(NotASlot)?;
    let (tag, bytes) = bytes.split_at_checked(TAG).ok_or(NotASlot)?;
    if !digester.verify(bytes, tag) {
        return Err(NotASlot);
    }
    let mut held = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let parts = [part(&mut rest), part(&mut rest), part(&mut rest)];
        let [Some(limit), Some(key), Some(receipt)] = parts else { return Err(NotASlot) };
        let limit = std::str::from_utf8(limit).map_err(|_| NotASlot)?.into();
        held.push(Held {
            limit,
            key: key.into(),
            receipt: Receipt::from_bytes(receipt).ok_or(NotASlot)?,
        });
    }
    Ok(held)
}

/// The plan that gives it back. What belongs to a rule that is gone is gone with it.
pub(crate) fn release<'p>(held: &'p [Held], rules: &'p RuleSet) -> Plan<'p> {
    let mut plan = Plan::new();
    for one in held {
        let limit = rules.limit_and_rule(&one.limit).filter(|(limit, _)| limit.holds());
        if let Some((limit, rule)) = limit {
            let ask = Ask::Settle { receipt: one.receipt, actual: Cost::ZERO };
            plan.require(rule.check(limit, &one.key).ask(ask));
        }
    }
    // A slot that has run out must not keep the others from being given back.
    plan.independently();
    plan
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
