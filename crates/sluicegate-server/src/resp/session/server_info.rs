//! `COMMAND`, `CONFIG` and `INFO`: the commands, settings and state of the server.

use super::{unknown_subcommand, wrong_count};
use crate::resp::Resp;
use crate::resp::arguments::Arguments;
use crate::resp::command::Command;
use crate::resp::reply_writer::{ReplyWriter, Version};
use crate::store_stats::StoreStats;

/// The version of Redis that is reported, for clients that check it before they use a command.
const REDIS_VERSION: &str = "7.2.0";

/// Answers `COMMAND` and its subcommands.
pub(super) fn commands(arguments: Arguments<'_>, replies: &mut ReplyWriter, version: Version) {
    let is = |word| arguments.is(1, word);
    let named = || arguments.from(2).map(Command::named);
    if arguments.len() == 1 || (is("INFO") && arguments.len() == 2) {
        replies.array(Command::ALL.len());
        for command in Command::ALL {
            command.describe(replies, version);
        }
    } else if is("INFO") {
        replies.array(arguments.len() - 2);
        for command in named() {
            match command {
                Some(command) => command.describe(replies, version),
                None => replies.null(version),
            }
        }
    } else if is("COUNT") {
        replies.integer(i64::try_from(Command::ALL.len()).unwrap_or(i64::MAX));
    } else if is("LIST") && arguments.len() == 2 {
        replies.set(Command::ALL.len(), version);
        for command in Command::ALL {
            replies.bulk(command.name());
        }
    } else if is("DOCS") {
        let all = if arguments.len() == 2 { &Command::ALL[..] } else { &[] };
        let listed: Vec<Command> = all.iter().copied().chain(named().flatten()).collect();
        replies.map(listed.len(), version);
        for command in listed {
            command.document(replies, version);
        }
    } else {
        unknown_subcommand(arguments, replies);
    }
}

/// Answers `CONFIG GET`, which some clients send first; nothing can be set.
pub(super) fn config(arguments: Arguments<'_>, replies: &mut ReplyWriter, version: Version) {
    const SETTINGS: [(&str, &str); 3] = [("appendonly", "no"), ("databases", "1"), ("save", "")];
    match (arguments.is(1, "GET"), arguments.len()) {
        (true, 3..) => {
            let is_requested =
                |name: &str| (2..arguments.len()).any(|index| arguments.is(index, name));
            replies.map(SETTINGS.iter().filter(|(name, _)| is_requested(name)).count(), version);
            for (name, value) in SETTINGS.into_iter().filter(|(name, _)| is_requested(name)) {
                replies.bulk(name);
                replies.bulk(value);
            }
        }
        (true, _) => wrong_count(replies, "config|get"),
        (false, _) => unknown_subcommand(arguments, replies),
    }
}

/// Returns the text of `INFO`, with all sections, because it is short.
pub(super) fn info<S: StoreStats>(resp: &Resp<S>) -> String {
    let store = resp.context.gate.limiter().store();
    let (size, shared) = (store.size(), store.shared());
    let counts = shared.map(|shared| shared.counts).unwrap_or_default();
    format!(
        "# Server\r\nredis_version:{REDIS_VERSION}\r\nsluicegate_version:{}\r\nredis_mode:standalone\r\n\
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
