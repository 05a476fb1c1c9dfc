//! Letters that go in one call, and calls that go out together.

use redis::aio::MultiplexedConnection;
use redis::{Pipeline, Value};
use sluicegate_core::Time;
use smallvec::SmallVec;

use super::desk::Letter;
use crate::failure::{Class, Failure};
use crate::twin::{Call, How};

/// Letters to one place, the call that asks for all of them, and what came back.
pub(super) struct Parcel {
    pub(super) letters: Vec<Letter>,
    pub(super) call: Call,
    /// Comes back with the reply.
    pub(super) tag: u64,
    /// How its script is named.
    pub(super) how: How,
    pub(super) reply: Result<Value, Failure>,
    asking: bool,
}

impl Parcel {
    /// One for all letters, if they are for one place. Otherwise plain ones go together wherever
    /// they are, if the server `scatters`, and each slot of a cluster has one for the others.
    pub(super) fn of_all(letters: Vec<Letter>, scatters: bool) -> SmallVec<[Self; 1]> {
        let mut parcels = SmallVec::new();
        if letters.windows(2).all(|pair| matches!(pair, [a, b] if a.to == b.to)) {
            parcels.extend(Self::to_one_slot(letters));
            return parcels;
        }
        let (scattered, mut others) = if scatters { part(letters) } else { (Vec::new(), letters) };
        if !scattered.is_empty() {
            let call = Call::scattered(scattered.iter().flat_map(Letter::unanswered));
            parcels.push(Self::new(scattered, call, false));
        }
        others.sort_by_key(|letter| letter.to);
        while let Some(to) = others.last().map(|last| last.to) {
            let start = others.partition_point(|letter| letter.to < to);
            parcels.extend(Self::to_one_slot(others.split_off(start)));
        }
        parcels
    }

    fn to_one_slot(letters: Vec<Letter>) -> Option<Self> {
        let asking = letters.first()?.to.asking;
        let call = Call::of(letters.iter().flat_map(Letter::unanswered));
        Some(Self::new(letters, call, asking))
    }

    fn new(letters: Vec<Letter>, call: Call, asking: bool) -> Self {
        let reply = Err(Failure::new(Class::NoScript, "it has not been asked"));
        Self { letters, call, tag: 0, how: How::Text, reply, asking }
    }

    /// Whether the server did not know its script, so that nothing was done.
    pub(super) fn is_of_unknown_script(&self) -> bool {
        self.reply.as_ref().is_err_and(|failure| failure.class == Class::NoScript)
    }
}

/// Letters that go together wherever their slots are, and the others. Letters to one slot stay in their
/// order: if one of them has to go by its slot, all do.
fn part(letters: Vec<Letter>) -> (Vec<Letter>, Vec<Letter>) {
    let by_slot = letters.iter().filter(|letter| !letter.can_be_scattered());
    let by_slot: SmallVec<[u16; 8]> = by_slot.map(|letter| letter.to.slot).collect();
    if by_slot.is_empty() {
        // Nearly always; and letters are large, they are not to be moved about.
        return (letters, Vec::new());
    }
    letters.into_iter().partition(|letter| !by_slot.contains(&letter.to.slot))
}

/// Sends the calls that have no reply yet, all at once, and takes down what each is answered: an
/// error that the server answers is one.
pub(super) async fn send(
    connection: &mut MultiplexedConnection,
    parcels: &mut [Parcel],
    now: Option<Time>,
) -> Result<(), Failure> {
    if let [alone] = parcels
        && !alone.asking
    {
        let command = alone.call.command(alone.tag, now, alone.how);
        let reply = connection.send_packed_command(&command).await?;
        alone.reply = reply.extract_error().map_err(Failure::from);
        return Ok(());
    }
    let mut pipeline = Pipeline::with_capacity(parcels.len());
    let mut commands = 0;
    for parcel in parcels.iter().filter(|parcel| parcel.is_of_unknown_script()) {
        if parcel.asking {
            pipeline.cmd("ASKING");
            commands += 1;
        }
        pipeline.add_command(parcel.call.command(parcel.tag, now, parcel.how));
        commands += 1;
    }
    let mut replies = connection.send_packed_commands(&pipeline, 0, commands).await?.into_iter();
    for parcel in parcels.iter_mut().filter(|parcel| parcel.is_of_unknown_script()) {
        if parcel.asking {
            replies.next();
        }
        let reply = replies.next().unwrap_or(Value::Nil);
        parcel.reply = reply.extract_error().map_err(Failure::from);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use sluicegate_core::{Ask, Check, Cost, Id, Limit, Set};
    use smallvec::smallvec;
    use tokio::time::Instant;

    use super::*;
    use crate::twin::{Naming, Packed};

    /// A letter to a slot: a take, which is plain, or a charge, which is not.
    fn letter(slot: u16, is_plain: bool) -> Letter {
        let limit = Limit::token_bucket("api", "5/min".parse().unwrap()).unwrap();
        let check = Check::new(&limit, "alice");
        let check = if is_plain { check } else { check.ask(Ask::Charge(Cost::ONE)) };
        let naming = Naming::new("t:", [7; 32], 4);
        let packed = Packed::new(&Set::one(&check, Id::from_bits(1)), &naming);
        Letter::new(smallvec![packed], Instant::now()).in_slot(slot, false)
    }

    /// The calls that letters go in: whether to many slots, and to which.
    fn calls(letters: &[(u16, bool)], scatters: bool) -> Vec<(bool, Vec<(u16, bool)>)> {
        let letters = letters.iter().map(|(slot, is_plain)| letter(*slot, *is_plain)).collect();
        let told = |letter: &Letter| (letter.to.slot, letter.can_be_scattered());
        let parcels = Parcel::of_all(letters, scatters).into_iter();
        let mut calls: Vec<_> = parcels
            .map(|parcel| (parcel.call.is_scattered(), parcel.letters.iter().map(told).collect()))
            .collect();
        calls.sort();
        calls
    }

    #[test]
    fn plain_letters_go_together_and_letters_to_one_slot_in_their_order() {
        let (take, charge) = (true, false);
        let together = vec![(1, take), (2, take), (1, take)];
        assert_eq!(calls(&together, true), [(true, together.clone())]);
        let one_slot = vec![(1, take), (1, charge)];
        assert_eq!(calls(&one_slot, true), [(false, one_slot.clone())]);
        // Who comes after somebody in the same slot is not to overtake.
        let mixed = [(1, charge), (1, take), (2, take), (3, take), (1, take)];
        let first = vec![(1, charge), (1, take), (1, take)];
        assert_eq!(calls(&mixed, true), [(false, first), (true, vec![(2, take), (3, take)])]);
    }

    #[test]
    fn a_server_that_cannot_be_trusted_with_it_has_a_call_for_each_slot() {
        let letters = [(1, true), (2, true), (1, true)];
        let by_slot = [(false, vec![(1, true), (1, true)]), (false, vec![(2, true)])];
        assert_eq!(calls(&letters, false), by_slot);
    }
}
