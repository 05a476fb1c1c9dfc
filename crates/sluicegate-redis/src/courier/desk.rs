//! What waits to be carried, and over which line.

use std::collections::VecDeque;
use std::sync::Arc;

use redis::aio::MultiplexedConnection;
use sluicegate_core::Time;
use smallvec::SmallVec;
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

use super::parcel::Parcel;
use super::{Outcome, Reply, Returned, is_to_be_asked_again};
use crate::failure::{Class, Failure};
use crate::twin::{Answer, How, Packed, Script};

/// Calls under way at a time. Two keep the server busy while answers travel; more would only make
/// the calls smaller.
pub(super) const CALLS: usize = 2;
/// Where replicas are waited for, the second would wait for the first.
pub(super) const STRICT_CALLS: usize = 1;
/// The most checks in one call: the server does nothing else meanwhile.
pub(super) const CHECKS: usize = 64;
/// With so few checks under way there is no load to speak of, and nobody waits for company.
const FEW: usize = 8;
/// So many are company enough: beside a call with more than a few they go out, fewer wait for it.
const MANY: usize = 32;
/// The most that may wait. With more the last would wait in vain.
const WAITING: usize = 4_096;
/// A letter with more checks is bulk: a batch or a pipeline, which lets single requests go first.
pub(crate) const BULK: usize = 8;

/// Sets on their way, and who waits for them.
#[derive(Debug)]
pub(crate) struct Letter {
    sets: SmallVec<[Packed; 1]>,
    answers: SmallVec<[Option<Answer>; 1]>,
    /// When the first of them was asked for.
    sent: Option<Time>,
    sender: Option<oneshot::Sender<Outcome>>,
    /// Until then somebody waits for it.
    pub(super) until: Instant,
    /// Tells it from the other letters of its desk.
    number: u64,
    /// Only what is for the same place can go in one call.
    pub(super) to: To,
}

/// Where a letter goes on its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct To {
    /// The slot of a cluster; all the same where there is none.
    pub(super) slot: u16,
    /// Whether the slot is still on its way to the server.
    pub(super) asking: bool,
}

impl Letter {
    pub(crate) fn new(sets: SmallVec<[Packed; 1]>, until: Instant) -> Self {
        let answers = sets.iter().map(|_| None).collect();
        let to = To { slot: 0, asking: false };
        Self { sets, answers, sent: None, sender: None, until, number: 0, to }
    }

    /// The same letter, of sets in a slot of a cluster.
    pub(crate) fn in_slot(self, slot: u16, asking: bool) -> Self {
        Self { to: To { slot, asking }, ..self }
    }

    pub(super) fn answered_to(self, sender: oneshot::Sender<Outcome>) -> Self {
        Self { sender: Some(sender), ..self }
    }

    /// Whether somebody waits for it, or nobody ever did.
    fn is_wanted(&self) -> bool {
        !self.sender.as_ref().is_some_and(oneshot::Sender::is_closed)
    }

    fn checks(&self) -> usize {
        self.sets.iter().map(Packed::checks).sum()
    }

    /// Whether it may go together with letters to other slots. One that came back from there goes alone,
    /// to be told where its slot is.
    pub(super) fn can_be_scattered(&self) -> bool {
        !self.to.asking && matches!(&*self.sets, [set] if set.is_plain())
    }

    /// From now on it goes only with letters to its own slot.
    pub(super) fn keep_together(&mut self) {
        for set in &mut self.sets {
            set.make_full();
        }
    }

    /// The sets that have no answer yet.
    pub(super) fn unanswered(&self) -> impl Iterator<Item = &Packed> {
        let sets = self.sets.iter().zip(&self.answers);
        sets.filter(|(_, answer)| answer.is_none()).map(|(set, _)| set)
    }

    /// Takes the answers of its sets; whether all are there now.
    pub(super) fn take(&mut self, answers: &mut impl Iterator<Item = Answer>, sent: Time) -> bool {
        self.sent.get_or_insert(sent);
        let mut complete = true;
        let open = self.sets.iter_mut().zip(&mut self.answers);
        for (set, place) in open.filter(|(_, place)| place.is_none()) {
            match answers.next() {
                Some(answer) if !is_to_be_asked_again(&answer) => *place = Some(answer),
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
            // Whoever asked may have gone.
            let _ = sender.send(Ok(Reply { answers, sent, received, confirmed }));
        }
    }

    pub(super) fn fail(self, failure: &Failure) {
        if let Some(sender) = self.sender {
            // Of what may have been done in part nothing is asked again.
            let untouched = self.answers.iter().all(Option::is_none);
            let sets = if untouched { self.sets.into_vec() } else { Vec::new() };
            let _ = sender.send(Err(Returned { failure: failure.clone(), sets }));
        }
    }
}

/// A connection, as long as it is believed in.
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub(super) connection: MultiplexedConnection,
    pub(super) generation: u64,
    /// Told when it is given up.
    pub(super) broken: Arc<Notify>,
}

/// What waits, and for which line.
#[derive(Debug)]
pub(super) struct Desk {
    line: Result<Line, Failure>,
    waiting: VecDeque<Letter>,
    /// Batches and pipelines, apart so that single requests do not queue behind them.
    bulk: VecDeque<Letter>,
    /// Whether the last call had no room for bulk that was waiting; the next one begins with it.
    bulk_is_next: bool,
    /// When the server last answered over this line.
    answered: Instant,
    /// Calls under way over this line, and the checks in them.
    calls: usize,
    under_way: usize,
    generation: u64,
    tag: u64,
    /// How many letters were posted.
    posted: u64,
    /// The scripts that the server has been told over this line.
    told: Vec<&'static Script>,
    most_calls: usize,
}

/// What comes after a delivery.
pub(super) struct Next {
    /// Whose time is over.
    pub(super) late: Vec<Letter>,
    pub(super) batch: Option<Batch>,
}

/// Letters that go out in one call.
pub(super) struct Batch {
    pub(super) letters: Vec<Letter>,
    pub(super) checks: usize,
}

impl Batch {
    /// Moves letters here from the front of a queue, as many as there is room for. A letter whose
    /// caller has gone is dropped.
    fn fill(&mut self, waiting: &mut VecDeque<Letter>) {
        while let Some(letter) = waiting.pop_front() {
            let checks = self.checks + letter.checks();
            // A letter that is too large by itself has to go all the same.
            if checks > CHECKS && !self.letters.is_empty() {
                waiting.push_front(letter);
                break;
            }
            if letter.is_wanted() {
                self.checks = checks;
                self.letters.push(letter);
            }
        }
    }
}

impl Desk {
    pub(super) fn new(why: Failure, most_calls: usize) -> Self {
        Self {
            line: Err(why),
            waiting: VecDeque::new(),
            bulk: VecDeque::new(),
            bulk_is_next: false,
            answered: Instant::now(),
            calls: 0,
            under_way: 0,
            generation: 0,
            tag: 0,
            posted: 0,
            told: vec![],
            most_calls,
        }
    }

    /// Takes a letter and numbers it. The line to deliver it over, if nobody else will come for it.
    pub(super) fn post(&mut self, mut letter: Letter) -> Result<(u64, Option<Line>), Failure> {
        let line = match &self.line {
            Ok(line) => line,
            Err(why) => return Err(Failure::new(Class::Down, why.why.clone())),
        };
        if self.waiting.len() + self.bulk.len() >= WAITING {
            return Err(Failure::new(Class::Overload, "too many were waiting for the store"));
        }
        let line = line.clone();
        self.posted += 1;
        letter.number = self.posted;
        if letter.checks() > BULK { &mut self.bulk } else { &mut self.waiting }.push_back(letter);
        if self.calls >= self.most_calls || !self.is_worth_a_call() {
            return Ok((self.posted, None));
        }
        self.calls += 1;
        Ok((self.posted, Some(line)))
    }

    /// Takes a letter back; whether it was still here, so that nothing of it was ever sent.
    pub(super) fn withdraw(&mut self, number: u64) -> bool {
        let is_untouched = |letter: &Letter| letter.answers.iter().all(Option::is_none);
        for waiting in [&mut self.waiting, &mut self.bulk] {
            if let Some(place) = waiting.iter().position(|letter| letter.number == number) {
                return waiting.remove(place).is_some_and(|letter| is_untouched(&letter));
            }
        }
        false
    }

    /// Whether what waits is to go out beside what is under way.
    fn is_worth_a_call(&self) -> bool {
        let waiting = self.waiting.iter().chain(&self.bulk).take(MANY).map(Letter::checks);
        self.under_way < FEW || waiting.sum::<usize>() >= MANY
    }

    /// The letters that fit into one call: single requests before bulk, each in their order, and in
    /// turns where there is no room for both.
    fn batch(&mut self) -> Batch {
        let most = (self.waiting.len() + self.bulk.len()).min(CHECKS);
        let mut batch = Batch { letters: Vec::with_capacity(most), checks: 0 };
        let (first, second) = if self.bulk_is_next {
            (&mut self.bulk, &mut self.waiting)
        } else {
            (&mut self.waiting, &mut self.bulk)
        };
        batch.fill(first);
        let filled = batch.checks;
        batch.fill(second);
        let skipped = batch.checks == filled && !second.is_empty();
        self.bulk_is_next = skipped && !self.bulk_is_next;
        batch
    }

    /// What whoever comes for it is to deliver next, after having `delivered` so many checks.
    pub(super) fn next(&mut self, generation: u64, delivered: usize, now: Instant) -> Next {
        let mut next = Next { late: Vec::new(), batch: None };
        if self.line.as_ref().map(|line| line.generation).ok() != Some(generation) {
            return next;
        }
        self.under_way -= delivered;
        for waiting in [&mut self.waiting, &mut self.bulk] {
            while waiting.front().is_some_and(|letter| letter.until <= now) {
                next.late.extend(waiting.pop_front());
            }
        }
        if self.is_worth_a_call() {
            next.batch = Some(self.batch()).filter(|batch| !batch.letters.is_empty());
        }
        match &next.batch {
            Some(batch) => self.under_way += batch.checks,
            None => self.calls -= 1,
        }
        next
    }

    /// Puts letters back that have to be asked again.
    pub(super) fn put_first(&mut self, letters: Vec<Letter>, generation: u64) {
        match &self.line {
            Ok(line) if line.generation == generation => {
                for letter in letters.into_iter().rev() {
                    self.waiting.push_front(letter);
                }
            }
            _ => {
                for letter in letters {
                    // What was answered in part has been done in part.
                    let begun = letter.answers.iter().any(Option::is_some);
                    let class = if begun { Class::Timeout } else { Class::Down };
                    letter.fail(&Failure::new(class, "it was given up meanwhile"));
                }
            }
        }
    }

    pub(super) fn open(&mut self, connection: MultiplexedConnection, now: Instant) {
        self.generation += 1;
        self.calls = 0;
        self.under_way = 0;
        self.answered = now;
        self.told.clear();
        self.line =
            Ok(Line { connection, generation: self.generation, broken: Arc::new(Notify::new()) });
    }

    /// Closes the line of this generation; who was waiting for it, if it was open.
    pub(super) fn close(&mut self, generation: u64, why: &Failure) -> Option<VecDeque<Letter>> {
        match &self.line {
            Ok(line) if line.generation == generation => {
                line.broken.notify_waiters();
                self.line = Err(why.clone());
                let mut waiting = std::mem::take(&mut self.waiting);
                waiting.append(&mut self.bulk);
                Some(waiting)
            }
            _ => None,
        }
    }

    /// Notes that the server has answered over the line of this generation.
    pub(super) fn note_answer(&mut self, generation: u64, now: Instant) {
        if self.line.as_ref().is_ok_and(|line| line.generation == generation) {
            self.answered = now;
        }
    }

    /// When the server last answered, if its line is open.
    pub(super) fn last_answer(&self) -> Option<Instant> {
        self.line.is_ok().then_some(self.answered)
    }

    /// Another reason why the line is closed, if it is.
    pub(super) fn stay_down(&mut self, why: &Failure) {
        if let Err(known) = &mut self.line {
            *known = why.clone();
        }
    }

    pub(super) fn line(&self) -> Option<Line> {
        self.line.as_ref().ok().cloned()
    }

    pub(super) fn why_down(&self) -> Option<&Failure> {
        self.line.as_ref().err()
    }

    /// Gives each call a tag of its own. The first of each script tells it in full: it would have to be
    /// told anyway, and what was asked later would be done before.
    pub(super) fn tag_all(&mut self, parcels: &mut [Parcel]) {
        for parcel in parcels {
            self.tag += 1;
            parcel.tag = self.tag;
            let script = parcel.call.script();
            if self.told.iter().any(|known| std::ptr::eq(*known, script)) {
                parcel.how = How::Sha;
            } else {
                self.told.push(script);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use sluicegate_core::{Check, Id, Limit, Set};

    use super::*;
    use crate::twin::Naming;

    fn letter(checks: usize) -> Letter {
        let limit = Limit::token_bucket("api", "5/min".parse().unwrap()).unwrap();
        let keys: Vec<String> = (0..checks).map(|number| number.to_string()).collect();
        let checks: Vec<_> = keys.iter().map(|key| Check::new(&limit, key)).collect();
        let set = Set::all(&checks, Id::from_bits(1));
        let packed = Packed::new(&set, &Naming::new("t:", [7; 32], 4));
        Letter::new(SmallVec::from_iter([packed]), Instant::now())
    }

    /// The sizes of the letters in each call until nothing waits.
    fn calls(small: usize, bulk: usize) -> Vec<Vec<usize>> {
        let mut desk = Desk::new(Failure::new(Class::Down, "not reached"), CALLS);
        desk.waiting.extend((0..small).map(|_| letter(1)));
        desk.bulk.extend((0..bulk).map(|_| letter(40)));
        let batches = std::iter::from_fn(|| {
            let sizes: Vec<_> = desk.batch().letters.iter().map(Letter::checks).collect();
            (!sizes.is_empty()).then_some(sizes)
        });
        batches.collect()
    }

    #[test]
    fn single_requests_go_before_bulk_that_has_waited_longer() {
        assert_eq!(calls(2, 2), [vec![1, 1, 40], vec![40]]);
    }

    #[test]
    fn bulk_gets_its_turn_however_many_single_requests_there_are() {
        let calls = calls(150, 2);
        assert_eq!(calls[0], [1; 64]);
        assert_eq!(calls[1], [vec![40], vec![1; 24]].concat());
        assert_eq!(calls[2], [vec![1; 62], vec![]].concat());
        assert_eq!(calls[3], [40]);
    }
}
