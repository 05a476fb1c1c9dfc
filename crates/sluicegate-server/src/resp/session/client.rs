//! `CLIENT`: what a client says about itself, and what it may want to know.

use super::{Session, unknown_subcommand, wrong_count};
use crate::resp::arguments::Arguments;
use crate::resp::replies::Replies;

/// What may be asked, for those who ask for help.
const HELP: [&str; 8] = [
    "CLIENT <subcommand> [<arg> ...]. Subcommands are:",
    "GETNAME: the name of this connection.",
    "ID: its number.",
    "INFO: what is known of it.",
    "NO-EVICT, NO-TOUCH (ON|OFF): does nothing.",
    "SETINFO <option> <value>: does nothing.",
    "SETNAME <name>: names it.",
    "HELP: this.",
];

impl Session {
    pub(super) fn about_client(&mut self, arguments: Arguments<'_>, replies: &mut Replies) {
        let asked = |word| arguments.is(1, word);
        let mut takes = |count: usize, word: &str| {
            let right = arguments.len() == count;
            if !right {
                wrong_count(replies, &format!("client|{word}"));
            }
            right
        };
        if asked("SETINFO") {
            if takes(4, "setinfo") {
                replies.ok();
            }
        } else if asked("SETNAME") {
            if takes(3, "setname") && self.rename(arguments.get(2).unwrap_or_default(), replies) {
                replies.ok();
            }
        } else if asked("GETNAME") {
            match (takes(2, "getname"), self.name.is_empty()) {
                (true, true) => replies.null(self.version),
                (true, false) => replies.bulk(&self.name),
                (false, _) => {}
            }
        } else if asked("ID") {
            if takes(2, "id") {
                replies.integer(self.number());
            }
        } else if asked("INFO") {
            if takes(2, "info") {
                replies.verbatim(&self.line(), self.version);
            }
        } else if asked("NO-EVICT") || asked("NO-TOUCH") {
            match (takes(3, "no-evict"), arguments.is(2, "ON") || arguments.is(2, "OFF")) {
                (true, true) => replies.ok(),
                (true, false) => replies.error("ERR syntax error"),
                (false, _) => {}
            }
        } else if asked("HELP") {
            replies.array(HELP.len());
            for line in HELP {
                replies.simple(line);
            }
        } else {
            unknown_subcommand(arguments, replies);
        }
    }

    /// Its number, which no other connection has.
    pub(super) fn number(&self) -> i64 {
        i64::try_from(self.id).unwrap_or(i64::MAX)
    }

    /// Takes another name, if it is one that fits into a line of such names; says so if not.
    pub(super) fn rename(&mut self, name: &[u8], replies: &mut Replies) -> bool {
        let right = name.iter().all(|letter| (b'!'..=b'~').contains(letter));
        if right {
            self.name = name.into();
        } else {
            replies
                .error("ERR Client names cannot contain spaces, newlines or special characters.");
        }
        right
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
