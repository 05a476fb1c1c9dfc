//! A long trace is read as a stream: its memory does not grow with the length.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use sluicegate_audit::{LatencyBounds, TraceHeader, TraceReader};
use sluicegate_core::Span;

use crate::traced_run::{Run, cases, header};
use sluicegate_testkit::Rng;

/// The length in thousands of lines; `SLUICEGATE_TRACE_LINES=1000000` for a long one.
fn thousands() -> u64 {
    let said = std::env::var("SLUICEGATE_TRACE_LINES").ok();
    said.and_then(|lines| lines.parse().ok()).unwrap_or(100_000_u64) / 1_000
}

fn write(path: &Path, thousands: u64) {
    let case = &cases()[0];
    let mut out = BufWriter::new(File::create(path).unwrap());
    writeln!(out, "{}", serde_json::to_string(&header(&case.spec)).unwrap()).unwrap();
    let (mut run, mut dice) = (Run::new(), Rng::new(1));
    for _ in 0..thousands {
        run.walk(case, &mut dice, 1_000);
        for entry in run.entries.drain(..) {
            let entry = entry.on("a").waited(Span::from_micros(dice.below(500)));
            writeln!(out, "{}", serde_json::to_string(&entry).unwrap()).unwrap();
        }
    }
    out.flush().unwrap();
}

/// Removes a file at the end of the test, even on a panic.
struct RemovedOnDrop<'a>(&'a Path);

impl Drop for RemovedOnDrop<'_> {
    fn drop(&mut self) {
        let _ = fs::remove_file(self.0);
    }
}

#[test]
fn a_long_trace_needs_no_more_memory_than_the_reorder_buffer() {
    let path = std::env::temp_dir().join(format!("sluicegate-trace-{}.jsonl", std::process::id()));
    let _removed = RemovedOnDrop(&path);
    write(&path, thousands());
    let mut found = None;
    let used = allocation_counter::measure(|| {
        let mut files = TraceReader::new(TraceHeader::default());
        files.open(&path);
        found = Some(files.audit(LatencyBounds { p99_us: Some(499), max_us: None }));
    });
    let findings = found.unwrap().unwrap();
    assert!(findings.is_ok(), "{findings}");
    assert_eq!(findings.entries, thousands() * 1_000);
    assert_eq!(findings.waits.unwrap().max_us, 499);
    assert!(used.bytes_max < 40 << 20, "{} bytes", used.bytes_max);
}
