//! Writing from many threads, falling behind, and failing.

use std::sync::mpsc::{Receiver, Sender, channel};

use sluicegate_core::Time;

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
fn what_there_is_no_room_for_is_dropped_counted_and_told_with_its_time() {
    let (go, wait) = channel();
    let (began, writing) = channel();
    let (told, hear) = channel();
    let paper = Paper::default();
    let slow = Slow(wait, paper.clone(), began);
    let watcher = Box::new(move |trouble: &Trouble| told.send(trouble.clone()).unwrap());
    let trace = Trace::with_room(slow, &Header::default(), 4, watcher).unwrap();
    // The thread is busy with the header from here on.
    writing.recv().unwrap();
    (0..10).for_each(|at| trace.record(entry(at)));
    assert!(!trace.rule("api", RuleSpec::default()), "nor for a rule");
    drop(go);
    assert_eq!(trace.finish().unwrap(), Recorded { entries: 4, lost: 6 });
    let text = paper.text();
    let gap = r#"{"event":"gap","lost":6,"from_us":4,"until_us":9}"#;
    assert_eq!(text.lines().filter(|line| *line == gap).count(), 1, "{text}");
    assert!(text.ends_with("\"entries\":4,\"lost\":6}\n"), "{text}");
    let troubles: Vec<_> = hear.try_iter().collect();
    assert_eq!(troubles, [Trouble::Gap { lost: 6 }]);
    assert_eq!(troubles[0].to_string(), "6 entries are missing in the trace");
}

#[test]
fn a_rule_is_written_before_what_names_it_and_a_lost_request_is_a_gap() {
    let paper = Paper::default();
    let trace = Trace::to(paper.clone(), &Header::default()).unwrap();
    assert!(trace.rule("api", RuleSpec::quota("queue", "5/s")));
    trace.record(entry(7));
    trace.lose(Time::from_micros(3), Time::from_micros(8));
    assert_eq!(trace.finish().unwrap(), Recorded { entries: 1, lost: 1 });
    let text = paper.text();
    let lines: Vec<_> = text.lines().collect();
    let rule = r#"{"event":"rules","rules":{"api":{"algorithm":"queue","quota":"5/s"}}}"#;
    assert_eq!(lines[1], rule);
    assert!(lines.contains(&r#"{"event":"gap","lost":1,"from_us":3,"until_us":8}"#), "{text}");
    assert_eq!(lines[4], r#"{"event":"end","entries":1,"lost":1}"#);
}

#[test]
fn a_full_disk_is_told_at_the_end_and_stops_nobody() {
    let (told, hear) = channel();
    let watcher = Box::new(move |trouble: &Trouble| told.send(trouble.clone()).unwrap());
    let trace = Trace::with_room(Full, &Header::default(), ROOM, watcher).unwrap();
    (0..100_000).for_each(|at| trace.record(entry(at)));
    let error = trace.finish().unwrap_err().to_string();
    assert_eq!(error, "cannot write the trace: the disk is full; it ends before its time");
    let troubles: Vec<_> = hear.try_iter().collect();
    assert_eq!(troubles, [Trouble::Failed { why: "the disk is full".to_owned() }], "told once");
}
