//! Letters that go in one call, and calls that go out together.

use redis::aio::MultiplexedConnection;
use redis::{Pipeline, Value};
use smallvec::SmallVec;
use tollgate_core::Time;

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
    /// they are, and each slot of a cluster has one for the others: most scripts see one slot.
    pub(super) fn of_all(letters: Vec<Letter>) -> SmallVec<[Self; 1]> {
        let mut parcels = SmallVec::new();
        if letters.windows(2).all(|pair| matches!(pair, [a, b] if a.to == b.to)) {
            parcels.extend(Self::to_one_slot(letters));
            return parcels;
        }
        // Nearly always all of them can, and letters are large: they are not to be moved about.
        let (scattered, mut others) = if letters.iter().all(Letter::can_be_scattered) {
            (letters, Vec::new())
        } else {
            letters.into_iter().partition(Letter::can_be_scattered)
        };
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
