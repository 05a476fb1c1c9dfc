//! The state of a RESP session, and the commands about it.

mod auth;
mod client;
mod hello;
mod server_info;

use std::fmt::Write;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Resp;
use super::arguments::Arguments;
use super::command::Command;
use super::integer;
use super::parser::ProtocolError;
use super::reply_writer::{Excerpt, ReplyWriter, Version};
use crate::store_stats::StoreStats;

/// The state of a session.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) version: Version,
    /// Whether the client has authenticated, or no password is needed.
    pub(super) is_authenticated: bool,
    id: u64,
    peer: SocketAddr,
    /// The name that the client has set.
    name: Box<[u8]>,
}

/// The action after a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NextAction {
    Continue,
    Close,
}

impl Session {
    pub(super) fn new(peer: SocketAddr, is_authenticated: bool) -> Self {
        static OPENED: AtomicU64 = AtomicU64::new(0);
        let id = OPENED.fetch_add(1, Ordering::Relaxed) + 1;
        Self { version: Version::default(), is_authenticated, id, peer, name: Box::default() }
    }

    /// Answers a command that checks no limit.
    pub(super) fn answer<S: StoreStats>(
        &mut self,
        command: Command,
        arguments: Arguments<'_>,
        resp: &Resp<S>,
        replies: &mut ReplyWriter,
    ) -> NextAction {
        let (least, most) = command.argument_range();
        if !(least..=most).contains(&arguments.len()) {
            wrong_count(replies, command.name());
            return NextAction::Continue;
        }
        match command {
            // Answered by the pipeline.
            Command::Throttle | Command::Check => {}
            Command::Auth => self.authenticate(arguments, resp.password(), replies),
            Command::Client => self.client(arguments, replies),
            Command::Commands => server_info::commands(arguments, replies, self.version),
            Command::Config => server_info::config(arguments, replies, self.version),
            Command::Echo => replies.bulk(arguments.at(1)),
            Command::Hello => self.hello(arguments, resp.password(), replies),
            Command::Info => replies.verbatim(&server_info::info(resp), self.version),
            Command::Ping => match arguments.get(1) {
                Some(text) => replies.bulk(text),
                None => replies.simple("PONG"),
            },
            Command::Quit => {
                replies.ok();
                return NextAction::Close;
            }
            Command::Reset => {
                *self = Self {
                    version: Version::default(),
                    is_authenticated: resp.password().is_none(),
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
        NextAction::Continue
    }

    /// Replies that authentication is required.
    pub(super) fn demand_password(replies: &mut ReplyWriter) {
        replies.error("NOAUTH Authentication required.");
    }
}

/// Answers an unknown command; the error is that it is an HTTP request.
pub(super) fn unknown(
    arguments: Arguments<'_>,
    replies: &mut ReplyWriter,
) -> Result<(), ProtocolError> {
    let name = arguments.name();
    let is = |word: &str| name.eq_ignore_ascii_case(word.as_bytes());
    let version = arguments.get(2).filter(|_| arguments.len() == 3);
    if is("post") || is("host:") || version.is_some_and(|word| word.starts_with(b"HTTP/")) {
        return Err(ProtocolError::Http);
    }
    let mut shown = String::new();
    for argument in arguments.from(1) {
        let Some(left) = Excerpt::MAX.checked_sub(shown.len()).filter(|left| *left > 0) else {
            break;
        };
        let argument = argument.get(..left).unwrap_or(argument);
        // Writing to a `String` does not fail.
        let _ = write!(shown, "'{}' ", Excerpt(argument));
    }
    replies.error(format_args!(
        "ERR unknown command '{}', with args beginning with: {shown}",
        Excerpt(name)
    ));
    Ok(())
}

fn wrong_count(replies: &mut ReplyWriter, command: &str) {
    replies.error(format_args!("ERR wrong number of arguments for '{command}' command"));
}

fn unknown_subcommand(arguments: Arguments<'_>, replies: &mut ReplyWriter) {
    let name = String::from_utf8_lossy(arguments.name()).to_ascii_uppercase();
    let found = Excerpt(arguments.at(1));
    replies.error(format_args!("ERR unknown subcommand '{found}'. Try {name} HELP."));
}
