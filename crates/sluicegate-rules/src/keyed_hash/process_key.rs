//! The random key and mark of one process.

use core::fmt;
use std::error::Error;

use crate::keyed_hash::KeyedHasher;
use crate::receipts::token::MARK;

/// The key and the mark of one process.
#[derive(Debug)]
pub(crate) struct ProcessKey {
    /// Authenticates slots and reservations where the rule file has no secret.
    pub(crate) hasher: KeyedHasher,
    /// Distinguishes this process from others in the tokens that it writes.
    pub(crate) mark: [u8; MARK],
}

impl ProcessKey {
    /// Generates a key with the random generator of the operating system.
    pub(crate) fn generate() -> Result<Self, RandomnessError> {
        Self::generate_with(getrandom::fill)
    }

    fn generate_with(
        fill: impl Fn(&mut [u8]) -> Result<(), getrandom::Error>,
    ) -> Result<Self, RandomnessError> {
        let (mut key, mut mark) = ([0; 32], [0; MARK]);
        fill(&mut key).and_then(|()| fill(&mut mark)).map_err(RandomnessError)?;
        Ok(Self { hasher: KeyedHasher::new(Some(&key)), mark })
    }
}

/// The operating system supplied no random bytes for a key.
#[derive(Debug)]
pub struct RandomnessError(getrandom::Error);

impl fmt::Display for RandomnessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "cannot generate the key that authenticates slots and reservations: the random generator of \
             the operating system failed: {}; allow the system call `getrandom` or provide `/dev/urandom`",
            self.0
        )
    }
}

impl Error for RandomnessError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_has_bytes_of_its_own() {
        let keys = [(); 2].map(|()| ProcessKey::generate().expect("random bytes"));
        let [first, second] = keys.each_ref().map(|key| key.hasher.mac(b"x"));
        assert_ne!(first, second);
        assert_ne!(keys[0].mark, keys[1].mark);
        assert_ne!(first, KeyedHasher::new(Some(&[0; 32])).mac(b"x"), "no key of zeros");
    }

    #[test]
    fn all_bytes_of_the_generator_go_into_key_and_mark() {
        let of = |first: u8| {
            let fill = |bytes: &mut [u8]| {
                bytes.fill(7);
                bytes[0] = first;
                Ok(())
            };
            ProcessKey::generate_with(fill).expect("random bytes")
        };
        let mut key = [7; 32];
        key[0] = 1;
        assert_eq!(of(1).hasher.mac(b"x"), KeyedHasher::new(Some(&key)).mac(b"x"));
        assert_eq!(of(1).mark, [1, 7, 7, 7, 7, 7, 7, 7]);
        assert_ne!(of(2).hasher.mac(b"x"), of(1).hasher.mac(b"x"));
    }

    #[test]
    fn a_generator_that_fails_is_an_error_with_a_remedy() {
        let failure = || getrandom::Error::new_custom(1);
        let key_failed = ProcessKey::generate_with(|_| Err(failure()));
        let mark_failed = ProcessKey::generate_with(|bytes| match bytes.len() {
            MARK => Err(failure()),
            _ => Ok(()),
        });
        for result in [key_failed, mark_failed] {
            let text = result.expect_err("no random bytes").to_string();
            assert!(text.starts_with("cannot generate the key"), "{text}");
            assert!(text.contains("`/dev/urandom`"), "{text}");
        }
    }
}
