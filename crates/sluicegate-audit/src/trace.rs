//! Writes a trace: from any thread, without making it wait.

mod lost;
mod pen;
#[cfg(test)]
mod tests;

use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use sluicegate_core::Time;

use self::lost::Lost;
use self::pen::{Pen, Written};
use crate::entry::Entry;
use crate::header::{Header, RuleSpec};

/// How many entries may wait to be written.
const ROOM: usize = 65_536;

/// Writes a trace. Clones write the same one.
///
/// A thread of its own writes; whoever records hands it an entry and goes on. If it cannot keep
/// up, entries are dropped and counted, and a gap in the trace says how many, and of which time.
/// The end is written by [`finish`](Trace::finish), or when the last clone is gone.
///
/// ```no_run
/// # use sluicegate_audit::{Entry, Event, Header, Trace};
/// # use sluicegate_core::Time;
/// let header = Header::default().rule("api", "token_bucket:100/min burst 20".parse()?);
/// let trace = Trace::create("trace.jsonl", &header)?;
/// trace.record(Entry::event(Event::Reset, "api", "user:42", Time::EPOCH));
/// assert_eq!(trace.finish()?.lost, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Trace {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    sender: SyncSender<Message>,
    lost: Arc<Lost>,
    writer: Mutex<Option<JoinHandle<Written>>>,
}

#[derive(Debug)]
enum Message {
    Entry(Box<Entry>),
    /// A rule that entries after this may name.
    Rule(Box<(String, RuleSpec)>),
    Finish,
}

/// What goes wrong with a trace while it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Trouble {
    /// Entries are missing: they came faster than they could be written, or nobody knows what
    /// became of a request.
    Gap {
        /// How many.
        lost: u64,
    },
    /// It cannot be written any further.
    Failed {
        /// What the system said.
        why: String,
    },
}

impl fmt::Display for Trouble {
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

/// Who is told of it.
type Watcher = Box<dyn Fn(&Trouble) + Send>;

/// What became of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recorded {
    /// Entries that were written.
    pub entries: u64,
    /// Entries that are missing, because writing could not keep up for example.
    pub lost: u64,
}

/// Why a trace is not whole.
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

impl Trace {
    /// Begins a file, in place of what may have been there.
    pub fn create(path: impl AsRef<Path>, header: &Header) -> io::Result<Self> {
        Self::to(File::create(path)?, header)
    }

    /// The same, and from its thread `watcher` is told what goes wrong while it is written.
    pub fn create_watched(
        path: impl AsRef<Path>,
        header: &Header,
        watcher: impl Fn(&Trouble) + Send + 'static,
    ) -> io::Result<Self> {
        Self::with_room(File::create(path)?, header, ROOM, Box::new(watcher))
    }

    /// Begins a trace that is written elsewhere.
    pub fn to(out: impl Write + Send + 'static, header: &Header) -> io::Result<Self> {
        Self::with_room(out, header, ROOM, Box::new(|_| ()))
    }

    fn with_room(
        out: impl Write + Send + 'static,
        header: &Header,
        room: usize,
        watcher: Watcher,
    ) -> io::Result<Self> {
        let (sender, receiver) = sync_channel(room);
        let lost = Arc::new(Lost::default());
        let pen = Pen::new(out, header, Arc::clone(&lost), watcher)?;
        let writer = thread::Builder::new().name("trace".to_owned());
        let writer = writer.spawn(move || pen.write_all(&receiver))?;
        let writer = Mutex::new(Some(writer));
        Ok(Self { shared: Arc::new(Shared { sender, lost, writer }) })
    }

    /// Hands over an entry to be written. Never waits: if there is no room, it is dropped and
    /// counted.
    pub fn record(&self, entry: Entry) {
        let at = entry.at;
        if self.shared.sender.try_send(Message::Entry(Box::new(entry))).is_err() {
            self.shared.lost.add(at, at);
        }
    }

    /// Hands over a rule that entries from now on may name; whether there was room for it.
    pub fn rule(&self, name: impl Into<String>, spec: RuleSpec) -> bool {
        let rule = Message::Rule(Box::new((name.into(), spec)));
        self.shared.sender.try_send(rule).is_ok()
    }

    /// Counts an entry that nobody can write: what became of a request that reached the store at
    /// some moment between these two, or never.
    pub fn lose(&self, from: Time, until: Time) {
        self.shared.lost.add(from.as_micros(), until.as_micros());
    }

    /// Writes the end, and says what became of the trace. What is recorded later is dropped.
    pub fn finish(&self) -> Result<Recorded, TraceError> {
        self.shared.finish()
    }
}

impl Shared {
    fn finish(&self) -> Result<Recorded, TraceError> {
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(writer) = writer else { return Err(TraceError { why: None }) };
        // Fails only if the writer is gone already, which joining it tells.
        let _ = self.sender.send(Message::Finish);
        let stopped = |_| Written { entries: 0, lost: 0, failed: Some(stopped()) };
        match writer.join().unwrap_or_else(stopped) {
            Written { failed: Some(why), .. } => Err(TraceError { why: Some(why) }),
            Written { entries, lost, .. } => Ok(Recorded { entries, lost }),
        }
    }
}

fn stopped() -> io::Error {
    io::Error::other("the thread that writes it has stopped")
}

/// The last clone finishes what nobody has; there is nobody left to tell of an error.
impl Drop for Shared {
    fn drop(&mut self) {
        let _ = self.finish();
    }
}
