//! The writer of a trace, which never blocks its callers.

mod dropped;
#[cfg(test)]
mod tests;
mod worker;

use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use sluicegate_core::Time;

use self::dropped::DroppedEntries;
use self::worker::{Output, WriterThread};
use crate::trace::entry::TraceEntry;
use crate::trace::header::{RuleSpec, TraceHeader};

/// The number of entries that may wait to be written.
const ROOM: usize = 65_536;

/// Writes a trace. Clones share it.
///
/// A thread of its own writes; callers pass their entries to it without waiting. If it cannot keep
/// up, entries are dropped and counted, and a gap in the trace records their number and times. The
/// end is written by [`finish`](TraceWriter::finish), or when the last clone is dropped.
///
/// ```no_run
/// # use sluicegate_audit::{TraceEntry, TraceEvent, TraceHeader, TraceWriter};
/// # use sluicegate_core::Time;
/// let header = TraceHeader::default().rule("api", "token_bucket:100/min burst 20".parse()?);
/// let trace = TraceWriter::create("trace.jsonl", &header)?;
/// trace.record(TraceEntry::event(TraceEvent::Reset, "api", "user:42", Time::EPOCH));
/// assert_eq!(trace.finish()?.lost, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct TraceWriter {
    shared: Arc<WriterState>,
}

#[derive(Debug)]
struct WriterState {
    sender: SyncSender<Message>,
    lost: Arc<DroppedEntries>,
    writer: Mutex<Option<JoinHandle<Output>>>,
}

#[derive(Debug)]
enum Message {
    Entry(Box<TraceEntry>),
    /// A rule of the entries that follow.
    Rule(Box<(String, RuleSpec)>),
    Finish,
}

/// A problem while a trace is written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum WriteFailure {
    /// Entries are missing: they came faster than they could be written, or the outcome of a
    /// request is unknown.
    Gap {
        /// The number of missing entries.
        lost: u64,
    },
    /// The trace cannot be written any further.
    Failed {
        /// The operating system's error.
        why: String,
    },
}

impl fmt::Display for WriteFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gap { lost: 1 } => f.write_str("1 entry is missing in the trace"),
            Self::Gap { lost } => write!(f, "{lost} entries are missing in the trace"),
            Self::Failed { why } => {
                write!(f, "cannot write the trace: {why}; it ends here, and decisions go on")
            }
        }
    }
}

/// The callback for problems.
type FailureCallback = Box<dyn Fn(&WriteFailure) + Send>;

/// The outcome of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteReport {
    /// The number of entries written.
    pub entries: u64,
    /// The number of entries missing, for example because writing could not keep up.
    pub lost: u64,
}

/// The error of an incomplete trace.
#[derive(Debug)]
pub struct TraceError {
    why: Option<io::Error>,
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.why {
            Some(why) => write!(f, "cannot write the trace: {why}; it ends before its time"),
            None => f.write_str("cannot finish the trace: it has been finished before"),
        }
    }
}

impl std::error::Error for TraceError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.why.as_ref().map(|why| why as _)
    }
}

impl TraceWriter {
    /// Creates a file, replacing an existing one.
    pub fn create(path: impl AsRef<Path>, header: &TraceHeader) -> io::Result<Self> {
        Self::to(File::create(path)?, header)
    }

    /// Creates a file; its thread calls `watcher` with problems while it writes.
    pub fn create_watched(
        path: impl AsRef<Path>,
        header: &TraceHeader,
        watcher: impl Fn(&WriteFailure) + Send + 'static,
    ) -> io::Result<Self> {
        Self::with_room(File::create(path)?, header, ROOM, Box::new(watcher))
    }

    /// Writes a trace to another writer.
    pub fn to(out: impl Write + Send + 'static, header: &TraceHeader) -> io::Result<Self> {
        Self::with_room(out, header, ROOM, Box::new(|_| ()))
    }

    fn with_room(
        out: impl Write + Send + 'static,
        header: &TraceHeader,
        room: usize,
        watcher: FailureCallback,
    ) -> io::Result<Self> {
        let (sender, receiver) = sync_channel(room);
        let lost = Arc::new(DroppedEntries::default());
        let pen = WriterThread::new(out, header, Arc::clone(&lost), watcher)?;
        let writer = thread::Builder::new().name("trace".to_owned());
        let writer = writer.spawn(move || pen.write_all(&receiver))?;
        let writer = Mutex::new(Some(writer));
        Ok(Self { shared: Arc::new(WriterState { sender, lost, writer }) })
    }

    /// Passes on an entry to be written. Never waits: without room, it is dropped and counted.
    pub fn record(&self, entry: TraceEntry) {
        let at = entry.at;
        if self.shared.sender.try_send(Message::Entry(Box::new(entry))).is_err() {
            self.shared.lost.add(at, at);
        }
    }

    /// Passes on a rule for the entries that follow; returns whether there was room for it.
    pub fn rule(&self, name: impl Into<String>, spec: RuleSpec) -> bool {
        let rule = Message::Rule(Box::new((name.into(), spec)));
        self.shared.sender.try_send(rule).is_ok()
    }

    /// Counts an entry with an unknown outcome.
    ///
    /// Its request reached the store at some time between these two, or never.
    pub fn lose(&self, from: Time, until: Time) {
        self.shared.lost.add(from.as_micros(), until.as_micros());
    }

    /// Writes the end, and returns the outcome. Later entries are dropped.
    pub fn finish(&self) -> Result<WriteReport, TraceError> {
        self.shared.finish()
    }
}

impl WriterState {
    fn finish(&self) -> Result<WriteReport, TraceError> {
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(writer) = writer else { return Err(TraceError { why: None }) };
        // Fails only if the thread has ended, which joining it reports.
        let _ = self.sender.send(Message::Finish);
        let stopped = |_| Output { entries: 0, lost: 0, failed: Some(stopped()) };
        match writer.join().unwrap_or_else(stopped) {
            Output { failed: Some(why), .. } => Err(TraceError { why: Some(why) }),
            Output { entries, lost, .. } => Ok(WriteReport { entries, lost }),
        }
    }
}

fn stopped() -> io::Error {
    io::Error::other("the thread that writes it has stopped")
}

/// The last clone finishes the trace if necessary; an error cannot be reported any more.
impl Drop for WriterState {
    fn drop(&mut self) {
        let _ = self.finish();
    }
}
