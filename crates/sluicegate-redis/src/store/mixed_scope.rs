//! Sets that are partly this node's own: its memory and the server decide together.
//!
//! The node's subset is charged first, because undoing it costs nothing; then the server decides,
//! and if it refuses, the node's subset is refunded. So no refund over the network is needed. A
//! queue of the node is the exception: places behind the last one cannot be refunded, so the server
//! decides first, and its charge is undone if the queue is full. A charge that cannot be refused,
//! and could not be undone, is deferred on the node's side until the set commits, so checks of that
//! set do not see it.
//!
//! A set that the node refuses is not sent to the server: limits of a node protect the server from
//! floods. Its answer names only the limits of the node. A set that the server or a queue of the
//! node refuses names all limits that refuse it.

use futures_util::future::join_all;
use sluicegate::{Applied, CheckError, Store, next_set_id};
use sluicegate_core::{Decision, Operation, Ruling, Scope, Set};
use tokio::time::Instant;

use super::subset::{Indexes, Subset, refusing, takes_queue_place, with_id};
use super::{QUEUED, Redis};
use crate::error::ServerError;

/// The scopes of the checks of a set.
pub(super) enum ScopeSplit {
    /// All checks are shared.
    Cluster,
    /// All checks are this node's own.
    Node,
    /// Some checks are this node's own.
    Both(ChecksByScope),
}

/// The checks of a set by scope.
pub(super) struct ChecksByScope {
    node: Indexes,
    cluster: Indexes,
}

impl ScopeSplit {
    pub(super) fn of(set: &Set<'_>) -> Self {
        let checks = set.checks();
        if checks.iter().all(|check| check.scope() == Scope::Cluster) {
            return Self::Cluster;
        }
        let mut subsets = ChecksByScope { node: Indexes::new(), cluster: Indexes::new() };
        let mut start = 0;
        for term in set.terms() {
            let end = start + term.len();
            // Alternatives have to be decided together: a shared one makes the whole term shared.
            let own = term.iter().all(|check| check.scope() == Scope::Node);
            if own { &mut subsets.node } else { &mut subsets.cluster }.extend(start..end);
            start = end;
        }
        if subsets.cluster.is_empty() { Self::Node } else { Self::Both(subsets) }
    }
}

/// The node's subset while the server decides the rest. Refunded on drop unless the set commits,
/// because the caller may be dropped meanwhile.
struct NodeCharge<'a> {
    store: &'a Redis,
    subset: Subset<'a>,
    is_open: bool,
}

impl NodeCharge<'_> {
    fn take(&mut self, whole: &Set<'_>) -> Applied {
        let Subset { checks, decisions, .. } = &mut self.subset;
        self.store.memory.decide(&whole.with_checks(checks), decisions)
    }

    fn refund(&mut self) {
        if std::mem::take(&mut self.is_open) {
            self.store.refund_node(&mut self.subset);
        }
    }
}

impl Drop for NodeCharge<'_> {
    fn drop(&mut self) {
        self.refund();
    }
}

impl Redis {
    /// Decides a set that is partly this node's own.
    pub(super) async fn decide_both(
        &self,
        set: &Set<'_>,
        subsets: ChecksByScope,
        decisions: &mut [Option<Decision>],
        gives_up: Option<Instant>,
    ) -> Result<Applied, CheckError> {
        if needs_no_rollback(set) {
            return Box::pin(self.decide_separately(set, subsets, decisions, gives_up)).await;
        }
        let subset = Subset::of(set, subsets.node).without_deferred();
        if !set.is_independent() && subset.checks.iter().any(takes_queue_place) {
            return Box::pin(self.decide_queue_last(
                set,
                subset,
                subsets.cluster,
                decisions,
                gives_up,
            ))
            .await;
        }
        let mut node = NodeCharge { store: self, subset, is_open: true };
        let mut cluster = Subset::of(set, subsets.cluster);
        let own = node.take(set);
        decisions.fill(None);
        let continues =
            own.ruling == Ruling::Admitted || own.ruling == Ruling::Refused && set.is_independent();
        if !continues {
            node.is_open = false;
            node.subset.copy_decisions(decisions);
            return Ok(own);
        }
        let shared = match self
            .apply_shared(&set.with_checks(&cluster.checks), &mut cluster.decisions, gives_up)
            .await
        {
            Ok(shared) => shared,
            Err(failure) => {
                // The node now decides the whole set in one step.
                node.refund();
                return self.without_store(set, decisions, &failure);
            }
        };
        let decided = matches!(shared.ruling, Ruling::Admitted | Ruling::Refused);
        let commits = shared.ruling == Ruling::Admitted || decided && set.is_independent();
        if commits {
            node.is_open = false;
            self.run_deferred(set, &mut node.subset);
        } else {
            node.refund();
            if decided {
                self.explain_refused_node(set, &mut node.subset);
            }
        }
        if decided {
            node.subset.copy_decisions(decisions);
            cluster.copy_decisions(decisions);
        }
        // Only in an independent set may one subset be refused alone.
        let ruling =
            if commits && own.ruling == Ruling::Refused { own.ruling } else { shared.ruling };
        Ok(Applied { ruling, ..shared })
    }

    /// Decides the subsets of a set that needs no rollback, one after the other.
    async fn decide_separately(
        &self,
        set: &Set<'_>,
        subsets: ChecksByScope,
        decisions: &mut [Option<Decision>],
        gives_up: Option<Instant>,
    ) -> Result<Applied, CheckError> {
        let mut node = Subset::of(set, subsets.node);
        let mut cluster = Subset::of(set, subsets.cluster);
        let shared = set.with_checks(&cluster.checks);
        let applied = match self.apply_shared(&shared, &mut cluster.decisions, gives_up).await {
            Ok(applied) => applied,
            Err(failure) => self.without_store(&shared, &mut cluster.decisions, &failure)?,
        };
        let own = self.memory.decide(&set.with_checks(&node.checks), &mut node.decisions);
        decisions.fill(None);
        node.copy_decisions(decisions);
        cluster.copy_decisions(decisions);
        let refused = own.ruling == Ruling::Refused;
        Ok(Applied { ruling: if refused { own.ruling } else { applied.ruling }, ..applied })
    }

    /// Decides a set with a queue of this node: the server's subset before the node's.
    async fn decide_queue_last<'s>(
        &self,
        set: &Set<'s>,
        mut node: Subset<'s>,
        cluster: Indexes,
        decisions: &mut [Option<Decision>],
        gives_up: Option<Instant>,
    ) -> Result<Applied, CheckError> {
        let mut cluster = Subset::of(set, cluster);
        let until = self.context.until(QUEUED, gives_up);
        let own = set.with_checks(&cluster.checks);
        let shared = match self.apply_until(&own, &mut cluster.decisions, until).await {
            Ok(shared) => shared,
            Err(failure) => return self.without_store(set, decisions, &failure),
        };
        if shared.ruling == Ruling::Admitted {
            let own = self.memory.decide(&set.with_checks(&node.checks), &mut node.decisions);
            if own.ruling == Ruling::Admitted {
                self.run_deferred(set, &mut node);
            } else {
                // The undo is awaited, so that a retry after the refusal does not meet the charge.
                let undone = join_all(self.refund_subset(&cluster));
                let _ = self.context.in_time(self.context.soon(until), undone).await;
                for decision in cluster.decisions.iter_mut().flatten() {
                    *decision = decision.withdrawn();
                }
                let charged = cluster.decisions.clone();
                match self.explain_refused(set, &mut cluster, until).await {
                    Ok(explained) if explained.ruling == Ruling::Refused => {}
                    Ok(explained) => return Ok(explained),
                    Err(_) => cluster.decisions = charged,
                }
            }
            decisions.fill(None);
            node.copy_decisions(decisions);
            cluster.copy_decisions(decisions);
            return Ok(Applied { ruling: own.ruling, ..shared });
        }
        // Refused: the node's subset is evaluated without charging it.
        decisions.fill(None);
        if shared.ruling == Ruling::Refused {
            self.explain_refused_node(set, &mut node);
            node.copy_decisions(decisions);
            cluster.copy_decisions(decisions);
        }
        Ok(shared)
    }

    /// Explains the server's subset of a set that a queue of this node refuses.
    ///
    /// The subset is sent in a set that is refused, so that nothing stays charged and the answer
    /// names every limit that refuses it.
    async fn explain_refused<'s>(
        &self,
        set: &Set<'s>,
        cluster: &mut Subset<'s>,
        until: Instant,
    ) -> Result<Applied, ServerError> {
        let mut checks = cluster.checks.clone();
        checks.extend(refusing(&cluster.checks));
        cluster.decisions.push(None);
        // Servers of a cluster charge and undo, which under the id of the set would count as
        // already done.
        let refused = with_id(set, &checks, next_set_id());
        let explained = self.apply_until(&refused, &mut cluster.decisions, until).await;
        cluster.decisions.pop();
        explained
    }

    /// Runs the deferred operations of the node's subset after the set has committed.
    fn run_deferred(&self, set: &Set<'_>, node: &mut Subset<'_>) {
        for (index, check) in node.deferred(set) {
            let mut done = [None];
            self.memory.decide(&Set::one(&check, next_set_id()), &mut done);
            let place = node.indexes.iter().position(|own| *own == index);
            if let (Some(place), [Some(done)]) = (place, done) {
                node.decisions[place] = Some(done);
            }
        }
    }

    /// Refunds the charges of the node's subset.
    fn refund_node(&self, node: &mut Subset<'_>) {
        for (check, decision) in node.checks.iter().zip(&node.decisions).rev() {
            if let Some(undo) = decision.as_ref().and_then(|taken| check.limit().undo(taken)) {
                self.memory.apply_detached(check.with_operation(undo));
            }
        }
    }

    /// Explains the node's subset of a set that the server refuses.
    fn explain_refused_node(&self, set: &Set<'_>, node: &mut Subset<'_>) {
        let mut checks = node.checks.clone();
        checks.extend(refusing(&node.checks));
        node.decisions.push(None);
        self.memory.decide(&set.with_checks(&checks), &mut node.decisions);
        node.decisions.pop();
    }
}

/// Whether no check of a set can make the others be undone, now or at the end of a calendar window.
///
/// Such sets are independent, or contain only reports and refunds.
fn needs_no_rollback(set: &Set<'_>) -> bool {
    set.checks().iter().all(|check| {
        let never = matches!(check.operation(), Operation::Charge(_) | Operation::Refund(_));
        (never || set.is_independent()) && check.period().is_none()
    })
}
