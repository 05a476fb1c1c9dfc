//! The thread that writes a trace, line by line.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError};

use serde::Serialize;

use super::dropped::DroppedEntries;
use super::{FailureCallback, Message, ROOM, WriteFailure};
use crate::trace::header::{RuleSpec, TraceHeader};

/// The most lines before a gap is written, even under constant load: fewer than an audit holds
/// back before it needs the gap.
const LINES_UNTIL_GAP: usize = ROOM / 2;

/// The result of the writing thread.
#[derive(Debug)]
pub(super) struct Output {
    pub(super) entries: u64,
    pub(super) lost: u64,
    pub(super) failed: Option<io::Error>,
}

/// The output of lines.
pub(super) struct WriterThread<W: Write> {
    out: BufWriter<W>,
    entries: u64,
    failed: Option<io::Error>,
    lost: Arc<DroppedEntries>,
    watcher: FailureCallback,
}

/// A line with new rules.
#[derive(Serialize)]
struct RulesLine<'a> {
    event: &'static str,
    rules: BTreeMap<&'a str, &'a RuleSpec>,
}

/// The last line.
#[derive(Serialize)]
struct EndLine {
    event: &'static str,
    entries: u64,
    lost: u64,
}

impl<W: Write> WriterThread<W> {
    /// Writes the header.
    pub(super) fn new(
        out: W,
        header: &TraceHeader,
        lost: Arc<DroppedEntries>,
        watcher: FailureCallback,
    ) -> io::Result<Self> {
        let out = BufWriter::new(out);
        let mut pen = Self { out, entries: 0, failed: None, lost, watcher };
        pen.line(header)?;
        Ok(pen)
    }

    /// Writes messages until the end; after a failure it only drains them.
    pub(super) fn write_all(mut self, receiver: &Receiver<Message>) -> Output {
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
                    self.line(&RulesLine { event: "rules", rules })
                }
                Message::Finish => break,
            };
            self.note(written);
            if let (Message::Entry(entry), Some(_)) = (&message, &self.failed) {
                self.lost.add(entry.at, entry.at);
            }
            untold_for += 1;
            if untold_for >= LINES_UNTIL_GAP {
                untold_for = 0;
                self.write_gap();
            }
        }
        self.write_gap();
        let (entries, lost) = (self.entries, self.lost.total());
        if self.failed.is_none() {
            let ended = self.line(&EndLine { event: "end", entries, lost });
            let ended = ended.and_then(|()| self.out.flush());
            self.note(ended);
        }
        Output { entries, lost, failed: self.failed }
    }

    /// Returns the next message. Flushes before it waits for one, so that a killed process loses
    /// little.
    fn next(&mut self, receiver: &Receiver<Message>) -> Option<Message> {
        match receiver.try_recv() {
            Ok(message) => return Some(message),
            Err(TryRecvError::Disconnected) => return None,
            Err(TryRecvError::Empty) => {}
        }
        self.write_gap();
        if self.failed.is_none() {
            let flushed = self.out.flush();
            self.note(flushed);
        }
        receiver.recv().ok()
    }

    /// Writes a gap line, if entries are missing.
    fn write_gap(&mut self) {
        if self.failed.is_some() {
            return;
        }
        if let Some(gap) = self.lost.take() {
            let written = self.line(&gap);
            self.note(written);
            (self.watcher)(&WriteFailure::Gap { lost: gap.lost });
        }
    }

    /// Keeps the first failure.
    fn note(&mut self, written: io::Result<()>) {
        if let (Err(error), None) = (written, &self.failed) {
            (self.watcher)(&WriteFailure::Failed { why: error.to_string() });
            self.failed = Some(error);
        }
    }

    fn line(&mut self, line: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut self.out, line)?;
        self.out.write_all(b"\n")
    }
}
