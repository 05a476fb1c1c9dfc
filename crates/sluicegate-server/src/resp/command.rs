//! The RESP commands: names, arity and documentation.

use super::reply_writer::{ReplyWriter, Version};

/// A command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Command {
    Throttle,
    Check,
    Auth,
    Client,
    Commands,
    Config,
    Echo,
    Hello,
    Info,
    Ping,
    Quit,
    Reset,
    Select,
}

impl Command {
    pub(super) const ALL: [Self; 13] = [
        Self::Throttle,
        Self::Check,
        Self::Auth,
        Self::Client,
        Self::Commands,
        Self::Config,
        Self::Echo,
        Self::Hello,
        Self::Info,
        Self::Ping,
        Self::Quit,
        Self::Reset,
        Self::Select,
    ];

    /// Returns the command of this name, in any case.
    #[inline]
    pub(super) fn named(name: &[u8]) -> Option<Self> {
        // The usual command in its usual spelling needs no search.
        if name == b"CL.THROTTLE" {
            return Some(Self::Throttle);
        }
        Self::ALL.into_iter().find(|command| {
            let own = command.name().as_bytes();
            own.len() == name.len() && own.eq_ignore_ascii_case(name)
        })
    }

    /// Returns its name, in lower case.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Throttle => "cl.throttle",
            Self::Check => "sluicegate.check",
            Self::Auth => "auth",
            Self::Client => "client",
            Self::Commands => "command",
            Self::Config => "config",
            Self::Echo => "echo",
            Self::Hello => "hello",
            Self::Info => "info",
            Self::Ping => "ping",
            Self::Quit => "quit",
            Self::Reset => "reset",
            Self::Select => "select",
        }
    }

    /// Returns the least and the most arguments, including its name.
    pub(super) const fn argument_range(self) -> (usize, usize) {
        match self {
            Self::Throttle => (5, 6),
            Self::Check => (3, usize::MAX),
            Self::Auth => (2, 3),
            Self::Client | Self::Config => (2, usize::MAX),
            Self::Commands | Self::Hello | Self::Info | Self::Quit => (1, usize::MAX),
            Self::Ping => (1, 2),
            Self::Reset => (1, 1),
            Self::Echo | Self::Select => (2, 2),
        }
    }

    /// Returns whether it may be used before authentication.
    pub(super) const fn is_allowed_without_auth(self) -> bool {
        matches!(self, Self::Auth | Self::Hello | Self::Quit | Self::Reset)
    }

    fn summary(self) -> &'static str {
        match self {
            Self::Throttle => "Takes units from the bucket of a key if they are available.",
            Self::Check => "Checks a request against the rules.",
            Self::Auth => "Authenticates the connection.",
            Self::Client => "Sets or returns properties of the connection.",
            Self::Commands => "Lists the commands.",
            Self::Config => "Returns a few fixed settings.",
            Self::Echo => "Returns the given text.",
            Self::Hello => "Selects the version of the protocol.",
            Self::Info => "Returns information about the server.",
            Self::Ping => "Returns PONG or the given text.",
            Self::Quit => "Closes the connection.",
            Self::Reset => "Resets the connection.",
            Self::Select => "Selects the database; the only one is 0.",
        }
    }

    /// Returns its arity as Redis defines it: negative for a minimum.
    fn arity(self) -> i64 {
        let (least, most) = self.argument_range();
        let count = i64::try_from(least).unwrap_or(i64::MAX);
        if least == most { count } else { -count }
    }

    /// Writes its entry of `COMMAND INFO`.
    pub(super) fn describe(self, replies: &mut ReplyWriter, version: Version) {
        replies.array(10);
        replies.bulk(self.name());
        replies.integer(self.arity());
        let flags: &[&'static str] = match self {
            Self::Throttle => &["write", "denyoom", "fast"],
            Self::Check => &["write", "fast"],
            _ if self.is_allowed_without_auth() => {
                &["noscript", "loading", "stale", "fast", "no_auth"]
            }
            _ => &["loading", "stale", "fast"],
        };
        replies.set(flags.len(), version);
        for flag in flags {
            replies.simple(flag);
        }
        let (first, last, step) = if self == Self::Throttle { (1, 1, 1) } else { (0, 0, 0) };
        for position in [first, last, step] {
            replies.integer(position);
        }
        // ACL categories, tips, key specifications and subcommands: none.
        replies.set(0, version);
        replies.set(0, version);
        replies.set(0, version);
        replies.array(0);
    }

    /// Writes its entry of `COMMAND DOCS`.
    pub(super) fn document(self, replies: &mut ReplyWriter, version: Version) {
        let group =
            if matches!(self, Self::Throttle | Self::Check) { "module" } else { "connection" };
        replies.bulk(self.name());
        replies.map(3, version);
        for (name, value) in [("summary", self.summary()), ("since", "1.0.0"), ("group", group)] {
            replies.bulk(name);
            replies.bulk(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_any_case() {
        for command in Command::ALL {
            let name = command.name();
            assert_eq!(Command::named(name.as_bytes()), Some(command));
            assert_eq!(Command::named(name.to_uppercase().as_bytes()), Some(command));
        }
        for other in ["", "get", "cl.throttl", "cl.throttles", "CL.THROTTLE "] {
            assert_eq!(Command::named(other.as_bytes()), None, "{other}");
        }
    }
}
