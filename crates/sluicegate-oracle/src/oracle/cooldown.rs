//! Cooldown: failures by their time, and the block after them.

use super::cell::{Cell, Filed, View, When};
use super::receipt::{Receipt, ReceiptId, Until};
use super::rule::{Rule, SETTLED_WITHIN, SLACK, Take, Verdict};
use super::search::{largest_fit, smallest_wait};
use crate::ratio::Ratio;
use crate::trace::{EscalationSpec, Reason};

/// The failures that may still count, and the last block.
#[derive(Clone, Debug, Default)]
pub(crate) struct Failures {
    /// In order of time.
    times: Vec<u64>,
    blocked_until: u64,
    /// The number of consecutive blocks.
    streak: u64,
    /// The times of admitted attempts that are not reported yet, in order.
    attempts: Vec<u64>,
}

/// A block of `block` after `after` failures within `within`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cooldown {
    pub(crate) after: u64,
    pub(crate) within: u64,
    pub(crate) block: u64,
    pub(crate) escalation: Option<EscalationSpec>,
    /// The time that an attempt counts as a failure unless it is reported.
    pub(crate) pending: Option<u64>,
    pub(crate) reset_on_success: bool,
}

impl Cooldown {
    /// Returns the length of the block that makes a streak of this many.
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

    /// Returns when the streak ends; `None` if there is none.
    fn forget_at(&self, failures: &Failures) -> Option<u64> {
        let rest = self.within.max(self.length(failures.streak));
        (failures.streak > 0).then(|| failures.blocked_until + rest)
    }

    fn live<'a>(&'a self, failures: &'a Failures, now: u64) -> impl Iterator<Item = u64> + 'a {
        failures.times.iter().copied().filter(move |time| time + self.within > now)
    }

    /// Returns whether an attempt of that time counts.
    fn is_pending(&self, time: u64, now: u64) -> bool {
        self.pending.is_some_and(|pending| time + pending > now)
    }

    fn pending_count(&self, failures: &Failures, now: u64) -> u64 {
        failures.attempts.iter().filter(|&&time| self.is_pending(time, now)).count() as u64
    }

    /// Settles this many of the oldest attempts that count; returns how many there were.
    fn settle_oldest(&self, failures: &mut Failures, now: u64, units: u64) -> u64 {
        failures.attempts.retain(|&time| self.is_pending(time, now));
        let settled = failures.attempts.len().min(usize::try_from(units).expect("fits"));
        failures.attempts.drain(..settled);
        settled as u64
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
        self.pending.is_some()
    }

    fn correct_clock(&self, cell: &mut Cell, when: When) {
        let failures = &mut cell.failures;
        if self.pending.is_none() {
            failures.attempts.clear();
        }
        let longest = self.escalation.map_or(self.block, |escalation| escalation.max_us);
        let ahead = |times: &[u64]| times.iter().any(|&time| time > when.now + SLACK);
        if failures.blocked_until > when.now + longest + SLACK
            || ahead(&failures.times)
            || ahead(&failures.attempts)
        {
            failures.times.clear();
            failures.attempts.clear();
            failures.blocked_until = when.now + self.length(1);
        }
    }

    fn fits(&self, cell: &Cell, when: When, units: u64, cap: u64) -> bool {
        let (failures, now) = (&cell.failures, when.now);
        let used = self.live_count(failures, now) + self.pending_count(failures, now);
        now >= failures.blocked_until && (self.pending.is_none() || used + units <= cap)
    }

    fn take(&self, cell: &Cell, when: When, already: u64, take: &Take) -> Verdict {
        let blocked = when.now < cell.failures.blocked_until;
        if self.pending.is_none() {
            if blocked {
                let retry_after = Some(cell.failures.blocked_until - when.now);
                return Verdict::Refused { reason: Reason::Blocked, retry_after };
            }
            return Verdict::Allowed { granted: take.most, delay: 0 };
        }
        if already.saturating_add(take.least) > self.after {
            return Verdict::Refused { reason: Reason::CostAboveLimit, retry_after: None };
        }
        let fits = |when, units| self.fits(cell, when, already + units, self.after);
        if !fits(when, take.least) {
            let retry_after = Some(smallest_wait(|wait| fits(when.later(wait), take.least)));
            let reason = if blocked { Reason::Blocked } else { Reason::Exhausted };
            return Verdict::Refused { reason, retry_after };
        }
        let granted = largest_fit(take.most.min(self.after), |units| fits(when, units));
        Verdict::Allowed { granted, delay: 0 }
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
        // If the number was lowered below the live failures, the next one still counts.
        let open = self.after.saturating_sub(self.live_count(failures, now)).max(1);
        let granted = units.min(open);
        self.settle_oldest(failures, now, granted);
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
        let attempts = failures.attempts.iter().filter(|&&time| self.is_pending(time, when.now));
        let pending_until = attempts.max().map_or(0, |time| time + self.pending.unwrap_or(0));
        let fresh_at = forget_at.max(counted_until).max(pending_until).max(failures.blocked_until);
        let blocked = when.now < failures.blocked_until;
        let live = self.live_count(failures, when.now) + self.pending_count(failures, when.now);
        View {
            remaining: if blocked { 0 } else { self.after.saturating_sub(live) },
            reset_after: fresh_at.saturating_sub(when.now),
        }
    }

    /// A streak counts as half of the capacity, because without it the next block is a short one.
    fn used(&self, cell: &Cell, when: When) -> Ratio {
        let used = Ratio::whole(self.after - self.view(cell, when).remaining);
        let streak = self.escalation.and_then(|_| self.forget_at(&cell.failures));
        let half = Ratio::new(i128::from(self.after) * 32_767, 65_535);
        if streak.is_some_and(|end| end > when.now) { used.max(half) } else { used }
    }

    /// Adds attempts; failures are charged.
    fn file(&self, cell: &mut Cell, when: When, units: u64, id: ReceiptId) -> Filed {
        let pending = self.pending.unwrap_or_else(|| panic!("no attempt is filed: {id:?}"));
        let attempts = &mut cell.failures.attempts;
        let time = attempts.last().map_or(when.now, |&newest| newest.max(when.now));
        attempts.retain(|&time| self.is_pending(time, when.now));
        for _ in 0..units {
            attempts.push(time);
        }
        Filed { id, at: time, until: Until::whole(time + pending) }
    }

    /// Reports a success.
    fn refund(&self, cell: &mut Cell, when: When, units: u64) -> u64 {
        if units == 0 {
            return 0;
        }
        if self.reset_on_success {
            // A success clears the failures.
            cell.failures.times.clear();
        }
        self.settle_oldest(&mut cell.failures, when.now, units)
    }

    fn give_back(&self, cell: &mut Cell, when: When, receipt: &Receipt, units: u64) -> u64 {
        let mut given = 0;
        cell.failures.attempts.retain(|&time| {
            let gone = given < units && time == receipt.filed.at && self.is_pending(time, when.now);
            given += u64::from(gone);
            !gone
        });
        given
    }

    /// An attempt is a single unit at any final cost.
    fn settle(
        &self,
        cell: &mut Cell,
        when: When,
        receipt: &Receipt,
        actual: u64,
        _already: u64,
    ) -> Result<u64, Reason> {
        let over = receipt.filed.until.has_passed(when.now);
        if over && when.now >= receipt.filed.at + SETTLED_WITHIN {
            return Err(Reason::Lost);
        }
        if receipt.settled {
            return Err(Reason::Spent);
        }
        if self.pending.is_none() {
            // Attempts are no longer counted; units beyond one are failures.
            let more = actual.saturating_sub(receipt.units);
            let (more, _) = self.charge(cell, when, more, 0, receipt.filed.id);
            return Ok(receipt.units + more);
        }
        if over || actual >= receipt.units {
            return Ok(receipt.units);
        }
        Ok(receipt.units - self.give_back(cell, when, receipt, receipt.units - actual))
    }
}
