//! Sets that have arrived together go to the server together.

use smallvec::SmallVec;
use tokio::time::Instant;
use tollgate::{Applied, CheckError};
use tollgate_core::{Decision, Set};

use super::splitting::Split;
use super::{Redis, counters_of};
use crate::courier::Reply;
use crate::failure::Failure;
use crate::twin::{self, Packed};

/// The most checks that go in one letter.
const CHECKS: usize = 64;

/// Sets that wait for their answers, and where those belong.
struct Group<'g> {
    sets: &'g [Set<'g>],
    packed: SmallVec<[Packed; 1]>,
}

impl Redis {
    pub(super) async fn decide_many<'a>(
        &'a self,
        sets: &'a [Set<'a>],
        decisions: &'a mut [Option<Decision>],
        applied: &'a mut Vec<Applied>,
    ) -> Result<(), CheckError> {
        let (mut sets, mut decisions) = (sets, decisions);
        // One for all of them: whoever waits for the last waits no longer than for the first.
        let until = self.courier.until();
        while !sets.is_empty() {
            let group = self.group(sets);
            let (together, after) = sets.split_at(group.packed.len().max(1));
            let checks = together.iter().map(|set| set.checks().len()).sum();
            let (own, rest) = decisions.split_at_mut(checks);
            match together {
                [alone] if group.packed.len() < 2 => applied.push(self.decide(alone, own).await?),
                _ => self.decide_group(group, own, applied, until).await?,
            }
            (sets, decisions) = (after, rest);
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
            let next = Packed::new(set, &self.naming);
            if counters_of(&next).iter().any(|counter| self.owed.owes(*counter)) {
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
        let mut rest = &mut *decisions;
        for (set, packed) in sets.iter().zip(&packed) {
            let (own, after) = rest.split_at_mut(set.checks().len());
            denied.push(self.deny(set, packed, own));
            rest = after;
        }
        let asked = packed.into_iter().zip(&denied).filter(|(_, denied)| denied.is_none());
        let letter: SmallVec<[Packed; 1]> = asked.map(|(packed, _)| packed).collect();
        let reply =
            if letter.is_empty() { None } else { Some(self.courier.ask(letter, until).await) };
        let (mut answers, failure) = match reply {
            Some(Ok(Reply { answers, sent, received })) => {
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
                Some((answers, when)) => match answers.next() {
                    Some(mut answer) => self.explain(set, &mut answer, own, counters, *when),
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
