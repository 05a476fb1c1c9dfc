//! Writing from many threads, falling behind, and failing.

use std::sync::mpsc::{Sender, channel};

use tollgate_core::Time;

use super::*;
use crate::entry::Event;

fn entry(at: u64) -> Entry {
    Entry::event(Event::Reset, "api", "key", Time::from_micros(at))
}

/// Somewhere to write that can be looked at.
#[derive(Clone, Default)]
struct Paper(Arc<Mutex<Vec<u8>>>);

impl Paper {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Somewhere to write that says when it is asked to, and then lets nothing through until it is told.
struct Slow(Receiver<()>, Paper, Sender<()>);

impl Write for Slow {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = self.2.send(());
        let _ = self.0.recv();
        self.1.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Full;

impl Write for Full {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::Error::other("the disk is full"))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn what_many_threads_record_is_all_there_with_its_end() {
    let paper = Paper::default();
    let trace = Trace::to(paper.clone(), &Header::default()).unwrap();
    thread::scope(|scope| {
        for _ in 0..4 {
            let trace = trace.clone();
            scope.spawn(move || (0..1_000).for_each(|at| trace.record(entry(at))));
        }
    });
    assert_eq!(trace.finish().unwrap(), Recorded { entries: 4_000, lost: 0 });
    let text = paper.text();
    assert!(text.starts_with("{\"trace\":1,\"rules\":{}}\n{\"at\":"), "{text:.80}");
    assert!(text.ends_with("\n{\"event\":\"end\",\"entries\":4000,\"lost\":0}\n"));
    assert_eq!(text.lines().count(), 4_002);
    trace.record(entry(1));
    assert!(trace.finish().unwrap_err().to_string().contains("finished before"));
    assert_eq!(paper.text(), text);
}

#[test]
fn the_last_clone_writes_the_end() {
    let paper = Paper::default();
    let trace = Trace::to(paper.clone(), &Header::default()).unwrap();
    let other = trace.clone();
    drop(trace);
    other.record(entry(1));
    drop(other);
    assert!(paper.text().ends_with("\"entries\":1,\"lost\":0}\n"), "{}", paper.text());
}

#[test]
fn what_there_is_no_room_for_is_dropped_and_counted() {
    let (go, wait) = channel();
    let (began, writing) = channel();
    let paper = Paper::default();
    let slow = Slow(wait, paper.clone(), began);
    let trace = Trace::with_room(slow, &Header::default(), 4).unwrap();
    // The thread is busy with the header from here on.
    writing.recv().unwrap();
    (0..10).for_each(|at| trace.record(entry(at)));
    drop(go);
    assert_eq!(trace.finish().unwrap(), Recorded { entries: 4, lost: 6 });
    assert!(paper.text().ends_with("\"entries\":4,\"lost\":6}\n"), "{}", paper.text());
}

#[test]
fn a_full_disk_is_told_at_the_end_and_stops_nobody() {
    let trace = Trace::to(Full, &Header::default()).unwrap();
    (0..100_000).for_each(|at| trace.record(entry(at)));
    let error = trace.finish().unwrap_err().to_string();
    assert_eq!(error, "cannot write the trace: the disk is full; it ends before its time");
}
