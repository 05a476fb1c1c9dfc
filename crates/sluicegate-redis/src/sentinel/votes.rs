//! The addresses that sentinels name for the primary.

use crate::address::Address;
use crate::error::{ErrorKind, ServerError};

/// The last vote of each sentinel.
#[derive(Debug)]
pub(super) struct Votes {
    by_sentinel: Vec<Result<Vote, ServerError>>,
    /// Counts the votes received.
    sequence: u64,
}

/// The vote of one sentinel.
#[derive(Debug)]
struct Vote {
    address: Address,
    /// Sequence number of the vote.
    number: u64,
}

impl Votes {
    /// An empty record for so many sentinels.
    pub(super) fn new(sentinels: usize) -> Self {
        let nothing =
            || Err(ServerError::new(ErrorKind::Connection, "no sentinel has answered yet"));
        Self { by_sentinel: (0..sentinels).map(|_| nothing()).collect(), sequence: 0 }
    }

    /// Records the vote of a sentinel. Returns whether it has changed.
    pub(super) fn record(&mut self, sentinel: usize, address: Address) -> bool {
        let place = &mut self.by_sentinel[sentinel];
        if place.as_ref().is_ok_and(|vote| vote.address == address) {
            return false;
        }
        self.sequence += 1;
        *place = Ok(Vote { address, number: self.sequence });
        true
    }

    /// Removes the vote of a sentinel that is unreachable or names no address. Returns whether it
    /// had one.
    pub(super) fn clear(&mut self, sentinel: usize, why: ServerError) -> bool {
        let place = &mut self.by_sentinel[sentinel];
        let was_known = place.is_ok();
        *place = Err(why);
        was_known
    }

    /// The address with the most votes; of several, the one with the latest vote.
    pub(super) fn best(&self) -> Option<&Address> {
        let votes = self.by_sentinel.iter().flatten();
        votes.max_by_key(|vote| (self.count(&vote.address), vote.number)).map(|vote| &vote.address)
    }

    /// The address that more than half of all sentinels name.
    pub(super) fn majority(&self) -> Option<&Address> {
        self.best().filter(|best| self.count(best) * 2 > self.by_sentinel.len())
    }

    /// The addresses to try: that of the majority, otherwise all, those with more votes first.
    pub(super) fn candidates(&self) -> Vec<Address> {
        if let Some(majority) = self.majority() {
            return vec![majority.clone()];
        }
        let mut votes: Vec<&Vote> = self.by_sentinel.iter().flatten().collect();
        votes.sort_by_key(|vote| std::cmp::Reverse((self.count(&vote.address), vote.number)));
        let mut candidates: Vec<Address> = Vec::new();
        for vote in votes {
            if !candidates.contains(&vote.address) {
                candidates.push(vote.address.clone());
            }
        }
        candidates
    }

    /// Returns why no address is known. A refusal comes first, because it needs manual action.
    pub(super) fn why(&self) -> (ErrorKind, String) {
        let whys = || self.by_sentinel.iter().filter_map(|vote| vote.as_ref().err());
        let refused = whys().find(|failure| failure.class == ErrorKind::Refused);
        match refused.or_else(|| whys().next_back()) {
            Some(failure) if failure.class == ErrorKind::Refused => {
                (failure.class, failure.why.clone())
            }
            Some(failure) => (ErrorKind::Connection, failure.why.clone()),
            None => (ErrorKind::Connection, String::new()),
        }
    }

    fn count(&self, address: &Address) -> usize {
        self.by_sentinel.iter().flatten().filter(|vote| vote.address == *address).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unreachable(why: &str) -> ServerError {
        ServerError::new(ErrorKind::Connection, why)
    }

    fn address(port: u16) -> Address {
        Address::new("10.0.0.1", port)
    }

    #[test]
    fn the_majority_comes_first_then_the_latest_vote() {
        let mut votes = Votes::new(3);
        assert_eq!(votes.best(), None);
        assert!(votes.record(0, address(1)) && !votes.record(0, address(1)));
        assert!(votes.record(1, address(2)));
        assert_eq!(votes.best(), Some(&address(2)), "it is newer");
        assert_eq!(votes.majority(), None, "one of three is not most of them");
        assert_eq!(votes.candidates(), [address(2), address(1)]);
        assert!(votes.record(2, address(1)));
        assert_eq!(votes.best(), Some(&address(1)), "two say so");
        assert_eq!(votes.majority(), Some(&address(1)));
        assert_eq!(votes.candidates(), [address(1)], "the third is alone");
        assert!(votes.clear(2, unreachable("gone")) && !votes.clear(2, unreachable("gone")));
        assert_eq!(votes.best(), Some(&address(2)));
        votes.clear(0, unreachable("away"));
        votes.clear(1, unreachable("off"));
        assert_eq!((votes.best(), votes.why().1.as_str()), (None, "gone"));
        votes.clear(0, ServerError::new(ErrorKind::Refused, "NOAUTH"));
        assert_eq!(votes.why(), (ErrorKind::Refused, "NOAUTH".to_owned()));
    }
}
