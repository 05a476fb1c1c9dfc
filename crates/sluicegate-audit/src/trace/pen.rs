//! The thread that writes a trace, line by line.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError};

use serde::Serialize;

use super::lost::Lost;
use super::{Message, ROOM, Trouble, Watcher};
use crate::header::{Header, RuleSpec};

/// After so many lines a gap is told at the latest, also if there is more to write all the time:
/// sooner than an audit needs to know of it.
const LINES_UNTIL_TOLD: usize = ROOM / 2;

/// What the writing thread did.
#[derive(Debug)]
pub(super) struct Written {
    pub(super) entries: u64,
    pub(super) lost: u64,
    pub(super) failed: Option<io::Error>,
}

/// Where lines go.
pub(super) struct Pen<W: Write> {
    out: BufWriter<W>,
    entries: u64,
    failed: Option<io::Error>,
    lost: Arc<Lost>,
    watcher: Watcher,
}

/// A rule that is named from now on.
#[derive(Serialize)]
struct Rules<'a> {
    event: &'static str,
    rules: BTreeMap<&'a str, &'a RuleSpec>,
}

/// The last line.
#[derive(Serialize)]
struct End {
    event: &'static str,
    entries: u64,
    lost: u64,
}

impl<W: Write> Pen<W> {
    /// Writes the header.
    pub(super) fn new(
        out: W,
        header: &Header,
        lost: Arc<Lost>,
        watcher: Watcher,
    ) -> io::Result<Self> {
        let out = BufWriter::new(out);
        let mut pen = Self { out, entries: 0, failed: None, lost, watcher };
        pen.line(header)?;
        Ok(pen)
    }

    /// Writes what comes until the end; after a failure it only goes on taking it.
    pub(super) fn write_all(mut self, receiver: &Receiver<Message>) -> Written {
        let mut untold_for = 0;
        while let Some(message) = self.next(receiver) {
            let written = match &message {
                Message::Entry(entry) if self.failed.is_some() => {
                    self.lost.add(entry.at, entry.at);
                    continue;
                }
                Message::Rule(_) if self.failed.is_some() => continue,
                Message::Entry(entry) => self.line(&**entry).map(|()| self.entries += 1),
                Message::Rule(rule) => {
                    let rules = BTreeMap::from([(rule.0.as_str(), &rule.1)]);
                    self.line(&Rules { event: "rules", rules })
                }
                Message::Finish => break,
            };
            self.note(written);
            if let (Message::Entry(entry), Some(_)) = (&message, &self.failed) {
                self.lost.add(entry.at, entry.at);
            }
            untold_for += 1;
            if untold_for >= LINES_UNTIL_TOLD {
                untold_for = 0;
                self.tell_gap();
            }
        }
        self.tell_gap();
        let (entries, lost) = (self.entries, self.lost.total());
        if self.failed.is_none() {
            let ended = self.line(&End { event: "end", entries, lost });
            let ended = ended.and_then(|()| self.out.flush());
            self.note(ended);
        }
        Written { entries, lost, failed: self.failed }
    }

    /// The next message. Before waiting for one, what was written is let go: a process that is
    /// killed then loses little.
    fn next(&mut self, receiver: &Receiver<Message>) -> Option<Message> {
        match receiver.try_recv() {
            Ok(message) => return Some(message),
            Err(TryRecvError::Disconnected) => return None,
            Err(TryRecvError::Empty) => {}
        }
        self.tell_gap();
        if self.failed.is_none() {
            let flushed = self.out.flush();
            self.note(flushed);
        }
        receiver.recv().ok()
    }

    /// Writes down that entries are missing, if any are.
    fn tell_gap(&mut self) {
        if self.failed.is_some() {
            return;
        }
        if let Some(gap) = self.lost.take() {
            let written = self.line(&gap);
            self.note(written);
            (self.watcher)(&Trouble::Gap { lost: gap.lost });
        }
    }

    /// Takes down the first failure.
    fn note(&mut self, written: io::Result<()>) {
        if let (Err(error), None) = (written, &self.failed) {
            (self.watcher)(&Trouble::Failed { why: error.to_string() });
            self.failed = Some(error);
        }
    }

    fn line(&mut self, line: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut self.out, line)?;
        self.out.write_all(b"\n")
    }
}
