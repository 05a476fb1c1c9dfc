//! Queued requests that share one call, and calls that are sent together.

use redis::aio::MultiplexedConnection;
use redis::{Pipeline, Value};
use sluicegate_core::Time;
use smallvec::SmallVec;

use super::request::QueuedRequest;
use crate::error::{ErrorKind, ServerError};
use crate::script::{ScriptCall, ScriptRef};

/// Requests for one destination, their call, and its reply.
pub(super) struct CallGroup {
    pub(super) requests: Vec<QueuedRequest>,
    pub(super) call: ScriptCall,
    /// Identifies the reply.
    pub(super) tag: u64,
    /// How the call refers to its script.
    pub(super) script_ref: ScriptRef,
    pub(super) reply: Result<Value, ServerError>,
    asking: bool,
}

impl CallGroup {
    /// Groups requests into calls: one call if all have the same destination. Otherwise plain
    /// requests share one call across slots, if the server supports `cross_slot` calls, and the
    /// others get one call per slot.
    pub(super) fn of_all(requests: Vec<QueuedRequest>, cross_slot: bool) -> SmallVec<[Self; 1]> {
        let mut groups = SmallVec::new();
        if requests.windows(2).all(|pair| matches!(pair, [a, b] if a.to == b.to)) {
            groups.extend(Self::to_one_slot(requests));
            return groups;
        }
        let (crossing, mut others) =
            if cross_slot { split(requests) } else { (Vec::new(), requests) };
        if !crossing.is_empty() {
            let call = ScriptCall::cross_slot(crossing.iter().flat_map(QueuedRequest::unanswered));
            groups.push(Self::new(crossing, call, false));
        }
        others.sort_by_key(|request| request.to);
        while let Some(to) = others.last().map(|last| last.to) {
            let start = others.partition_point(|request| request.to < to);
            groups.extend(Self::to_one_slot(others.split_off(start)));
        }
        groups
    }

    fn to_one_slot(requests: Vec<QueuedRequest>) -> Option<Self> {
        let asking = requests.first()?.to.asking;
        let call = ScriptCall::of(requests.iter().flat_map(QueuedRequest::unanswered));
        Some(Self::new(requests, call, asking))
    }

    fn new(requests: Vec<QueuedRequest>, call: ScriptCall, asking: bool) -> Self {
        let reply = Err(ServerError::new(ErrorKind::NoScript, "not sent yet"));
        Self { requests, call, tag: 0, script_ref: ScriptRef::Text, reply, asking }
    }

    /// Whether the server lacks the script, so that nothing was executed.
    pub(super) fn lacks_script(&self) -> bool {
        self.reply.as_ref().is_err_and(|failure| failure.class == ErrorKind::NoScript)
    }
}

/// Splits requests into those that may cross slots and the others. Requests for one slot keep their
/// order: if one of them has to be sent by slot, all of that slot are.
fn split(requests: Vec<QueuedRequest>) -> (Vec<QueuedRequest>, Vec<QueuedRequest>) {
    let by_slot = requests.iter().filter(|request| !request.can_cross_slots());
    let by_slot: SmallVec<[u16; 8]> = by_slot.map(|request| request.to.slot).collect();
    if by_slot.is_empty() {
        // The usual case, returned early because requests are large and expensive to move.
        return (requests, Vec::new());
    }
    requests.into_iter().partition(|request| !by_slot.contains(&request.to.slot))
}

/// Sends all calls without a reply in one pipeline and records the replies. Errors that the server
/// returns count as replies.
pub(super) async fn send(
    connection: &mut MultiplexedConnection,
    groups: &mut [CallGroup],
    now: Option<Time>,
) -> Result<(), ServerError> {
    if let [alone] = groups
        && !alone.asking
    {
        let command = alone.call.command(alone.tag, now, alone.script_ref);
        let reply = connection.send_packed_command(&command).await?;
        alone.reply = reply.extract_error().map_err(ServerError::from);
        return Ok(());
    }
    let mut pipeline = Pipeline::with_capacity(groups.len());
    let mut commands = 0;
    for group in groups.iter().filter(|group| group.lacks_script()) {
        if group.asking {
            pipeline.cmd("ASKING");
            commands += 1;
        }
        pipeline.add_command(group.call.command(group.tag, now, group.script_ref));
        commands += 1;
    }
    let mut replies = connection.send_packed_commands(&pipeline, 0, commands).await?.into_iter();
    for group in groups.iter_mut().filter(|group| group.lacks_script()) {
        if group.asking {
            replies.next();
        }
        let reply = replies.next().unwrap_or(Value::Nil);
        group.reply = reply.extract_error().map_err(ServerError::from);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use sluicegate_core::{ChargeId, Check, Cost, Limit, Operation, Set};
    use smallvec::smallvec;
    use tokio::time::Instant;

    use super::*;
    use crate::script::{EncodedSet, KeySpace};

    /// A request for a slot: a take, which is plain, or a charge, which is not.
    fn request(slot: u16, is_plain: bool) -> QueuedRequest {
        let limit = Limit::token_bucket("api", "5/min".parse().unwrap()).unwrap();
        let check = Check::new(&limit, "alice");
        let check =
            if is_plain { check } else { check.with_operation(Operation::Charge(Cost::ONE)) };
        let key_space = KeySpace::new("t:", [7; 32], 4);
        let packed = EncodedSet::new(&Set::one(&check, ChargeId::from_bits(1)), &key_space);
        QueuedRequest::new(smallvec![packed], Instant::now()).in_slot(slot, false)
    }

    /// The calls for these requests: whether they cross slots, and the requests in each.
    fn calls(requests: &[(u16, bool)], cross_slot: bool) -> Vec<(bool, Vec<(u16, bool)>)> {
        let requests = requests.iter().map(|(slot, is_plain)| request(*slot, *is_plain)).collect();
        let summary = |request: &QueuedRequest| (request.to.slot, request.can_cross_slots());
        let groups = CallGroup::of_all(requests, cross_slot).into_iter();
        let mut calls: Vec<_> = groups
            .map(|group| (group.call.is_cross_slot(), group.requests.iter().map(summary).collect()))
            .collect();
        calls.sort();
        calls
    }

    #[test]
    fn plain_requests_cross_slots_and_requests_of_one_slot_keep_their_order() {
        let (take, charge) = (true, false);
        let crossing = vec![(1, take), (2, take), (1, take)];
        assert_eq!(calls(&crossing, true), [(true, crossing.clone())]);
        let one_slot = vec![(1, take), (1, charge)];
        assert_eq!(calls(&one_slot, true), [(false, one_slot.clone())]);
        // A request must not overtake an earlier one for the same slot.
        let mixed = [(1, charge), (1, take), (2, take), (3, take), (1, take)];
        let first = vec![(1, charge), (1, take), (1, take)];
        assert_eq!(calls(&mixed, true), [(false, first), (true, vec![(2, take), (3, take)])]);
    }

    #[test]
    fn without_cross_slot_support_each_slot_has_its_own_call() {
        let requests = [(1, true), (2, true), (1, true)];
        let by_slot = [(false, vec![(1, true), (1, true)]), (false, vec![(2, true)])];
        assert_eq!(calls(&requests, false), by_slot);
    }
}
