//! `CLIENT`: the name and the properties of a connection.

use super::{Session, unknown_subcommand, wrong_count};
use crate::resp::arguments::Arguments;
use crate::resp::reply_writer::ReplyWriter;

/// The reply to `CLIENT HELP`.
const HELP: [&str; 8] = [
    "CLIENT <subcommand> [<arg> ...]. Subcommands are:",
    "GETNAME: returns the name of this connection.",
    "ID: returns its number.",
    "INFO: returns its properties.",
    "NO-EVICT, NO-TOUCH (ON|OFF): does nothing.",
    "SETINFO <option> <value>: does nothing.",
    "SETNAME <name>: sets its name.",
    "HELP: returns this text.",
];

impl Session {
    pub(super) fn client(&mut self, arguments: Arguments<'_>, replies: &mut ReplyWriter) {
        let is = |word| arguments.is(1, word);
        let mut has_count = |count: usize, word: &str| {
            let is_valid = arguments.len() == count;
            if !is_valid {
                wrong_count(replies, &format!("client|{word}"));
            }
            is_valid
        };
        if is("SETINFO") {
            if has_count(4, "setinfo") {
                replies.ok();
            }
        } else if is("SETNAME") {
            if has_count(3, "setname") && self.rename(arguments.at(2), replies) {
                replies.ok();
            }
        } else if is("GETNAME") {
            match (has_count(2, "getname"), self.name.is_empty()) {
                (true, true) => replies.null(self.version),
                (true, false) => replies.bulk(&self.name),
                (false, _) => {}
            }
        } else if is("ID") {
            if has_count(2, "id") {
                replies.integer(self.number());
            }
        } else if is("INFO") {
            if has_count(2, "info") {
                replies.verbatim(&self.line(), self.version);
            }
        } else if is("NO-EVICT") || is("NO-TOUCH") {
            match (has_count(3, "no-evict"), arguments.is(2, "ON") || arguments.is(2, "OFF")) {
                (true, true) => replies.ok(),
                (true, false) => replies.error("ERR syntax error"),
                (false, _) => {}
            }
        } else if is("HELP") {
            replies.array(HELP.len());
            for line in HELP {
                replies.simple(line);
            }
        } else {
            unknown_subcommand(arguments, replies);
        }
    }

    /// Returns its unique number.
    pub(super) fn number(&self) -> i64 {
        i64::try_from(self.id).unwrap_or(i64::MAX)
    }

    /// Sets the name if its characters are valid, and replies with an error otherwise.
    pub(super) fn rename(&mut self, name: &[u8], replies: &mut ReplyWriter) -> bool {
        let is_valid = name.iter().all(|letter| (b'!'..=b'~').contains(letter));
        if is_valid {
            self.name = name.into();
        } else {
            replies
                .error("ERR Client names cannot contain spaces, newlines or special characters.");
        }
        is_valid
    }

    fn line(&self) -> String {
        format!(
            "id={} addr={} name={} db=0 resp={} user=default\n",
            self.id,
            self.peer,
            String::from_utf8_lossy(&self.name),
            self.version.number()
        )
    }
}
