//! The password, where one is needed.

use std::hint::black_box;

use super::{Session, wrong_count};
use crate::resp::arguments::Arguments;
use crate::resp::command::Command;
use crate::resp::replies::Replies;

/// The only user there is.
const USER: &[u8] = b"default";

/// Why a password was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotTaken {
    /// There is none.
    NoneSet,
    /// It is another one, or another user.
    Wrong,
}

impl NotTaken {
    pub(super) fn tell(self, replies: &mut Replies) {
        replies.error(match self {
            Self::NoneSet => {
                "ERR AUTH <password> called without any password configured for the default user. \
                 Are you sure your configuration is correct?"
            }
            Self::Wrong => "WRONGPASS invalid username-password pair or user is disabled.",
        });
    }
}

impl Session {
    pub(super) fn authenticate(
        &mut self,
        arguments: Arguments<'_>,
        password: Option<&str>,
        replies: &mut Replies,
    ) {
        let taken = match (arguments.get(1), arguments.get(2)) {
            (Some(given), None) if password.is_some() => self.trust(USER, given, password),
            (Some(_), None) => Err(NotTaken::NoneSet),
            (Some(user), Some(given)) => self.trust(user, given, password),
            (None, _) => return wrong_count(replies, Command::Auth.name()),
        };
        match taken {
            Ok(()) => replies.ok(),
            Err(not_taken) => not_taken.tell(replies),
        }
    }

    /// Trusts the connection if this is the password. Where none is needed, any will do.
    pub(super) fn trust(
        &mut self,
        user: &[u8],
        given: &[u8],
        password: Option<&str>,
    ) -> Result<(), NotTaken> {
        let right = password.is_none_or(|password| is_same(given, password.as_bytes()));
        if !right || user != USER {
            return Err(NotTaken::Wrong);
        }
        self.is_trusted = true;
        Ok(())
    }
}

/// Whether both are the same. How long this takes says nothing about where they differ.
fn is_same(given: &[u8], password: &[u8]) -> bool {
    let mut difference = given.len() ^ password.len();
    for (one, other) in given.iter().zip(password.iter().cycle()) {
        difference = black_box(difference | usize::from(one ^ other));
    }
    difference == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_password_is_the_same() {
        assert!(is_same(b"secret", b"secret"));
        assert!(is_same(b"", b""));
        for (given, password) in [
            ("secret", "secreT"),
            ("secre", "secret"),
            ("secretsecret", "secret"),
            ("", "s"),
            ("s", ""),
        ] {
            assert!(!is_same(given.as_bytes(), password.as_bytes()), "{given} {password}");
        }
    }
}
