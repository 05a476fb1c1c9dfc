//! `HELLO`: selects the protocol version, authenticates, and describes the server.

use super::Session;
use crate::resp::arguments::Arguments;
use crate::resp::integer;
use crate::resp::reply_writer::{Excerpt, ReplyWriter, Version};

const NOT_AUTHENTICATED: &str = "NOAUTH HELLO must be called with the client already authenticated, \
    otherwise the HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client \
    and select the RESP protocol version at the same time";

impl Session {
    /// Applies all options, or none if one is invalid.
    pub(super) fn hello(
        &mut self,
        arguments: Arguments<'_>,
        password: Option<&str>,
        replies: &mut ReplyWriter,
    ) {
        let version = match arguments.get(1).map(integer) {
            None => self.version,
            Some(Some(2)) => Version::Two,
            Some(Some(3)) => Version::Three,
            Some(Some(_)) => return replies.error("NOPROTO unsupported protocol version"),
            Some(None) => {
                return replies.error("ERR Protocol version is not an integer or out of range");
            }
        };
        let (mut credentials, mut name) = (None, None);
        let mut at = 2;
        while let Some(option) = arguments.get(at) {
            let (first, second) = (arguments.get(at + 1), arguments.get(at + 2));
            match (first, second) {
                (Some(user), Some(given)) if arguments.is(at, "AUTH") => {
                    credentials = Some((user, given));
                    at += 3;
                }
                (Some(given), _) if arguments.is(at, "SETNAME") => {
                    name = Some(given);
                    at += 2;
                }
                _ => {
                    let option = Excerpt(option);
                    return replies
                        .error(format_args!("ERR Syntax error in HELLO option '{option}'"));
                }
            }
        }
        if let Some((user, given)) = credentials
            && let Err(error) = self.check_password(user, given, password)
        {
            return error.write(replies);
        }
        if !self.is_authenticated {
            return replies.error(NOT_AUTHENTICATED);
        }
        if let Some(name) = name
            && !self.rename(name, replies)
        {
            return;
        }
        self.version = version;
        replies.map(7, version);
        for (field, value) in [("server", "sluicegate"), ("version", env!("CARGO_PKG_VERSION"))] {
            replies.bulk(field);
            replies.bulk(value);
        }
        replies.bulk("proto");
        replies.integer(version.number());
        replies.bulk("id");
        replies.integer(self.number());
        for (field, value) in [("mode", "standalone"), ("role", "master")] {
            replies.bulk(field);
            replies.bulk(value);
        }
        replies.bulk("modules");
        replies.array(0);
    }
}
