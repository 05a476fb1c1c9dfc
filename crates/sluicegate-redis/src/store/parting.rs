//! Sets that no server of a cluster has all counters of: each is asked for its part.
//!
//! The parts are charged side by side. If one is refused, what the others have charged is given back,
//! each charge once; so never too much is admitted, and for a moment perhaps too little. A set that does
//! something which could not be undone, such as a refund or a place in a queue, or has alternatives in several slots, first has
//! all of its counters looked at, and is put to the servers only if it would be admitted. Where a server
//! does not answer, its part goes by what its checks say of an outage, once all others have admitted
//! theirs.

mod looking;
mod terms;
mod venture;

use futures_util::future::join_all;
use sluicegate::Applied;
use sluicegate_core::{Check, Decision, Receipt, Ruling, Set, State, Time};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use self::terms::{InSlot, Terms};
use self::venture::Venture;
use super::part::{Part, is_final, like, like_named, queues};
use super::{Redis, charges, counters_of, unconfirmed};
use crate::failure::{Class, Failure};
use crate::twin::Packed;

/// So many ids are kept for the checks of one part, and so many parts for one round: there are never
/// more in a set.
const CHECKS: usize = 64;

/// A part that was asked.
struct Asked<'a> {
    part: Charged<'a>,
    terms: Vec<usize>,
    /// How its counters stood before.
    before: Vec<State>,
    outcome: Result<Applied, Failure>,
    /// Whether a replica has it too, where one has to.
    confirmed: bool,
}

/// A part that may have charged something, which is given back unless somebody takes it on: whoever
/// asked may go away while others are still asked.
struct Charged<'a> {
    store: &'a Redis,
    part: Option<Part<'a>>,
}

impl<'a> Charged<'a> {
    fn take(mut self) -> Part<'a> {
        self.part.take().unwrap_or_else(Part::nothing)
    }
}

impl Drop for Charged<'_> {
    fn drop(&mut self) {
        if let Some(part) = &self.part {
            drop(self.store.give_back(part));
        }
    }
}

/// What has become of the parts of a set.
struct Course<'a> {
    /// The last of the servers' answers, at the latest of their times.
    last: Applied,
    /// Whether a part was refused.
    refused: bool,
    /// How often servers were asked.
    rounds: usize,
    /// Checks whose servers did not answer, or not well enough, and why.
    unanswered: Vec<(usize, Check<'a>, Failure)>,
}

impl Redis {
    /// Asks the servers that have a set's counters.
    pub(super) async fn ask_slots(
        &self,
        set: &Set<'_>,
        packed: &Packed,
        decisions: &mut [Option<Decision>],
        until: Instant,
    ) -> Result<Applied, Failure> {
        decisions.fill(None);
        let slot = |index| self.servers.slot(&self.common, packed.counter(index));
        let mut terms = Terms::of(set, slot);
        if set.is_independent() && terms.are_split() {
            return Box::pin(self.ask_each_term(set, decisions, until)).await;
        }
        let mut venture = Venture::of(self, set);
        self.change_tiers(set, &terms, until).await;
        if !set.is_independent()
            && (terms.are_split() || set.checks().iter().any(|it| is_final(it) || queues(it)))
            && let Some(now) = self.look(set, &terms, &mut venture, until).await
            && let Some((ruling, after)) = venture.explain(set, now, decisions)
        {
            if ruling != Ruling::Admitted {
                self.mend(set, &terms, &venture, (&after, &answered(decisions)), until).await;
                return Ok(Applied::by_store(ruling, now));
            }
            terms.choose(decisions);
        }
        decisions.fill(None);
        let course = self.ask_rounds(set, &mut terms, &mut venture, until).await;
        if !matches!(course.last.ruling, Ruling::Admitted | Ruling::Refused) {
            // It has to be asked about another time, and the rest with it.
            venture.give_back_by(until).await;
            return Ok(course.last);
        }
        if course.refused && !set.is_independent() {
            venture.give_back_by(until).await;
            self.tell_refusal(set, &terms, &mut venture, course.last.now, decisions, until).await;
            return Ok(Applied { ruling: Ruling::Refused, ..course.last });
        }
        self.stand(set, &terms, venture, course, decisions, until).await
    }

    /// Asks about all terms, and again where an alternative is elsewhere.
    async fn ask_rounds<'a>(
        &'a self,
        set: &Set<'a>,
        terms: &mut Terms,
        venture: &mut Venture<'a>,
        until: Instant,
    ) -> Course<'a> {
        let last = Applied::by_store(Ruling::Admitted, Time::EPOCH);
        let mut course = Course { last, refused: false, rounds: 0, unanswered: Vec::new() };
        let mut pending = terms.all();
        while !pending.is_empty() && (!course.refused || set.is_independent()) {
            let parts = terms.parts(set, &pending).into_iter().enumerate();
            let first = course.rounds * CHECKS;
            let ask = |(number, part)| self.ask_part(set, part, first + number, until);
            let asked = join_all(parts.map(ask)).await;
            pending.clear();
            course.rounds += 1;
            for Asked { part, terms: own, before, outcome, confirmed } in asked {
                let part = part.take();
                let mut miss = |part: &Part<'a>, failure: &Failure| {
                    let checks = part.indexes.iter().zip(&part.checks);
                    let missed = checks.map(|(index, check)| (*index, *check, failure.clone()));
                    course.unanswered.extend(missed);
                };
                let applied = match outcome {
                    Ok(applied) => applied,
                    Err(failure) => {
                        miss(&part, &failure);
                        continue;
                    }
                };
                if !confirmed && charges(set, applied.ruling) {
                    let failure = unconfirmed();
                    self.common.count(&failure);
                    miss(&part, &failure);
                    venture.parts.push((part, true));
                    continue;
                }
                let now = applied.now.max(course.last.now);
                if matches!(course.last.ruling, Ruling::Admitted | Ruling::Refused) {
                    course.last = Applied { now, ..applied };
                }
                venture.note(set, &part, before);
                let charged = charges(set, applied.ruling);
                for number in own {
                    let admits = terms.admits(number, &part);
                    if terms.goes_on(number, &part) || !charged && admits {
                        pending.push(number);
                    } else {
                        course.refused |= !admits;
                    }
                }
                venture.parts.push((part, charged));
            }
            if !matches!(course.last.ruling, Ruling::Admitted | Ruling::Refused) {
                break;
            }
        }
        course
    }

    /// What is said of a refused set: as if one server had seen all of it, if all can be known.
    async fn tell_refusal(
        &self,
        set: &Set<'_>,
        terms: &Terms,
        venture: &mut Venture<'_>,
        now: Time,
        decisions: &mut [Option<Decision>],
        until: Instant,
    ) {
        self.look(set, terms, venture, until).await;
        if let Some((Ruling::Refused, after)) = venture.explain(set, now, decisions) {
            self.mend(set, terms, venture, (&after, &answered(decisions)), until).await;
        } else {
            // Not all is known, or the servers' clocks do not go quite alike.
            decisions.fill(None);
            venture.hand_over(decisions);
        }
    }

    /// All servers that answered have admitted their parts; the others' checks say what becomes of it.
    async fn stand(
        &self,
        set: &Set<'_>,
        terms: &Terms,
        mut venture: Venture<'_>,
        course: Course<'_>,
        decisions: &mut [Option<Decision>],
        until: Instant,
    ) -> Result<Applied, Failure> {
        let ruling = if course.refused { Ruling::Refused } else { Ruling::Admitted };
        let mut applied = Applied { ruling, ..course.last };
        venture.hand_over(decisions);
        if !course.unanswered.is_empty() {
            let decided = self.do_without(set, course.unanswered, decisions)?;
            let nobody_answered = venture.parts.is_empty();
            let now = if nobody_answered { decided.now } else { applied.now };
            applied = Applied { by: decided.by, now, ..applied };
            if decided.ruling != Ruling::Admitted {
                applied.ruling = decided.ruling;
                if !set.is_independent() || decided.ruling != Ruling::Refused {
                    venture.give_back_by(until).await;
                    return Ok(applied);
                }
                venture.give_back_refused(decisions);
            }
        }
        venture.is_open = false;
        if applied.ruling == Ruling::Admitted && (course.rounds > 1 || !venture.looked.is_empty()) {
            let (after, skipped) = venture.retell_refusals(set, applied.now, decisions);
            self.mend(set, terms, &venture, (&after, &skipped), until).await;
        }
        Ok(applied)
    }

    /// Decides checks whose servers did not answer as they say of an outage, all of them together.
    fn do_without(
        &self,
        set: &Set<'_>,
        mut unanswered: Vec<(usize, Check<'_>, Failure)>,
        decisions: &mut [Option<Decision>],
    ) -> Result<Applied, Failure> {
        unanswered.sort_by_key(|(index, ..)| *index);
        let checks: Vec<Check<'_>> = unanswered.iter().map(|(_, check, _)| *check).collect();
        let mut own: Vec<Option<Decision>> = vec![None; checks.len()];
        let class_of = |place: usize| {
            unanswered.get(place).map_or(Class::Down, |(_, _, failure)| failure.class)
        };
        let first = unanswered.first().map(|(_, _, failure)| failure.clone());
        let first = first.unwrap_or_else(|| self.unanswered());
        let decided = self.without_servers(&like(set, &checks), &mut own, &first, class_of);
        for ((index, ..), decision) in unanswered.iter().zip(own) {
            if let Some(place) = decisions.get_mut(*index) {
                *place = decision;
            }
        }
        decided.map_err(|_| first)
    }

    /// Asks about the terms of an independent set, one after the other: each is a set by itself.
    async fn ask_each_term(
        &self,
        set: &Set<'_>,
        decisions: &mut [Option<Decision>],
        until: Instant,
    ) -> Result<Applied, Failure> {
        let mut whole = Applied::by_store(Ruling::Admitted, Time::EPOCH);
        let mut asked: Vec<Part<'_>> = Vec::new();
        for (number, indexes) in terms::whole(set).into_iter().enumerate() {
            let mut part = Part::of(set, indexes);
            let id = set.id().of_check(number * CHECKS);
            let own = Set::all(&part.checks, id).answered_within(set.within());
            let applied = match self.ask_by(&own, &mut part.decisions, until).await {
                Ok(applied) => applied,
                Err(failure) => self
                    .without_store(&own, &mut part.decisions, &failure)
                    .map_err(|_| failure.clone())?,
            };
            if !matches!(applied.ruling, Ruling::Admitted | Ruling::Refused) {
                // All of it will be asked about another time.
                for part in &asked {
                    drop(self.give_back(part));
                }
                decisions.fill(None);
                return Ok(applied);
            }
            part.hand_over(decisions);
            let ruling =
                if applied.ruling == Ruling::Admitted { whole.ruling } else { applied.ruling };
            whole = Applied { ruling, ..applied };
            asked.push(part);
        }
        Ok(whole)
    }

    /// Asks about one part.
    async fn ask_part<'a>(
        &'a self,
        whole: &Set<'_>,
        in_slot: InSlot<'a>,
        number: usize,
        until: Instant,
    ) -> Asked<'a> {
        let InSlot { slot, mut part, terms } = in_slot;
        // What one part charges has other names than what another one does.
        let id = whole.id().of_check(number * CHECKS);
        let own = like_named(whole, &part.checks, id);
        let packed = Packed::new(&own, &self.common.naming);
        let counters = counters_of(&packed);
        let (mut before, mut confirmed) = (Vec::new(), true);
        let outcome = match self.see(&own, packed, slot, until).await {
            Ok(mut seeing) => {
                before.extend(seeing.answer.states.iter().cloned());
                confirmed = seeing.confirmed;
                self.explain(&own, &mut seeing, &mut part.decisions, &counters)
            }
            Err(failure) => Err(failure),
        };
        Asked { part: Charged { store: self, part: Some(part) }, terms, before, outcome, confirmed }
    }

    /// Undoes what a part has charged, the last charge first: a queue lets only its last place go.
    pub(super) fn give_back(&self, part: &Part<'_>) -> Vec<JoinHandle<()>> {
        let charges = part.checks.iter().zip(&part.decisions).rev();
        let undone = charges.filter_map(|(check, decision)| {
            let decision = decision.as_ref()?;
            let undo = check.ask(check.limit().undo(decision)?).alone();
            self.tell(&undo, decision.receipt().map_or(0, Receipt::units))
        });
        undone.collect()
    }
}

/// The checks that were answered.
fn answered(decisions: &[Option<Decision>]) -> Vec<usize> {
    let decisions = decisions.iter().enumerate();
    decisions.filter_map(|(index, decision)| decision.map(|_| index)).collect()
}
