//! The commands there are: what they are called, and how many arguments they take.

use super::replies::{Replies, Version};

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

    /// The command of this name, in whatever case.
    #[inline]
    pub(super) fn named(name: &[u8]) -> Option<Self> {
        // What nearly everybody asks for, as nearly everybody spells it.
        if name == b"CL.THROTTLE" {
            return Some(Self::Throttle);
        }
        Self::ALL.into_iter().find(|command| {
            let own = command.name().as_bytes();
            own.len() == name.len() && own.eq_ignore_ascii_case(name)
        })
    }

    /// Its name, as answers spell it.
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

    /// How many arguments it takes, its name included: at least, and at most.
    pub(super) const fn takes(self) -> (usize, usize) {
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

    /// Whether it may be used before the password was given.
    pub(super) const fn is_for_everybody(self) -> bool {
        matches!(self, Self::Auth | Self::Hello | Self::Quit | Self::Reset)
    }

    fn summary(self) -> &'static str {
        match self {
            Self::Throttle => "Takes units from the bucket of a key, if they are there.",
            Self::Check => "Says whether a request may go ahead under the rules.",
            Self::Auth => "Gives the password.",
            Self::Client => "Tells, or asks, about the connection.",
            Self::Commands => "Lists the commands.",
            Self::Config => "Has nothing to tell.",
            Self::Echo => "Returns the given text.",
            Self::Hello => "Chooses the version of the protocol.",
            Self::Info => "Says what the server is.",
            Self::Ping => "Says that the server is there.",
            Self::Quit => "Closes the connection.",
            Self::Reset => "Makes the connection as good as new.",
            Self::Select => "Chooses the database, of which there is one.",
        }
    }

    /// How many arguments it takes, as Redis says it: negative for at least so many.
    fn arity(self) -> i64 {
        let (least, most) = self.takes();
        let count = i64::try_from(least).unwrap_or(i64::MAX);
        if least == most { count } else { -count }
    }

    /// What `COMMAND INFO` says of it.
    pub(super) fn describe(self, replies: &mut Replies, version: Version) {
        replies.array(10);
        replies.bulk(self.name());
        replies.integer(self.arity());
        let flags: &[&'static str] = match self {
            Self::Throttle => &["write", "denyoom", "fast"],
            Self::Check => &["write", "fast"],
            _ if self.is_for_everybody() => &["noscript", "loading", "stale", "fast", "no_auth"],
            _ => &["loading", "stale", "fast"],
        };
        replies.set(flags.len(), version);
        for flag in flags {
            replies.simple(flag);
        }
        let (first, last, step) = if self == Self::Throttle { (1, 1, 1) } else { (0, 0, 0) };
        for place in [first, last, step] {
            replies.integer(place);
        }
        // Categories of access, hints, ways to find keys, and commands below it: none.
        replies.set(0, version);
        replies.set(0, version);
        replies.set(0, version);
        replies.array(0);
    }

    /// What `COMMAND DOCS` says of it.
    pub(super) fn document(self, replies: &mut Replies, version: Version) {
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
