//! Sends sets that arrived together to the server together.

use std::collections::HashMap;
use std::time::Duration;

use futures_util::future::join_all;
use sluicegate::{Applied, Batch, CheckError, Clock as _};
use sluicegate_core::{Check, Decision, Ruling, Scope, Set};
use smallvec::SmallVec;
use tokio::time::Instant;

use super::deny::only_takes;
use super::mixed_scope::ScopeSplit;
use super::{Observation, Redis, counters_of};
use crate::batcher::{BULK, BatchReply};
use crate::deny_cache::ObservedAt;
use crate::error::ServerError;
use crate::script::{self, EncodedSet};
use crate::topology::{SetRoute, Topology};

/// The most checks in one queued request.
const MAX_CHECKS: usize = 64;
/// The number of deadlines that each request of a batch may wait while the server answers others.
const QUEUED: u32 = 100;
/// The most sets of a batch that are in flight to a cluster at once.
const MAX_CONCURRENT: usize = 128;

/// Sets that are sent as one request, and their encoded form.
struct SetGroup<'g> {
    sets: &'g [Set<'g>],
    encoded: SmallVec<[EncodedSet; 1]>,
}

/// How many of these sets may be in flight at once without reordering charges of any counter.
fn wave(sets: &[Set<'_>]) -> usize {
    let mut used: HashMap<(&str, &[u8]), bool> = HashMap::new();
    for (index, set) in sets.iter().enumerate().take(MAX_CONCURRENT) {
        let ordered = is_ordered(set);
        let counters = set.checks().iter().map(|check| (check.limit().name(), check.key()));
        for counter in counters.clone() {
            if used.get(&counter).is_some_and(|others| !(ordered && *others)) {
                return index;
            }
        }
        used.extend(counters.map(|counter| (counter, ordered)));
    }
    sets.len().min(MAX_CONCURRENT)
}

/// Whether a set is one call in the queue of single requests, which keeps its order. A set of
/// several keys may need several calls; a strict set and a large set use other queues. A set that
/// does not only take could make the next answer from the deny cache wrong.
fn is_ordered(set: &Set<'_>) -> bool {
    let checks = set.checks();
    let same_key = checks.windows(2).all(|pair| matches!(pair, [a, b] if a.key() == b.key()));
    let plain = |check: &Check<'_>| check.scope() == Scope::Cluster && !check.is_strict();
    same_key && checks.len() <= BULK && checks.iter().all(plain) && only_takes(set)
}

impl Redis {
    pub(super) async fn decide_batch(&self, batch: &mut Batch<'_>) -> Result<(), CheckError> {
        // The caller's time limit is for all sets. The store's own deadline is for each call.
        let within = batch.sets().iter().filter_map(Set::within).min();
        let gives_up = within.map(|within| self.context.now() + Duration::from(within));
        match batch.undecided() {
            ([], _) => return Ok(()),
            ([set], decisions) => {
                let applied = self.decide(set, decisions, gives_up).await?;
                batch.push(applied);
                return Ok(());
            }
            _ => {}
        }
        let strict = |set: &Set<'_>| set.checks().iter().any(Check::is_strict);
        let one_call = |set: &Set<'_>| matches!(ScopeSplit::of(set), ScopeSplit::Cluster);
        let side_by_side = matches!(&*self.topology, Topology::Cluster(_))
            || self.context.has_replicas && batch.sets().iter().any(strict)
            // The sets of one request do not wait for each other.
            || batch.is_one_request() && !batch.sets().iter().all(one_call);
        // Boxed, so that the future of a single set stays small.
        if side_by_side {
            return Box::pin(self.decide_concurrently(batch, gives_up)).await;
        }
        Box::pin(self.decide_in_groups(batch, gives_up)).await
    }

    /// Decides sets in order, as many in one call as it can take.
    async fn decide_in_groups(
        &self,
        batch: &mut Batch<'_>,
        gives_up: Option<Instant>,
    ) -> Result<(), CheckError> {
        let deadlines = if batch.is_one_request() { super::QUEUED } else { QUEUED };
        while let (sets @ [first, ..], decisions) = batch.undecided() {
            let group = self.group(sets);
            if group.encoded.len() < 2 {
                let own = &mut decisions[..first.checks().len()];
                let applied = self.decide(first, own, gives_up).await?;
                batch.push(applied);
                continue;
            }
            let until = self.context.until(deadlines, gives_up);
            let (applied, failed) = self.decide_group(group, decisions, until).await;
            applied.into_iter().for_each(|applied| batch.push(applied));
            failed.map_or(Ok(()), Err)?;
        }
        Ok(())
    }

    /// Decides each set by itself, many concurrently: sets for one server share calls to it. A set
    /// waits for earlier ones where they could overtake each other on a counter.
    async fn decide_concurrently(
        &self,
        batch: &mut Batch<'_>,
        gives_up: Option<Instant>,
    ) -> Result<(), CheckError> {
        while let (sets @ [_, ..], mut rest) = batch.undecided() {
            let wave = &sets[..wave(sets)];
            let mut futures = Vec::with_capacity(wave.len());
            for set in wave {
                let (own, after) = rest.split_at_mut(set.checks().len());
                rest = after;
                futures.push(self.decide(set, own, gives_up));
            }
            for decided in join_all(futures).await {
                batch.push(decided?);
            }
        }
        Ok(())
    }

    /// Takes the leading sets that one request can decide. Empty if the first set needs more than
    /// that.
    fn group<'g>(&self, sets: &'g [Set<'g>]) -> SetGroup<'g> {
        let mut encoded = SmallVec::new();
        let mut checks = 0;
        for set in sets {
            checks += set.checks().len();
            let simple = matches!(ScopeSplit::of(set), ScopeSplit::Cluster)
                && !script::is_contradictory(set);
            if !simple || checks > MAX_CHECKS {
                break;
            }
            let next = EncodedSet::new(set, &self.context.key_space);
            if counters_of(&next).iter().any(|counter| self.context.pending.contains(*counter)) {
                break;
            }
            encoded.push(next);
        }
        SetGroup { sets: &sets[..encoded.len()], encoded }
    }

    /// Returns the outcomes of the sets up to the first that could not be decided, and its error.
    async fn decide_group(
        &self,
        group: SetGroup<'_>,
        decisions: &mut [Option<Decision>],
        until: Instant,
    ) -> (SmallVec<[Applied; 2]>, Option<CheckError>) {
        let SetGroup { sets, encoded } = group;
        let counters: Vec<_> = encoded.iter().map(counters_of).collect();
        // Sets that the deny cache refuses are left out of the request.
        let mut denied = Vec::with_capacity(sets.len());
        let (mut rest, mut only_taken) = (&mut *decisions, true);
        for (set, encoded) in sets.iter().zip(&encoded) {
            let (own, after) = rest.split_at_mut(set.checks().len());
            // An earlier set may refund units, or charge more than the limit.
            only_taken &= only_takes(set);
            denied.push(if set.checks().is_empty() {
                Some(Applied::by_store(Ruling::Admitted, self.context.clock.now()))
            } else if only_taken {
                self.deny(set, encoded, own)
            } else {
                None
            });
            rest = after;
        }
        let remaining = encoded.into_iter().zip(&denied).filter(|(_, denied)| denied.is_none());
        let request: SmallVec<[EncodedSet; 1]> = remaining.map(|(encoded, _)| encoded).collect();
        let to = SetRoute { slot: 0, strict: false };
        let reply = if request.is_empty() {
            None
        } else {
            Some(self.topology.submit(request, to, until).await)
        };
        let (mut answers, failure) = match reply {
            Some(Ok(BatchReply { answers, sent, received, .. })) => {
                (Some((answers.into_iter(), (sent, received))), None)
            }
            Some(Err(failure)) => (None, Some(failure)),
            None => (None, None),
        };
        let (mut rest, mut applied) = (decisions, SmallVec::new());
        for ((set, denied), counters) in sets.iter().zip(denied).zip(&counters) {
            let (own, after) = rest.split_at_mut(set.checks().len());
            rest = after;
            if let Some(denied) = denied {
                applied.push(denied);
                continue;
            }
            let explained: Result<Applied, ServerError> = match &mut answers {
                Some((answers, (sent, received))) => match answers.next() {
                    Some(answer) => {
                        let when = ObservedAt { now: answer.now, sent: *sent, received: *received };
                        let mut observation =
                            Observation { answer, when, slot: 0, confirmed: true };
                        self.explain(set, &mut observation, own, counters)
                    }
                    None => Err(self.unanswered()),
                },
                None => Err(failure.clone().unwrap_or_else(|| self.unanswered())),
            };
            let decided = explained.or_else(|failure| self.without_store(set, own, &failure));
            match decided {
                Ok(outcome) => applied.push(outcome),
                Err(error) => return (applied, Some(error)),
            }
        }
        (applied, None)
    }
}
