//! Cooldown: failures by their time, and the block they lead to.

use super::cell::{Cell, Filed, View, When};
use super::receipt::{Receipt, ReceiptId};
use super::rule::{Rule, SLACK, Take, Verdict};
use crate::trace::{EscalationSpec, Reason};

/// The failures that may still count, and the last block.
#[derive(Clone, Debug, Default)]
pub(crate) struct Failures {
    /// In order of time.
    times: Vec<u64>,
    blocked_until: u64,
    /// How many blocks there were in a row.
    streak: u64,
}

/// A block of `block` after `after` failures within `within`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cooldown {
    pub(crate) after: u64,
    pub(crate) within: u64,
    pub(crate) block: u64,
    pub(crate) escalation: Option<EscalationSpec>,
}

impl Cooldown {
    /// How long the block lasts that makes a streak of this many.
    fn length(&self, streak: u64) -> u64 {
        let Some(escalation) = self.escalation else { return self.block };
        let mut length = self.block;
        for _ in 1..streak {
            length = length.saturating_mul(escalation.factor);
            if length >= escalation.max_us {
                break;
            }
        }
        length.min(escalation.max_us)
    }

    /// When the streak is forgotten; nothing if there is none.
    fn forget_at(&self, failures: &Failures) -> Option<u64> {
        let rest = self.within.max(self.length(failures.streak));
        (failures.streak > 0).then(|| failures.blocked_until + rest)
    }

    fn live<'a>(&'a self, failures: &'a Failures, now: u64) -> impl Iterator<Item = u64> + 'a {
        failures.times.iter().copied().filter(move |time| time + self.within > now)
    }

    fn live_count(&self, failures: &Failures, now: u64) -> u64 {
        self.live(failures, now).count() as u64
    }
}

impl Rule for Cooldown {
    fn capacity(&self) -> u64 {
        self.after
    }

    fn charge_cap(&self) -> u64 {
        self.after
    }

    fn charges_takes(&self) -> bool {
        false
    }

    fn correct_clock(&self, cell: &mut Cell, when: When) {
        let failures = &mut cell.failures;
        let longest = self.escalation.map_or(self.block, |escalation| escalation.max_us);
        if failures.blocked_until > when.now + longest + SLACK {
            failures.blocked_until = when.now + self.length(1);
        }
        if failures.times.iter().any(|&time| time > when.now + SLACK) {
            failures.times.clear();
            failures.blocked_until = when.now + self.length(1);
        }
    }

    fn fits(&self, cell: &Cell, when: When, _units: u64, _cap: u64) -> bool {
        when.now >= cell.failures.blocked_until
    }

    fn take(&self, cell: &Cell, when: When, already: u64, take: &Take) -> Verdict {
        if self.fits(cell, when, already, self.after) {
            return Verdict::Allowed { granted: take.most, delay: 0 };
        }
        let retry_after = Some(cell.failures.blocked_until - when.now);
        Verdict::Refused { reason: Reason::Blocked, retry_after }
    }

    fn charge(
        &self,
        cell: &mut Cell,
        when: When,
        units: u64,
        _already: u64,
        _id: ReceiptId,
    ) -> (u64, Option<Filed>) {
        let now = when.now;
        let failures = &mut cell.failures;
        if now < failures.blocked_until || units == 0 {
            return (0, None);
        }
        if self.forget_at(failures).is_some_and(|forget_at| now >= forget_at) {
            failures.streak = 0;
        }
        // Where the number was lowered under failures that are live, the next one still counts.
        let open = self.after.saturating_sub(self.live_count(failures, now)).max(1);
        let granted = units.min(open);
        failures.times.retain(|time| time + self.within > now);
        let time = failures.times.last().map_or(now, |&newest| newest.max(now));
        for _ in 0..units.min(self.after) {
            failures.times.push(time);
        }
        let kept = failures.times.len().min(usize::try_from(self.after).expect("fits"));
        failures.times.drain(..failures.times.len() - kept);
        if self.live_count(failures, now) >= self.after {
            failures.times.clear();
            failures.streak += 1;
            failures.blocked_until = now + self.length(failures.streak);
        }
        (granted, None)
    }

    fn view(&self, cell: &Cell, when: When) -> View {
        let failures = &cell.failures;
        let forget_at = self.escalation.and_then(|_| self.forget_at(failures)).unwrap_or(0);
        let newest = self.live(failures, when.now).max();
        let counted_until = newest.map_or(0, |time| time + self.within);
        let fresh_at = forget_at.max(counted_until).max(failures.blocked_until);
        let blocked = when.now < failures.blocked_until;
        let live = self.live_count(failures, when.now);
        View {
            remaining: if blocked { 0 } else { self.after.saturating_sub(live) },
            reset_after: fresh_at.saturating_sub(when.now),
        }
    }

    fn file(&self, _cell: &mut Cell, _when: When, _units: u64, id: ReceiptId) -> Filed {
        panic!("a cooldown files no units: {id:?}");
    }

    fn refund(&self, _cell: &mut Cell, _when: When, _units: u64) -> u64 {
        // What failed has failed.
        0
    }

    fn give_back(&self, _cell: &mut Cell, _when: When, receipt: &Receipt, _units: u64) -> u64 {
        panic!("a cooldown yields no receipts: {:?}", receipt.filed.id);
    }
}
