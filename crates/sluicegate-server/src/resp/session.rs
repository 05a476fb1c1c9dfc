//! What a connection has agreed on, and the commands about it.

mod about;
mod client;
mod hello;
mod password;

use std::fmt::Write;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Resp;
use super::arguments::Arguments;
use super::command::Command;
use super::integer;
use super::parsing::Violation;
use super::replies::{Replies, Shown, Version};
use crate::measured::Measured;

/// What a connection has agreed on.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) version: Version,
    /// Whether the password was given, or none is needed.
    pub(super) is_trusted: bool,
    id: u64,
    peer: SocketAddr,
    /// What the client calls itself.
    name: Box<[u8]>,
}

/// What happens after an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    GoOn,
    Close,
}

impl Session {
    pub(super) fn new(peer: SocketAddr, is_trusted: bool) -> Self {
        static OPENED: AtomicU64 = AtomicU64::new(0);
        let id = OPENED.fetch_add(1, Ordering::Relaxed) + 1;
        Self { version: Version::default(), is_trusted, id, peer, name: Box::default() }
    }

    /// Answers a command that asks about nobody's limits.
    pub(super) fn answer<S: Measured>(
        &mut self,
        command: Command,
        arguments: Arguments<'_>,
        resp: &Resp<S>,
        replies: &mut Replies,
    ) -> Then {
        let (least, most) = command.takes();
        if !(least..=most).contains(&arguments.len()) {
            wrong_count(replies, command.name());
            return Then::GoOn;
        }
        match command {
            // Whoever asks about limits is answered elsewhere.
            Command::Throttle | Command::Check => {}
            Command::Auth => self.authenticate(arguments, resp.password(), replies),
            Command::Client => self.about_client(arguments, replies),
            Command::Commands => about::commands(arguments, replies, self.version),
            Command::Config => about::config(arguments, replies, self.version),
            Command::Echo => replies.bulk(arguments.get(1).unwrap_or_default()),
            Command::Hello => self.hello(arguments, resp.password(), replies),
            Command::Info => replies.verbatim(&about::info(resp), self.version),
            Command::Ping => match arguments.get(1) {
                Some(text) => replies.bulk(text),
                None => replies.simple("PONG"),
            },
            Command::Quit => {
                replies.ok();
                return Then::Close;
            }
            Command::Reset => {
                *self = Self {
                    version: Version::default(),
                    is_trusted: resp.password().is_none(),
                    name: Box::default(),
                    ..*self
                };
                replies.simple("RESET");
            }
            Command::Select => match arguments.get(1).and_then(integer) {
                Some(0) => replies.ok(),
                Some(_) => replies.error("ERR DB index is out of range"),
                None => replies.error("ERR value is not an integer or out of range"),
            },
        }
        Then::GoOn
    }

    /// Answers that the password has to be given first.
    pub(super) fn demand_password(replies: &mut Replies) {
        replies.error("NOAUTH Authentication required.");
    }
}

/// Answers a command that does not exist, or finds that it is none.
pub(super) fn unknown(arguments: Arguments<'_>, replies: &mut Replies) -> Result<(), Violation> {
    let name = arguments.name();
    let is = |word: &str| name.eq_ignore_ascii_case(word.as_bytes());
    let version = arguments.get(2).filter(|_| arguments.len() == 3);
    if is("post") || is("host:") || version.is_some_and(|word| word.starts_with(b"HTTP/")) {
        return Err(Violation::Http);
    }
    let mut shown = String::new();
    for argument in arguments.from(1) {
        let Some(left) = Shown::MOST.checked_sub(shown.len()).filter(|left| *left > 0) else {
            break;
        };
        let argument = argument.get(..left).unwrap_or(argument);
        // Writing to memory does not fail.
        let _ = write!(shown, "'{}' ", Shown(argument));
    }
    replies.error(format_args!(
        "ERR unknown command '{}', with args beginning with: {shown}",
        Shown(name)
    ));
    Ok(())
}

fn wrong_count(replies: &mut Replies, command: &str) {
    replies.error(format_args!("ERR wrong number of arguments for '{command}' command"));
}

fn unknown_subcommand(arguments: Arguments<'_>, replies: &mut Replies) {
    let name = String::from_utf8_lossy(arguments.name()).to_ascii_uppercase();
    let found = Shown(arguments.get(1).unwrap_or_default());
    replies.error(format_args!("ERR unknown subcommand '{found}'. Try {name} HELP."));
}
