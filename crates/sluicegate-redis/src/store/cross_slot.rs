//! Sets whose counters are on several servers of a cluster: each server decides a subset.
//!
//! The subsets are charged concurrently. If one is refused, the charges of the others are refunded,
//! each once; so never too much is admitted, and for a moment perhaps too little. If a set contains
//! an operation that cannot be undone, such as a refund or a place in a queue, or has alternatives
//! in several slots, all its counters are probed first, and it is sent to the servers only if it
//! would be admitted. If a server does not answer, the checks of its subset follow their
//! `on_store_error`, after all others have admitted theirs.

mod partition;
mod probe;
mod transaction;

use futures_util::future::join_all;
use sluicegate::Applied;
use sluicegate_core::{Check, Decision, Receipt, Ruling, Set, State, Time};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use self::partition::{Partition, SlotSubset};
use self::transaction::Transaction;
use super::subset::{Subset, is_final, takes_queue_place, with_id};
use super::{Redis, counters_of, may_charge, not_replicated};
use crate::error::ServerError;
use crate::script::EncodedSet;

/// Ids reserved for the checks of a subset, and for the subsets of a round. A set never has more.
const CHECKS: usize = 64;

/// A subset after its call.
struct SubsetOutcome<'a> {
    subset: RefundGuard<'a>,
    terms: Vec<usize>,
    /// The states of its counters before the call.
    before: Vec<State>,
    outcome: Result<Applied, ServerError>,
    /// Whether a replica has confirmed the write, where one is required.
    confirmed: bool,
}

/// Refunds a subset on drop, unless it was taken over, because the caller may be dropped while
/// other subsets are still in flight.
struct RefundGuard<'a> {
    store: &'a Redis,
    subset: Option<Subset<'a>>,
}

impl<'a> RefundGuard<'a> {
    fn take(mut self) -> Subset<'a> {
        self.subset.take().unwrap_or_else(Subset::nothing)
    }
}

impl Drop for RefundGuard<'_> {
    fn drop(&mut self) {
        if let Some(subset) = &self.subset {
            drop(self.store.refund_subset(subset));
        }
    }
}

/// The progress of a set through its rounds.
struct Progress<'a> {
    /// The last answer, with the latest time of all servers.
    last: Applied,
    /// Whether a subset was refused.
    refused: bool,
    /// Number of rounds of calls.
    rounds: usize,
    /// Checks that no server decided, or that no replica confirmed, and why.
    unanswered: Vec<(usize, Check<'a>, ServerError)>,
}

impl Redis {
    /// Decides a set on all servers that have its counters.
    pub(super) async fn apply_cross_slot(
        &self,
        set: &Set<'_>,
        encoded: &EncodedSet,
        decisions: &mut [Option<Decision>],
        until: Instant,
    ) -> Result<Applied, ServerError> {
        decisions.fill(None);
        let slot = |index| self.topology.slot(&self.context, encoded.counter(index));
        let mut terms = Partition::of(set, slot);
        if set.is_independent() && terms.are_split() {
            return Box::pin(self.apply_each_term(set, decisions, until)).await;
        }
        let mut transaction = Transaction::of(self, set);
        self.carry_over_tiers(set, &terms, until).await;
        if !set.is_independent()
            && (terms.are_split()
                || set.checks().iter().any(|it| is_final(it) || takes_queue_place(it)))
            && let Some(now) = self.probe(set, &terms, &mut transaction, until).await
            && let Some((ruling, after)) = transaction.explain(set, now, decisions)
        {
            if ruling != Ruling::Admitted {
                self.repair(set, &terms, &transaction, (&after, &answered(decisions)), until).await;
                return Ok(Applied::by_store(ruling, now));
            }
            terms.start_with_admitting(decisions);
        }
        decisions.fill(None);
        let progress = self.run_rounds(set, &mut terms, &mut transaction, until).await;
        if !matches!(progress.last.ruling, Ruling::Admitted | Ruling::Refused) {
            // The whole set has to be decided again at another time.
            transaction.refund_within(until).await;
            return Ok(progress.last);
        }
        if progress.refused && !set.is_independent() {
            transaction.refund_within(until).await;
            self.explain_refusal(
                set,
                &terms,
                &mut transaction,
                progress.last.now,
                decisions,
                until,
            )
            .await;
            return Ok(Applied { ruling: Ruling::Refused, ..progress.last });
        }
        self.commit(set, &terms, transaction, progress, decisions, until).await
    }

    /// Sends all terms, and again where an alternative is in another slot.
    async fn run_rounds<'a>(
        &'a self,
        set: &Set<'a>,
        terms: &mut Partition,
        transaction: &mut Transaction<'a>,
        until: Instant,
    ) -> Progress<'a> {
        let last = Applied::by_store(Ruling::Admitted, Time::EPOCH);
        let mut progress = Progress { last, refused: false, rounds: 0, unanswered: Vec::new() };
        let mut pending = terms.all();
        while !pending.is_empty() && (!progress.refused || set.is_independent()) {
            let subsets = terms.next_subsets(set, &pending).into_iter().enumerate();
            let first = progress.rounds * CHECKS;
            let ask = |(number, subset)| self.send_subset(set, subset, first + number, until);
            let outcomes = join_all(subsets.map(ask)).await;
            pending.clear();
            progress.rounds += 1;
            for SubsetOutcome { subset, terms: own, before, outcome, confirmed } in outcomes {
                let subset = subset.take();
                let mut miss = |subset: &Subset<'a>, failure: &ServerError| {
                    let checks = subset.indexes.iter().zip(&subset.checks);
                    let missed = checks.map(|(index, check)| (*index, *check, failure.clone()));
                    progress.unanswered.extend(missed);
                };
                let applied = match outcome {
                    Ok(applied) => applied,
                    Err(failure) => {
                        miss(&subset, &failure);
                        continue;
                    }
                };
                if !confirmed && may_charge(set, applied.ruling) {
                    let failure = not_replicated();
                    self.context.count(&failure);
                    miss(&subset, &failure);
                    transaction.subsets.push((subset, true));
                    continue;
                }
                let now = applied.now.max(progress.last.now);
                if matches!(progress.last.ruling, Ruling::Admitted | Ruling::Refused) {
                    progress.last = Applied { now, ..applied };
                }
                transaction.note(set, &subset, before);
                let charged = may_charge(set, applied.ruling);
                for number in own {
                    let admits = terms.admits(number, &subset);
                    if terms.advance(number, &subset) || !charged && admits {
                        pending.push(number);
                    } else {
                        progress.refused |= !admits;
                    }
                }
                transaction.subsets.push((subset, charged));
            }
            if !matches!(progress.last.ruling, Ruling::Admitted | Ruling::Refused) {
                break;
            }
        }
        progress
    }

    /// Explains a refused set as if one server had seen all of it, if all states are known.
    async fn explain_refusal(
        &self,
        set: &Set<'_>,
        terms: &Partition,
        transaction: &mut Transaction<'_>,
        now: Time,
        decisions: &mut [Option<Decision>],
        until: Instant,
    ) {
        self.probe(set, terms, transaction, until).await;
        if let Some((Ruling::Refused, after)) = transaction.explain(set, now, decisions) {
            self.repair(set, terms, transaction, (&after, &answered(decisions)), until).await;
        } else {
            // Not all states are known, or the servers' clocks differ slightly.
            decisions.fill(None);
            transaction.copy_decisions(decisions);
        }
    }

    /// Commits a set that all answering servers admitted; the remaining checks use their fallback.
    async fn commit(
        &self,
        set: &Set<'_>,
        terms: &Partition,
        mut transaction: Transaction<'_>,
        progress: Progress<'_>,
        decisions: &mut [Option<Decision>],
        until: Instant,
    ) -> Result<Applied, ServerError> {
        let ruling = if progress.refused { Ruling::Refused } else { Ruling::Admitted };
        let mut applied = Applied { ruling, ..progress.last };
        transaction.copy_decisions(decisions);
        if !progress.unanswered.is_empty() {
            let decided = self.apply_fallback(set, progress.unanswered, decisions)?;
            let nobody_answered = transaction.subsets.is_empty();
            let now = if nobody_answered { decided.now } else { applied.now };
            applied = Applied { by: decided.by, now, ..applied };
            if decided.ruling != Ruling::Admitted {
                applied.ruling = decided.ruling;
                if !set.is_independent() || decided.ruling != Ruling::Refused {
                    transaction.refund_within(until).await;
                    return Ok(applied);
                }
                transaction.refund_refused(decisions);
            }
        }
        transaction.is_open = false;
        if applied.ruling == Ruling::Admitted
            && (progress.rounds > 1 || !transaction.probed.is_empty())
        {
            let (after, skipped) = transaction.explain_skipped(set, applied.now, decisions);
            self.repair(set, terms, &transaction, (&after, &skipped), until).await;
        }
        Ok(applied)
    }

    /// Decides the checks of servers that did not answer by their `on_store_error`, in one step.
    fn apply_fallback(
        &self,
        set: &Set<'_>,
        mut unanswered: Vec<(usize, Check<'_>, ServerError)>,
        decisions: &mut [Option<Decision>],
    ) -> Result<Applied, ServerError> {
        unanswered.sort_by_key(|(index, ..)| *index);
        let checks: Vec<Check<'_>> = unanswered.iter().map(|(_, check, _)| *check).collect();
        let mut own: Vec<Option<Decision>> = vec![None; checks.len()];
        let class_of = |place: usize| unanswered[place].2.class;
        let first = unanswered[0].2.clone();
        let decided = self.without_servers(&set.with_checks(&checks), &mut own, &first, class_of);
        for ((index, ..), decision) in unanswered.iter().zip(own) {
            decisions[*index] = decision;
        }
        decided.map_err(|_| first)
    }

    /// Decides the terms of an independent set one after the other, each as a set of its own.
    async fn apply_each_term(
        &self,
        set: &Set<'_>,
        decisions: &mut [Option<Decision>],
        until: Instant,
    ) -> Result<Applied, ServerError> {
        let mut whole = Applied::by_store(Ruling::Admitted, Time::EPOCH);
        let mut outcomes: Vec<Subset<'_>> = Vec::new();
        for (number, indexes) in partition::whole(set).into_iter().enumerate() {
            let mut subset = Subset::of(set, indexes);
            let id = set.id().of_check(number * CHECKS);
            let own = Set::all(&subset.checks, id).answered_within(set.within());
            let applied = match self.apply_until(&own, &mut subset.decisions, until).await {
                Ok(applied) => applied,
                Err(failure) => self
                    .without_store(&own, &mut subset.decisions, &failure)
                    .map_err(|_| failure.clone())?,
            };
            if !matches!(applied.ruling, Ruling::Admitted | Ruling::Refused) {
                // The whole set will be decided again at another time.
                for subset in &outcomes {
                    drop(self.refund_subset(subset));
                }
                decisions.fill(None);
                return Ok(applied);
            }
            subset.copy_decisions(decisions);
            let ruling =
                if applied.ruling == Ruling::Admitted { whole.ruling } else { applied.ruling };
            whole = Applied { ruling, ..applied };
            outcomes.push(subset);
        }
        Ok(whole)
    }

    /// Sends one subset to the server of its slot.
    async fn send_subset<'a>(
        &'a self,
        whole: &Set<'_>,
        in_slot: SlotSubset<'a>,
        number: usize,
        until: Instant,
    ) -> SubsetOutcome<'a> {
        let SlotSubset { slot, mut subset, terms } = in_slot;
        // Each subset needs charge ids of its own.
        let id = whole.id().of_check(number * CHECKS);
        let own = with_id(whole, &subset.checks, id);
        let encoded = EncodedSet::new(&own, &self.context.key_space);
        let counters = counters_of(&encoded);
        let (mut before, mut confirmed) = (Vec::new(), true);
        let outcome = match self.observe(&own, encoded, slot, until).await {
            Ok(mut observation) => {
                before.extend(observation.answer.states.iter().cloned());
                confirmed = observation.confirmed;
                self.explain(&own, &mut observation, &mut subset.decisions, &counters)
            }
            Err(failure) => Err(failure),
        };
        SubsetOutcome {
            subset: RefundGuard { store: self, subset: Some(subset) },
            terms,
            before,
            outcome,
            confirmed,
        }
    }

    /// Undoes the charges of a subset, the last one first, because a queue only releases its last
    /// place.
    pub(super) fn refund_subset(&self, subset: &Subset<'_>) -> Vec<JoinHandle<()>> {
        let charges = subset.checks.iter().zip(&subset.decisions).rev();
        let undone = charges.filter_map(|(check, decision)| {
            let decision = decision.as_ref()?;
            let undo = check.with_operation(check.limit().undo(decision)?).alone();
            self.send_detached(&undo, decision.receipt().map_or(0, Receipt::units))
        });
        undone.collect()
    }
}

/// The checks that have a decision.
fn answered(decisions: &[Option<Decision>]) -> Vec<usize> {
    let decisions = decisions.iter().enumerate();
    decisions.filter_map(|(index, decision)| decision.map(|_| index)).collect()
}
