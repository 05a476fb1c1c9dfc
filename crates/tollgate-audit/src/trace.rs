//! Writes a trace: from any thread, without making it wait.

#[cfg(test)]
mod tests;

use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use serde::Serialize;

use crate::entry::Entry;
use crate::header::Header;

/// How many entries may wait to be written.
const ROOM: usize = 65_536;

/// Writes a trace. Clones write the same one.
///
/// A thread of its own writes; whoever records hands it an entry and goes on. If it cannot keep
/// up, entries are dropped and counted, and the end of the trace says how many: an audit refuses
/// such a trace. The end is written by [`finish`](Trace::finish), or when the last clone is gone.
///
/// ```no_run
/// # use tollgate_audit::{Entry, Event, Header, Trace};
/// # use tollgate_core::Time;
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
    lost: Arc<AtomicU64>,
    writer: Mutex<Option<JoinHandle<Written>>>,
}

#[derive(Debug)]
enum Message {
    Entry(Box<Entry>),
    Finish,
}

/// What became of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recorded {
    /// Entries that were written.
    pub entries: u64,
    /// Entries that were dropped because writing could not keep up.
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

    /// Begins a trace that is written elsewhere.
    pub fn to(out: impl Write + Send + 'static, header: &Header) -> io::Result<Self> {
        Self::with_room(out, header, ROOM)
    }

    fn with_room(
        out: impl Write + Send + 'static,
        header: &Header,
        room: usize,
    ) -> io::Result<Self> {
        let (sender, receiver) = sync_channel(room);
        let lost = Arc::new(AtomicU64::new(0));
        let mut pen = Pen { out: BufWriter::new(out), entries: 0, failed: None };
        pen.line(header)?;
        let dropped = Arc::clone(&lost);
        let writer = thread::Builder::new().name("trace".to_owned());
        let writer = writer.spawn(move || pen.write_all(&receiver, &dropped))?;
        let writer = Mutex::new(Some(writer));
        Ok(Self { shared: Arc::new(Shared { sender, lost, writer }) })
    }

    /// Hands over an entry to be written. Never waits: if there is no room, it is dropped and
    /// counted.
    pub fn record(&self, entry: Entry) {
        if self.shared.sender.try_send(Message::Entry(Box::new(entry))).is_err() {
            self.shared.lost.fetch_add(1, Ordering::Relaxed);
        }
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

/// What the writing thread did.
#[derive(Debug)]
struct Written {
    entries: u64,
    lost: u64,
    failed: Option<io::Error>,
}

/// Where lines go.
struct Pen<W: Write> {
    out: BufWriter<W>,
    entries: u64,
    failed: Option<io::Error>,
}

/// The last line.
#[derive(Serialize)]
struct End {
    event: &'static str,
    entries: u64,
    lost: u64,
}

impl<W: Write> Pen<W> {
    /// Writes what comes until the end; after a failure it only goes on taking it.
    fn write_all(mut self, receiver: &Receiver<Message>, lost: &AtomicU64) -> Written {
        while let Some(Message::Entry(entry)) = self.next(receiver) {
            if self.failed.is_some() {
                lost.fetch_add(1, Ordering::Relaxed);
            } else if let Err(error) = self.line(&*entry) {
                self.failed = Some(error);
                lost.fetch_add(1, Ordering::Relaxed);
            } else {
                self.entries += 1;
            }
        }
        let (entries, lost) = (self.entries, lost.load(Ordering::Relaxed));
        if self.failed.is_none() {
            let end = End { event: "end", entries, lost };
            self.failed = self.line(&end).and_then(|()| self.out.flush()).err();
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
        if self.failed.is_none() {
            self.failed = self.out.flush().err();
        }
        receiver.recv().ok()
    }

    fn line(&mut self, line: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut self.out, line)?;
        self.out.write_all(b"\n")
    }
}
