//! One counter of a limit whose slots are held: who is in flight.

mod holds;

use std::collections::HashSet;

use self::holds::{Hold, Holds};
use super::circumstances::{Circumstances, Scene};
use super::ledger::Ledger;
use super::order::Numbered;
use crate::entry::{Entry, Event};
use crate::findings::ViolationKind;
use crate::header::OnStoreError;
use crate::rule::Held;
use crate::safety::Interval;

/// Who is in flight.
#[derive(Debug)]
pub(super) struct Holding {
    held: Held,
    holds: Holds,
    /// Until then the store may know of holds that are not in the trace.
    unsure_until: u64,
    blanks_seen: usize,
}

/// What one microsecond did, whose order is not known.
#[derive(Debug, Clone, Copy)]
struct Meanwhile {
    /// What the store had in flight before.
    before: u64,
    taken: u64,
    released: u64,
    alone: bool,
}

impl Holding {
    /// Nobody is in flight; or nobody knows, until a lease after the trace began or after another
    /// moment.
    pub(super) fn new(
        held: Held,
        circumstances: &Circumstances,
        unknown_since: Option<u64>,
    ) -> Self {
        let since = unknown_since.or_else(|| circumstances.unknown_since());
        let unsure_until = since.map_or(0, |since| since.saturating_add(held.lease_us));
        Self { held, holds: Holds::default(), unsure_until, blanks_seen: 0 }
    }

    /// Judges what happened to this counter in one microsecond: what was given back first, so
    /// that nobody is accused who may have taken it.
    pub(super) fn judge(&mut self, scene: &Scene<'_>, group: &[Numbered], ledger: &mut Ledger) {
        let Some(Numbered { entry: Entry { at, .. }, .. }) = group.first() else { return };
        self.catch_up(scene, *at);
        let before = self.holds.by_store();
        // What was taken and released at once is in nobody's way.
        let mut gone = HashSet::new();
        for Numbered { entry, .. } in group {
            match entry.event {
                Event::Release | Event::Refund if entry.allowed => {
                    let name = entry.hold.as_deref();
                    name.and_then(|name| self.holds.let_go(name));
                    gone.extend(name);
                }
                Event::Reset => self.holds = Holds::default(),
                _ => {}
            }
        }
        let released = before - self.holds.by_store().min(before);
        let decisions = || group.iter().filter(|numbered| numbered.entry.event.is_decision());
        let by_store = decisions().filter(|numbered| !numbered.entry.source.is_without_store());
        let taken = by_store.filter(|numbered| numbered.entry.allowed);
        let taken = taken.map(|numbered| numbered.entry.cost).sum();
        let meanwhile = Meanwhile { before, taken, released, alone: group.len() == 1 };
        for numbered in decisions() {
            if numbered.entry.allowed {
                self.admit(scene, numbered, meanwhile, ledger);
            } else {
                self.refuse(scene, numbered, meanwhile, ledger);
            }
            if let Some(name) = numbered.entry.hold.as_deref().filter(|name| gone.contains(name)) {
                self.holds.let_go(name);
            }
        }
        let renewed = group.iter().map(|numbered| &numbered.entry);
        renewed.filter(|entry| entry.event == Event::Renew && entry.allowed).for_each(|entry| {
            self.renew(entry);
        });
    }

    /// What happened since this counter was last looked at.
    fn catch_up(&mut self, scene: &Scene<'_>, at: u64) {
        while let Some(blank) = scene.all.blank_by(at, self.blanks_seen) {
            self.holds = Holds::default();
            self.be_unsure(blank.until);
            if at <= blank.until {
                break;
            }
            self.blanks_seen += 1;
        }
        self.holds.expire(at);
    }

    /// Slots that may have been taken up to `at` may be held for a lease from then.
    fn be_unsure(&mut self, at: u64) {
        self.unsure_until = self.unsure_until.max(at.saturating_add(self.held.lease_us));
    }

    fn renew(&mut self, entry: &Entry) {
        if let Some(name) = &entry.hold
            && let Some(hold) = self.holds.let_go(name)
        {
            let expires = entry.at.saturating_add(self.held.lease_us);
            self.holds.insert(name.clone(), Hold { expires, ..hold });
        }
    }

    fn admit(
        &mut self,
        scene: &Scene<'_>,
        numbered: &Numbered,
        meanwhile: Meanwhile,
        ledger: &mut Ledger,
    ) {
        let Numbered { entry, .. } = numbered;
        let by_store = !entry.source.is_without_store();
        if !by_store {
            self.be_unsure(scene.all.may_arrive_until(entry.at));
            ledger.skipped();
            match scene.policy(entry.at) {
                OnStoreError::Deny => {
                    let by = entry.source.as_str();
                    let what =
                        format!("was allowed by `{by}`; this rule refuses without the store");
                    ledger.report(numbered.violation(ViolationKind::NotFailedClosed, what));
                    return;
                }
                OnStoreError::Allow => return ledger.unlimited(),
                OnStoreError::Local => {}
            }
        }
        if entry.cost > 0 && !self.take(scene, numbered, by_store, ledger) {
            return;
        }
        if by_store && self.compares(scene, entry.at, ledger) {
            self.check_remaining(numbered, meanwhile, ledger);
        }
    }

    /// Takes slots; whether there were as many.
    fn take(
        &mut self,
        scene: &Scene<'_>,
        numbered: &Numbered,
        by_store: bool,
        ledger: &mut Ledger,
    ) -> bool {
        let Numbered { entry, .. } = numbered;
        let slots = self.held.slots;
        let together = if scene.all.outages_by(entry.at) > 0 {
            slots.saturating_add(slots.max(scene.all.nodes()))
        } else {
            slots
        };
        let at = entry.at;
        let own = Interval {
            admitted: self.holds.by_store() + entry.cost,
            allowed: slots,
            from: at,
            until: at,
        };
        let admitted = self.holds.all() + entry.cost;
        if by_store && own.is_over() {
            let what = format!("was in flight {} times; {slots} are allowed", own.admitted);
            ledger.report(numbered.violation(ViolationKind::OverAdmitted, what));
            return false;
        }
        if admitted > together {
            let what = format!("was in flight {admitted} times; {together} are allowed");
            ledger.report(numbered.violation(ViolationKind::OverAdmittedInOutage, what));
            return false;
        }
        if by_store {
            ledger.measured(own, &entry.key);
        }
        // Without a name nobody can give it back, and its lease runs out.
        let name = entry.hold.clone().unwrap_or_else(|| format!("#{}", numbered.count));
        let expires = at.saturating_add(self.held.lease_us);
        self.holds.insert(name, Hold { units: entry.cost, expires, by_store });
        true
    }

    /// Whether it is known what the store had counted.
    fn compares(&self, scene: &Scene<'_>, at: u64, ledger: &mut Ledger) -> bool {
        let known = at >= self.unsure_until && scene.all.clock_error() == 0;
        if known {
            ledger.compared(true);
        } else {
            ledger.skipped();
        }
        known
    }

    fn check_remaining(&self, numbered: &Numbered, meanwhile: Meanwhile, ledger: &mut Ledger) {
        let Some(said) = numbered.entry.remaining else { return };
        let Meanwhile { before, taken, released, alone } = meanwhile;
        let left = |in_flight: u64| self.held.slots.saturating_sub(in_flight);
        let (least, most) = if alone {
            (left(self.holds.by_store()), left(self.holds.by_store()))
        } else {
            (left(before + taken), left(before - released + numbered.entry.cost))
        };
        if !(least..=most).contains(&said) {
            let what = format!("was told {said} remaining; it is {least} to {most}");
            ledger.report(numbered.violation(ViolationKind::WrongRemaining, what));
        }
    }

    fn refuse(
        &mut self,
        scene: &Scene<'_>,
        numbered: &Numbered,
        meanwhile: Meanwhile,
        ledger: &mut Ledger,
    ) {
        let Numbered { entry, .. } = numbered;
        if entry.source.is_without_store() {
            self.be_unsure(scene.all.may_arrive_until(entry.at));
            return ledger.skipped();
        }
        if !self.compares(scene, entry.at, ledger) {
            return;
        }
        if let Some(said) = entry.retry_after_us {
            let what =
                format!("was told to retry after {said} us; nobody knows when a slot is free");
            ledger.report(numbered.violation(ViolationKind::WrongRetryAfter, what));
        }
        let in_flight = meanwhile.before.saturating_add(meanwhile.taken);
        if in_flight.saturating_add(entry.cost) <= self.held.slots {
            let left = self.held.slots - in_flight;
            let what = format!("asked for {} and was refused, but {left} were free", entry.cost);
            ledger.report(numbered.violation(ViolationKind::WrongRefusal, what));
        }
    }
}
