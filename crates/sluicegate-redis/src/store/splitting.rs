//! Sets that are partly this node's own: its memory and the server decide together.
//!
//! The node's part is charged first, because taking it back costs nothing; then the server is
//! asked, and if that refuses, the node's part is given back. So nothing ever has to be given back
//! over the network. A queue of the node is the exception: places behind the last one cannot be given
//! back, so the server is asked first, and its charge is undone if the queue is full. A charge that cannot
//! be refused, and could not be taken back, waits on the node's part until the set stands, so checks of
//! that set do not meet it.
//!
//! A set that the node refuses is not put to the server: limits of a node protect the server from floods. Its
//! answer names the limits of the node alone. A set that the server or a queue of the node refuses names all
//! limits that stand in the way.

use futures_util::future::join_all;
use sluicegate::{Applied, CheckError, Store, fresh_id};
use sluicegate_core::{Ask, Decision, Gate, Ruling, Scope, Set};
use tokio::time::Instant;

use super::Redis;
use super::part::{Indexes, Part, like, like_named, queues, refusing};
use crate::failure::Failure;

/// Whose counts a set is about.
pub(super) enum Split {
    /// All are shared.
    Cluster,
    /// All are this node's.
    Node,
    /// Some are this node's.
    Both(Parts),
}

/// Which checks are whose.
pub(super) struct Parts {
    node: Indexes,
    cluster: Indexes,
}

impl Split {
    pub(super) fn of(set: &Set<'_>) -> Self {
        let checks = set.checks();
        if checks.iter().all(|check| check.scope() == Scope::Cluster) {
            return Self::Cluster;
        }
        let mut parts = Parts { node: Indexes::new(), cluster: Indexes::new() };
        let mut start = 0;
        while start < checks.len() {
            let rest = checks.get(start + 1..).unwrap_or_default();
            let end = start + 1 + rest.iter().take_while(|check| check.is_alternative()).count();
            // Alternatives cannot be asked apart: one that is shared takes the others along.
            let term = checks.get(start..end).unwrap_or_default();
            let own = term.iter().all(|check| check.scope() == Scope::Node);
            if own { &mut parts.node } else { &mut parts.cluster }.extend(start..end);
            start = end;
        }
        if parts.cluster.is_empty() { Self::Node } else { Self::Both(parts) }
    }
}

/// The node's part while the server is asked about the rest: given back unless it comes to stand,
/// also if whoever asked goes away meanwhile.
struct Taken<'a> {
    store: &'a Redis,
    part: Part<'a>,
    is_open: bool,
}

impl Taken<'_> {
    async fn take(&mut self, whole: &Set<'_>) -> Result<Applied, CheckError> {
        let Part { checks, decisions, .. } = &mut self.part;
        self.store.memory.apply(&like(whole, checks), decisions).await
    }

    fn give_back(&mut self) {
        if std::mem::take(&mut self.is_open) {
            self.store.take_back(&mut self.part);
        }
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.give_back();
    }
}

impl Redis {
    /// Decides a set that is partly this node's own.
    pub(super) async fn decide_both(
        &self,
        set: &Set<'_>,
        parts: Parts,
        decisions: &mut [Option<Decision>],
    ) -> Result<Applied, CheckError> {
        if never_refuses(set) {
            return Box::pin(self.decide_apart(set, parts, decisions)).await;
        }
        let part = Part::of(set, parts.node).for_now();
        if !set.is_independent() && part.checks.iter().any(queues) {
            return Box::pin(self.decide_queue_last(set, part, parts.cluster, decisions)).await;
        }
        let mut node = Taken { store: self, part, is_open: true };
        let mut cluster = Part::of(set, parts.cluster);
        let own = node.take(set).await?;
        decisions.fill(None);
        let goes_on =
            own.ruling == Ruling::Admitted || own.ruling == Ruling::Refused && set.is_independent();
        if !goes_on {
            node.is_open = false;
            node.part.hand_over(decisions);
            return Ok(own);
        }
        let shared = match self.ask(&like(set, &cluster.checks), &mut cluster.decisions).await {
            Ok(shared) => shared,
            Err(failure) => {
                // All of it is this node's now, in one step.
                node.give_back();
                return self.without_store(set, decisions, &failure);
            }
        };
        let decided = matches!(shared.ruling, Ruling::Admitted | Ruling::Refused);
        let stands = shared.ruling == Ruling::Admitted || decided && set.is_independent();
        if stands {
            node.is_open = false;
            self.do_waiting_here(set, &mut node.part);
        } else {
            node.give_back();
            if decided {
                self.explain_refused_here(set, &mut node.part);
            }
        }
        if decided {
            node.part.hand_over(decisions);
            cluster.hand_over(decisions);
        }
        // Only of an independent set may either be refused alone.
        let ruling =
            if stands && own.ruling == Ruling::Refused { own.ruling } else { shared.ruling };
        Ok(Applied { ruling, ..shared })
    }

    /// Decides the parts of a set that cannot be refused, one after the other.
    async fn decide_apart(
        &self,
        set: &Set<'_>,
        parts: Parts,
        decisions: &mut [Option<Decision>],
    ) -> Result<Applied, CheckError> {
        let mut node = Part::of(set, parts.node);
        let mut cluster = Part::of(set, parts.cluster);
        let shared = like(set, &cluster.checks);
        let applied = match self.ask(&shared, &mut cluster.decisions).await {
            Ok(applied) => applied,
            Err(failure) => self.without_store(&shared, &mut cluster.decisions, &failure)?,
        };
        self.memory.apply(&like(set, &node.checks), &mut node.decisions).await?;
        decisions.fill(None);
        node.hand_over(decisions);
        cluster.hand_over(decisions);
        Ok(applied)
    }

    /// Decides a set with a queue of this node: the server's part before the node's.
    async fn decide_queue_last<'s>(
        &self,
        set: &Set<'s>,
        mut node: Part<'s>,
        cluster: Indexes,
        decisions: &mut [Option<Decision>],
    ) -> Result<Applied, CheckError> {
        let mut cluster = Part::of(set, cluster);
        let until = self.until(set.within());
        let own = like(set, &cluster.checks);
        let shared = match self.ask_by(&own, &mut cluster.decisions, until).await {
            Ok(shared) => shared,
            Err(failure) => return self.without_store(set, decisions, &failure),
        };
        if shared.ruling == Ruling::Admitted {
            let own = self.memory.apply(&like(set, &node.checks), &mut node.decisions).await?;
            if own.ruling == Ruling::Admitted {
                self.do_waiting_here(set, &mut node);
            } else {
                // The undo is awaited, so that a retry after the refusal does not meet the charge.
                let undone = join_all(self.give_back(&cluster));
                let _ = self.common.in_time(self.common.soon(until), undone).await;
                for decision in cluster.decisions.iter_mut().flatten() {
                    *decision = decision.withdrawn();
                }
                let charged = cluster.decisions.clone();
                match self.explain_refused(set, &mut cluster, until).await {
                    Ok(asked) if asked.ruling == Ruling::Refused => {}
                    Ok(asked) => return Ok(asked),
                    Err(_) => cluster.decisions = charged,
                }
            }
            decisions.fill(None);
            node.hand_over(decisions);
            cluster.hand_over(decisions);
            return Ok(Applied { ruling: own.ruling, ..shared });
        }
        // Refused: how the node's part stands is seen without charging it.
        decisions.fill(None);
        if shared.ruling == Ruling::Refused {
            self.explain_refused_here(set, &mut node);
            node.hand_over(decisions);
            cluster.hand_over(decisions);
        }
        Ok(shared)
    }

    /// Explains the server's part of a set that a queue of this node refuses.
    ///
    /// The set is refused, so that nothing stays charged, and names every limit that stands in the way.
    async fn explain_refused<'s>(
        &self,
        set: &Set<'s>,
        cluster: &mut Part<'s>,
        until: Instant,
    ) -> Result<Applied, Failure> {
        let mut checks = cluster.checks.clone();
        checks.extend(refusing(&cluster.checks));
        cluster.decisions.push(None);
        // Servers of a cluster charge and undo; under the id of the set that would count as done already.
        let refused = like_named(set, &checks, fresh_id());
        let asked = self.ask_by(&refused, &mut cluster.decisions, until).await;
        cluster.decisions.pop();
        asked
    }

    /// Does what has waited on the node's part for the set to stand.
    fn do_waiting_here(&self, set: &Set<'_>, node: &mut Part<'_>) {
        for (index, check) in node.waiting(set) {
            let mut done = [None];
            self.memory.apply_at_once(&Set::one(&check, fresh_id()), &mut done);
            let place = node.indexes.iter().position(|own| *own == index);
            if let (Some(place), [Some(done)]) = (place, done)
                && let Some(decision) = node.decisions.get_mut(place)
            {
                *decision = Some(done);
            }
        }
    }

    /// Gives back what the node's part took.
    fn take_back(&self, node: &mut Part<'_>) {
        for (check, decision) in node.checks.iter().zip(&node.decisions).rev() {
            if let Some(undo) = decision.as_ref().and_then(|taken| check.limit().undo(taken)) {
                self.memory.apply_detached(check.ask(undo));
            }
        }
    }

    /// Explains the node's part of a set that the server refuses.
    fn explain_refused_here(&self, set: &Set<'_>, node: &mut Part<'_>) {
        let mut checks = node.checks.clone();
        checks.extend(refusing(&node.checks));
        node.decisions.push(None);
        self.memory.apply_at_once(&like(set, &checks), &mut node.decisions);
        node.decisions.pop();
    }
}

/// Whether nothing in a set can refuse it, now or at the end of a calendar window.
///
/// Such sets are reports and refunds, with looks beside them.
fn never_refuses(set: &Set<'_>) -> bool {
    set.checks().iter().all(|check| {
        let never = matches!(check.asks(), Ask::Charge(_) | Ask::Refund(_));
        (check.gate() == Gate::Observe || never) && check.period().is_none()
    })
}
