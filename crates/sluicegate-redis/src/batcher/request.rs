//! A queued request: the sets of one caller, their destination and their answers.

use sluicegate_core::Time;
use smallvec::SmallVec;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::{BatchReply, BatchResult, RejectedSets, needs_full_script};
use crate::error::ServerError;
use crate::script::{EncodedSet, SetReply};

/// The sets of one caller on their way to the server, and the channel for their answers.
#[derive(Debug)]
pub(crate) struct QueuedRequest {
    sets: SmallVec<[EncodedSet; 1]>,
    pub(super) answers: SmallVec<[Option<SetReply>; 1]>,
    /// When the first of them was sent.
    sent: Option<Time>,
    sender: Option<oneshot::Sender<BatchResult>>,
    /// When the caller stops waiting.
    pub(super) until: Instant,
    /// Identifies the request within its queue.
    pub(super) number: u64,
    /// Only requests with the same destination can share a call.
    pub(super) to: Destination,
}

/// Where a request goes on its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Destination {
    /// The slot of a cluster; 0 for all requests to a server outside of a cluster.
    pub(super) slot: u16,
    /// Whether the slot is being migrated to the server, which then needs `ASKING`.
    pub(super) asking: bool,
}

impl QueuedRequest {
    pub(crate) fn new(sets: SmallVec<[EncodedSet; 1]>, until: Instant) -> Self {
        let answers = sets.iter().map(|_| None).collect();
        let to = Destination { slot: 0, asking: false };
        Self { sets, answers, sent: None, sender: None, until, number: 0, to }
    }

    /// The same request, with sets in a slot of a cluster.
    pub(crate) fn in_slot(self, slot: u16, asking: bool) -> Self {
        Self { to: Destination { slot, asking }, ..self }
    }

    pub(super) fn with_sender(self, sender: oneshot::Sender<BatchResult>) -> Self {
        Self { sender: Some(sender), ..self }
    }

    /// Whether the caller still waits, or there is none to wait.
    pub(super) fn is_wanted(&self) -> bool {
        !self.sender.as_ref().is_some_and(oneshot::Sender::is_closed)
    }

    pub(super) fn checks(&self) -> usize {
        self.sets.iter().map(EncodedSet::checks).sum()
    }

    /// Whether it may share a call with requests for other slots. A request that was returned from
    /// such a call goes alone, so that the server answers with a redirect.
    pub(super) fn can_cross_slots(&self) -> bool {
        !self.to.asking && matches!(&*self.sets, [set] if set.is_plain())
    }

    /// Restricts the request to calls for its own slot from now on.
    pub(super) fn keep_to_slot(&mut self) {
        for set in &mut self.sets {
            set.make_full();
        }
    }

    /// The sets without an answer so far.
    pub(super) fn unanswered(&self) -> impl Iterator<Item = &EncodedSet> {
        let sets = self.sets.iter().zip(&self.answers);
        sets.filter(|(_, answer)| answer.is_none()).map(|(set, _)| set)
    }

    /// Takes the answers to its sets. Returns whether all sets are answered.
    pub(super) fn take(
        &mut self,
        answers: &mut impl Iterator<Item = SetReply>,
        sent: Time,
    ) -> bool {
        self.sent.get_or_insert(sent);
        let mut complete = true;
        let open = self.sets.iter_mut().zip(&mut self.answers);
        for (set, place) in open.filter(|(_, place)| place.is_none()) {
            match answers.next() {
                Some(answer) if !needs_full_script(&answer) => *place = Some(answer),
                _ => {
                    set.make_full();
                    complete = false;
                }
            }
        }
        complete
    }

    pub(super) fn finish(self, received: Time, confirmed: bool) {
        if let Some(sender) = self.sender {
            let sent = self.sent.unwrap_or(received);
            let answers = self.answers.into_iter().flatten().collect();
            // The caller may have gone.
            let _ = sender.send(Ok(BatchReply { answers, sent, received, confirmed }));
        }
    }

    pub(super) fn fail(self, failure: &ServerError) {
        if let Some(sender) = self.sender {
            // A partially applied request is not retried, because its sets may have been charged.
            let untouched = self.answers.iter().all(Option::is_none);
            let sets = if untouched { self.sets.into_vec() } else { Vec::new() };
            let _ = sender.send(Err(RejectedSets { failure: failure.clone(), sets }));
        }
    }
}
