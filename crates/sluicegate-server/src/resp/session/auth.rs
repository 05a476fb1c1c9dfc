//! `AUTH`: checks the password of a connection.

use std::hint::black_box;

use super::{Session, wrong_count};
use crate::resp::arguments::Arguments;
use crate::resp::command::Command;
use crate::resp::reply_writer::ReplyWriter;

/// The name of the only user.
const USER: &[u8] = b"default";

/// The reason that authentication failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AuthError {
    /// The server has no password.
    NoneSet,
    /// The password or the user is wrong.
    Wrong,
}

impl AuthError {
    pub(super) fn write(self, replies: &mut ReplyWriter) {
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
        replies: &mut ReplyWriter,
    ) {
        let result = match (arguments.get(1), arguments.get(2)) {
            (Some(given), None) if password.is_some() => self.check_password(USER, given, password),
            (Some(_), None) => Err(AuthError::NoneSet),
            (Some(user), Some(given)) => self.check_password(user, given, password),
            (None, _) => return wrong_count(replies, Command::Auth.name()),
        };
        match result {
            Ok(()) => replies.ok(),
            Err(error) => error.write(replies),
        }
    }

    /// Authenticates the connection if the password is right or none is needed.
    pub(super) fn check_password(
        &mut self,
        user: &[u8],
        given: &[u8],
        password: Option<&str>,
    ) -> Result<(), AuthError> {
        let is_right = password.is_none_or(|password| is_same(given, password.as_bytes()));
        if !is_right || user != USER {
            return Err(AuthError::Wrong);
        }
        self.is_authenticated = true;
        Ok(())
    }
}

/// Compares both in a time that does not depend on the position of a difference.
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
    fn only_equal_passwords_match() {
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
