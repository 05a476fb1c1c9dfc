//! What there is to know about the server: its commands, its settings, and how it is doing.

use super::{unknown_subcommand, wrong_count};
use crate::measured::Measured;
use crate::resp::Resp;
use crate::resp::arguments::Arguments;
use crate::resp::command::Command;
use crate::resp::replies::{Replies, Version};

/// The version of Redis whose commands these are, for clients that ask before they use one.
const AS_IN_REDIS: &str = "7.2.0";

/// `COMMAND`, and what there is below it.
pub(super) fn commands(arguments: Arguments<'_>, replies: &mut Replies, version: Version) {
    let asked = |word| arguments.is(1, word);
    let named = || arguments.from(2).map(Command::named);
    if arguments.len() == 1 || (asked("INFO") && arguments.len() == 2) {
        replies.array(Command::ALL.len());
        for command in Command::ALL {
            command.describe(replies, version);
        }
    } else if asked("INFO") {
        replies.array(arguments.len() - 2);
        for command in named() {
            match command {
                Some(command) => command.describe(replies, version),
                None => replies.null(version),
            }
        }
    } else if asked("COUNT") {
        replies.integer(i64::try_from(Command::ALL.len()).unwrap_or(i64::MAX));
    } else if asked("LIST") && arguments.len() == 2 {
        replies.set(Command::ALL.len(), version);
        for command in Command::ALL {
            replies.bulk(command.name());
        }
    } else if asked("DOCS") {
        let all = if arguments.len() == 2 { &Command::ALL[..] } else { &[] };
        let some: Vec<Command> = all.iter().copied().chain(named().flatten()).collect();
        replies.map(some.len(), version);
        for command in some {
            command.document(replies, version);
        }
    } else {
        unknown_subcommand(arguments, replies);
    }
}

/// `CONFIG GET`: what some programs want to know first. Nothing can be set.
pub(super) fn config(arguments: Arguments<'_>, replies: &mut Replies, version: Version) {
    const SETTINGS: [(&str, &str); 3] = [("appendonly", "no"), ("databases", "1"), ("save", "")];
    match (arguments.is(1, "GET"), arguments.len()) {
        (true, 3..) => {
            let asked = |name: &str| (2..arguments.len()).any(|index| arguments.is(index, name));
            replies.map(SETTINGS.iter().filter(|(name, _)| asked(name)).count(), version);
            for (name, value) in SETTINGS.into_iter().filter(|(name, _)| asked(name)) {
                replies.bulk(name);
                replies.bulk(value);
            }
        }
        (true, _) => wrong_count(replies, "config|get"),
        (false, _) => unknown_subcommand(arguments, replies),
    }
}

/// `INFO`, whichever part was asked for: it is short.
pub(super) fn info<S: Measured>(resp: &Resp<S>) -> String {
    let store = resp.context.gate.limiter().store();
    let (size, shared) = (store.size(), store.shared());
    let counts = shared.map(|shared| shared.counts).unwrap_or_default();
    format!(
        "# Server\r\nredis_version:{AS_IN_REDIS}\r\nsluicegate_version:{}\r\nredis_mode:standalone\r\n\
         process_id:{}\r\n\r\n\
         # Memory\r\nused_memory:{}\r\nmaxmemory:{}\r\n\r\n\
         # Persistence\r\nloading:0\r\n\r\n\
         # Replication\r\nrole:master\r\nconnected_slaves:0\r\n\r\n\
         # Keyspace\r\ndb0:keys={},expires={},avg_ttl=0\r\n\r\n\
         # Decisions\r\ndecisions_by_memory:{}\r\ndecisions_by_share:{}\r\ndecisions_by_policy:{}\r\n",
        env!("CARGO_PKG_VERSION"),
        std::process::id(),
        size.bytes,
        size.max_bytes,
        size.counters,
        size.counters,
        counts.by_memory,
        counts.by_share,
        counts.allowed_by_policy.saturating_add(counts.denied_by_policy),
    )
}
