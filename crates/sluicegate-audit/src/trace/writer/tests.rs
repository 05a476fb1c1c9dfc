//! Writing from many threads, falling behind, and failing.

use std::sync::mpsc::{Receiver, Sender, channel};

use sluicegate_core::Time;

use super::*;
use crate::trace::entry::TraceEvent;

fn entry(at: u64) -> TraceEntry {
    TraceEntry::event(TraceEvent::Reset, "api", "key", Time::from_micros(at))
}

/// An output in memory.
#[derive(Clone, Default)]
struct SharedOutput(Arc<Mutex<Vec<u8>>>);

impl SharedOutput {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for SharedOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// An output that signals each write, and blocks it until released.
struct SlowDisk(Receiver<()>, SharedOutput, Sender<()>);

impl Write for SlowDisk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = self.2.send(());
        let _ = self.0.recv();
        self.1.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct FullDisk;

impl Write for FullDisk {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::Error::other("the disk is full"))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn entries_of_many_threads_are_complete() {
    let output = SharedOutput::default();
    let trace = TraceWriter::to(output.clone(), &TraceHeader::default()).unwrap();
    thread::scope(|scope| {
        for _ in 0..4 {
            let trace = trace.clone();
            scope.spawn(move || (0..1_000).for_each(|at| trace.record(entry(at))));
        }
    });
    assert_eq!(trace.finish().unwrap(), WriteReport { entries: 4_000, lost: 0 });
    let text = output.text();
    assert!(text.starts_with("{\"trace\":1,\"rules\":{}}\n{\"at\":"), "{text:.80}");
    assert!(text.ends_with("\n{\"event\":\"end\",\"entries\":4000,\"lost\":0}\n"));
    assert_eq!(text.lines().count(), 4_002);
    trace.record(entry(1));
    assert!(trace.finish().unwrap_err().to_string().contains("finished before"));
    assert_eq!(output.text(), text);
}

#[test]
fn the_last_clone_writes_the_end() {
    let output = SharedOutput::default();
    let trace = TraceWriter::to(output.clone(), &TraceHeader::default()).unwrap();
    let other = trace.clone();
    drop(trace);
    other.record(entry(1));
    drop(other);
    assert!(output.text().ends_with("\"entries\":1,\"lost\":0}\n"), "{}", output.text());
}

#[test]
fn entries_without_room_are_dropped_and_recorded_as_a_gap() {
    let (go, wait) = channel();
    let (began, writing) = channel();
    let (sender, received) = channel();
    let output = SharedOutput::default();
    let slow = SlowDisk(wait, output.clone(), began);
    let watcher = Box::new(move |failure: &WriteFailure| sender.send(failure.clone()).unwrap());
    let trace = TraceWriter::with_room(slow, &TraceHeader::default(), 4, watcher).unwrap();
    // From here on the thread is blocked on the header.
    writing.recv().unwrap();
    (0..10).for_each(|at| trace.record(entry(at)));
    assert!(!trace.rule("api", RuleSpec::default()), "nor for a rule");
    drop(go);
    assert_eq!(trace.finish().unwrap(), WriteReport { entries: 4, lost: 6 });
    let text = output.text();
    let gap = r#"{"event":"gap","lost":6,"from_us":4,"until_us":9}"#;
    assert_eq!(text.lines().filter(|line| *line == gap).count(), 1, "{text}");
    assert!(text.ends_with("\"entries\":4,\"lost\":6}\n"), "{text}");
    let failures: Vec<_> = received.try_iter().collect();
    assert_eq!(failures, [WriteFailure::Gap { lost: 6 }]);
    assert_eq!(failures[0].to_string(), "6 entries are missing in the trace");
}

#[test]
fn a_rule_is_written_before_its_entries_and_a_lost_request_is_a_gap() {
    let output = SharedOutput::default();
    let trace = TraceWriter::to(output.clone(), &TraceHeader::default()).unwrap();
    assert!(trace.rule("api", RuleSpec::quota("queue", "5/s")));
    trace.record(entry(7));
    trace.lose(Time::from_micros(3), Time::from_micros(8));
    assert_eq!(trace.finish().unwrap(), WriteReport { entries: 1, lost: 1 });
    let text = output.text();
    let lines: Vec<_> = text.lines().collect();
    let rule = r#"{"event":"rules","rules":{"api":{"algorithm":"queue","quota":"5/s"}}}"#;
    assert_eq!(lines[1], rule);
    assert!(lines.contains(&r#"{"event":"gap","lost":1,"from_us":3,"until_us":8}"#), "{text}");
    assert_eq!(lines[4], r#"{"event":"end","entries":1,"lost":1}"#);
}

#[test]
fn a_full_disk_is_reported_at_the_end_and_blocks_no_caller() {
    let (sender, received) = channel();
    let watcher = Box::new(move |failure: &WriteFailure| sender.send(failure.clone()).unwrap());
    let trace = TraceWriter::with_room(FullDisk, &TraceHeader::default(), ROOM, watcher).unwrap();
    (0..100_000).for_each(|at| trace.record(entry(at)));
    let error = trace.finish().unwrap_err().to_string();
    assert_eq!(error, "cannot write the trace: the disk is full; it ends before its time");
    let failures: Vec<_> = received.try_iter().collect();
    assert_eq!(
        failures,
        [WriteFailure::Failed { why: "the disk is full".to_owned() }],
        "reported once"
    );
}
