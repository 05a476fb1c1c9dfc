//! Sets that have arrived together go to the server together.

use std::collections::HashMap;
use std::time::Duration;

use futures_util::future::join_all;
use sluicegate::{Applied, CheckError, Clock as _};
use sluicegate_core::{Check, Decision, Ruling, Scope, Set};
use smallvec::SmallVec;
use tokio::time::Instant;

use super::denying::only_takes;
use super::splitting::Split;
use super::{Redis, Seeing, counters_of};
use crate::courier::{BULK, Reply};
use crate::failure::Failure;
use crate::seen::When;
use crate::servers::{Servers, To};
use crate::twin::{self, Packed};

/// The most checks that go in one letter.
const CHECKS: usize = 64;
/// How many deadlines each letter of a batch may wait for its turn while the server answers others.
const QUEUED: u32 = 100;
/// The most sets of a batch that are on their way to a cluster at once.
const SIDE_BY_SIDE: usize = 128;

/// Sets that wait for their answers, and where those belong.
struct Group<'g> {
    sets: &'g [Set<'g>],
    packed: SmallVec<[Packed; 1]>,
}

/// How many of these sets may be on their way at once without changing the order of any counter.
fn wave(sets: &[Set<'_>]) -> usize {
    let mut met: HashMap<(&str, &[u8]), bool> = HashMap::new();
    for (index, set) in sets.iter().enumerate().take(SIDE_BY_SIDE) {
        let in_turn = stays_in_turn(set);
        let counters = set.checks().iter().map(|check| (check.limit().name(), check.key()));
        for counter in counters.clone() {
            if met.get(&counter).is_some_and(|others| !(in_turn && *others)) {
                return index;
            }
        }
        met.extend(counters.map(|counter| (counter, in_turn)));
    }
    sets.len().min(SIDE_BY_SIDE)
}

/// Whether a set is one call in the queue of single requests, which keeps its order. A set of several keys
/// may need several calls; a strict one has a queue of its own, as has a large one. A set that does not only
/// take could make an answer of the deny cache to the next one wrong.
fn stays_in_turn(set: &Set<'_>) -> bool {
    let checks = set.checks();
    let same_key = checks.windows(2).all(|pair| matches!(pair, [a, b] if a.key() == b.key()));
    let plain = |check: &Check<'_>| check.scope() == Scope::Cluster && !check.is_strict();
    same_key && checks.len() <= BULK && checks.iter().all(plain) && only_takes(set)
}

impl Redis {
    pub(super) async fn decide_many<'a>(
        &'a self,
        sets: &'a [Set<'a>],
        decisions: &'a mut [Option<Decision>],
        applied: &'a mut Vec<Applied>,
    ) -> Result<(), CheckError> {
        let strict = |set: &Set<'_>| set.checks().iter().any(Check::is_strict);
        if matches!(&*self.servers, Servers::Cluster(_))
            || self.common.has_replicas && sets.iter().any(strict)
        {
            return self.decide_side_by_side(sets, decisions, applied).await;
        }
        let (mut sets, mut decisions) = (sets, decisions);
        // The time that the caller gives for all of them. The store's own deadline is for each call.
        let within = sets.iter().filter_map(Set::within).min();
        let within = within.map(|within| self.common.now() + Duration::from(within));
        while !sets.is_empty() {
            let group = self.group(sets);
            let (together, after) = sets.split_at(group.packed.len().max(1));
            let checks = together.iter().map(|set| set.checks().len()).sum();
            let (own, rest) = decisions.split_at_mut(checks);
            match together {
                [alone] if group.packed.len() < 2 => applied.push(self.decide(alone, own).await?),
                _ => {
                    let until = self.common.until(QUEUED, within);
                    self.decide_group(group, own, applied, until).await?;
                }
            }
            (sets, decisions) = (after, rest);
        }
        Ok(())
    }

    /// Decides each set by itself, many at a time: sets for one server share calls to it. A set waits for
    /// those before it where they could overtake each other on a counter.
    async fn decide_side_by_side<'a>(
        &'a self,
        sets: &'a [Set<'a>],
        decisions: &'a mut [Option<Decision>],
        applied: &'a mut Vec<Applied>,
    ) -> Result<(), CheckError> {
        let (mut sets, mut rest) = (sets, decisions);
        while !sets.is_empty() {
            let (wave, later) = sets.split_at(wave(sets));
            sets = later;
            let mut asked = Vec::with_capacity(wave.len());
            for set in wave {
                let (own, after) = rest.split_at_mut(set.checks().len());
                rest = after;
                asked.push(self.decide(set, own));
            }
            for decided in join_all(asked).await {
                applied.push(decided?);
            }
        }
        Ok(())
    }

    /// The first of these sets that can be asked about in one letter. None if the first one needs
    /// more than a question.
    fn group<'g>(&self, sets: &'g [Set<'g>]) -> Group<'g> {
        let mut packed = SmallVec::new();
        let mut checks = 0;
        for set in sets {
            checks += set.checks().len();
            let simple = matches!(Split::of(set), Split::Cluster) && !twin::is_contradictory(set);
            if !simple || checks > CHECKS {
                break;
            }
            let next = Packed::new(set, &self.common.naming);
            if counters_of(&next).iter().any(|counter| self.common.owed.owes(*counter)) {
                break;
            }
            packed.push(next);
        }
        Group { sets: sets.get(..packed.len()).unwrap_or_default(), packed }
    }

    async fn decide_group(
        &self,
        group: Group<'_>,
        decisions: &mut [Option<Decision>],
        applied: &mut Vec<Applied>,
        until: Instant,
    ) -> Result<(), CheckError> {
        let Group { sets, packed } = group;
        let counters: Vec<_> = packed.iter().map(counters_of).collect();
        // Whom the store need not be asked about is left out of the letter.
        let mut denied = Vec::with_capacity(sets.len());
        let (mut rest, mut only_taken) = (&mut *decisions, true);
        for (set, packed) in sets.iter().zip(&packed) {
            let (own, after) = rest.split_at_mut(set.checks().len());
            // A set before this one may give units back, or charge more than there is.
            only_taken &= only_takes(set);
            denied.push(if set.checks().is_empty() {
                Some(Applied::by_store(Ruling::Admitted, self.common.clock.now()))
            } else if only_taken {
                self.deny(set, packed, own)
            } else {
                None
            });
            rest = after;
        }
        let asked = packed.into_iter().zip(&denied).filter(|(_, denied)| denied.is_none());
        let letter: SmallVec<[Packed; 1]> = asked.map(|(packed, _)| packed).collect();
        let to = To { slot: 0, strict: false };
        let reply =
            if letter.is_empty() { None } else { Some(self.servers.ask(letter, to, until).await) };
        let (mut answers, failure) = match reply {
            Some(Ok(Reply { answers, sent, received, .. })) => {
                (Some((answers.into_iter(), (sent, received))), None)
            }
            Some(Err(failure)) => (None, Some(failure)),
            None => (None, None),
        };
        let mut rest = decisions;
        for ((set, denied), counters) in sets.iter().zip(denied).zip(&counters) {
            let (own, after) = rest.split_at_mut(set.checks().len());
            rest = after;
            if let Some(denied) = denied {
                applied.push(denied);
                continue;
            }
            let explained: Result<Applied, Failure> = match &mut answers {
                Some((answers, (sent, received))) => match answers.next() {
                    Some(answer) => {
                        let when = When { now: answer.now, sent: *sent, received: *received };
                        let mut seeing = Seeing { answer, when, slot: 0, confirmed: true };
                        self.explain(set, &mut seeing, own, counters)
                    }
                    None => Err(self.unanswered()),
                },
                None => Err(failure.clone().unwrap_or_else(|| self.unanswered())),
            };
            applied.push(match explained {
                Ok(applied) => applied,
                Err(failure) => self.without_store(set, own, &failure)?,
            });
        }
        Ok(())
    }
}
