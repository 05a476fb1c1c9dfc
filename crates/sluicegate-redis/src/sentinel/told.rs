//! What sentinels have told of where the primary is.

use crate::address::Address;
use crate::failure::{Class, Failure};

/// What each sentinel has told last.
#[derive(Debug)]
pub(super) struct Told {
    by: Vec<Result<Word, Failure>>,
    /// Counts what was told.
    heard: u64,
}

/// One sentinel's word.
#[derive(Debug)]
struct Word {
    address: Address,
    /// Which of all words it was.
    number: u64,
}

impl Told {
    /// Nothing yet, by so many.
    pub(super) fn by(sentinels: usize) -> Self {
        let nothing = || Err(Failure::new(Class::Connection, "none has answered yet"));
        Self { by: (0..sentinels).map(|_| nothing()).collect(), heard: 0 }
    }

    /// A sentinel has told an address; whether that is news.
    pub(super) fn tell(&mut self, sentinel: usize, address: Address) -> bool {
        let Some(place) = self.by.get_mut(sentinel) else { return false };
        if place.as_ref().is_ok_and(|word| word.address == address) {
            return false;
        }
        self.heard += 1;
        *place = Ok(Word { address, number: self.heard });
        true
    }

    /// A sentinel cannot be asked any more, or names nobody; whether that is news.
    pub(super) fn lose(&mut self, sentinel: usize, why: Failure) -> bool {
        let Some(place) = self.by.get_mut(sentinel) else { return false };
        let was_known = place.is_ok();
        *place = Err(why);
        was_known
    }

    /// The address that most name; of several the one that was told last.
    pub(super) fn best(&self) -> Option<&Address> {
        let words = self.by.iter().flatten();
        words.max_by_key(|word| (self.votes(&word.address), word.number)).map(|word| &word.address)
    }

    /// The address that more than half of all sentinels name.
    pub(super) fn most(&self) -> Option<&Address> {
        self.best().filter(|best| self.votes(best) * 2 > self.by.len())
    }

    /// Where to look: where most say, and if they do not agree, wherever one says, those first that more
    /// of them name.
    pub(super) fn candidates(&self) -> Vec<Address> {
        if let Some(most) = self.most() {
            return vec![most.clone()];
        }
        let mut words: Vec<&Word> = self.by.iter().flatten().collect();
        words.sort_by_key(|word| std::cmp::Reverse((self.votes(&word.address), word.number)));
        let mut candidates: Vec<Address> = Vec::new();
        for word in words {
            if !candidates.contains(&word.address) {
                candidates.push(word.address.clone());
            }
        }
        candidates
    }

    /// Why there is none. That one does not let us in only a person can change.
    pub(super) fn why(&self) -> (Class, String) {
        let whys = || self.by.iter().filter_map(|word| word.as_ref().err());
        let refused = whys().find(|failure| failure.class == Class::Refused);
        match refused.or_else(|| whys().next_back()) {
            Some(failure) if failure.class == Class::Refused => {
                (failure.class, failure.why.clone())
            }
            Some(failure) => (Class::Connection, failure.why.clone()),
            None => (Class::Connection, String::new()),
        }
    }

    fn votes(&self, address: &Address) -> usize {
        self.by.iter().flatten().filter(|word| word.address == *address).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gone(why: &str) -> Failure {
        Failure::new(Class::Connection, why)
    }

    fn address(port: u16) -> Address {
        Address::new("10.0.0.1", port)
    }

    #[test]
    fn what_most_say_comes_first_and_of_equals_what_was_said_last() {
        let mut told = Told::by(3);
        assert_eq!(told.best(), None);
        assert!(told.tell(0, address(1)) && !told.tell(0, address(1)));
        assert!(told.tell(1, address(2)));
        assert_eq!(told.best(), Some(&address(2)), "it is newer");
        assert_eq!(told.most(), None, "one of three is not most of them");
        assert_eq!(told.candidates(), [address(2), address(1)]);
        assert!(told.tell(2, address(1)));
        assert_eq!(told.best(), Some(&address(1)), "two say so");
        assert_eq!(told.most(), Some(&address(1)));
        assert_eq!(told.candidates(), [address(1)], "the third is alone");
        assert!(told.lose(2, gone("gone")) && !told.lose(2, gone("gone")));
        assert_eq!(told.best(), Some(&address(2)));
        told.lose(0, gone("away"));
        told.lose(1, gone("off"));
        assert_eq!((told.best(), told.why().1.as_str()), (None, "gone"));
        told.lose(0, Failure::new(Class::Refused, "who are you"));
        assert_eq!(told.why(), (Class::Refused, "who are you".to_owned()));
    }
}
