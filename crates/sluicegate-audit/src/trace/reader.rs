//! The reader of trace files, which merges them by time.

#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind};
use std::path::Path;
use std::sync::Arc;

use crate::audit::Audit;
use crate::error::TraceErrors;
use crate::findings::Findings;
use crate::latency::LatencyBounds;
use crate::trace::bounded_lines::BoundedLines;
use crate::trace::entry::TraceEntry;
use crate::trace::header::TraceHeader;
use crate::trace::line_parser::{GapLine, TraceLine};

/// The trace files of one run, for example one of each node.
pub struct TraceReader {
    header: TraceHeader,
    sources: Vec<TraceFile>,
    /// Gaps before the first entry of a file.
    gaps: Vec<GapLine>,
    unreadable: TraceErrors,
}

/// One of the files, read up to its next entry.
struct TraceFile {
    name: Arc<str>,
    lines: BoundedLines,
    next: Option<(TraceEntry, u64)>,
    entries: u64,
    /// The number of missing entries in the gaps so far.
    lost: u64,
    ended: bool,
}

impl TraceReader {
    /// Creates a reader whose files share this header.
    pub fn new(header: TraceHeader) -> Self {
        Self { header, sources: Vec::new(), gaps: Vec::new(), unreadable: TraceErrors::default() }
    }

    /// Opens a file and reads its header.
    pub fn open(&mut self, path: &Path) {
        let name = path.display().to_string();
        match File::open(path) {
            Ok(file) => self.read(&name, Box::new(BufReader::with_capacity(1 << 16, file))),
            Err(error) => self.unreadable.push(&name, 0, describe(&error)),
        }
    }

    /// Reads the header of another input.
    pub fn read(&mut self, name: &str, from: Box<dyn BufRead>) {
        let mut file = TraceFile {
            name: name.into(),
            lines: BoundedLines::new(from),
            next: None,
            entries: 0,
            lost: 0,
            ended: false,
        };
        while !self.unreadable.is_full() {
            match file.line(&mut self.unreadable) {
                Some((TraceLine::Header(header), line)) => self.merge(*header, name, line),
                Some((TraceLine::Rules(rules), line)) => {
                    self.merge(TraceHeader { rules, ..TraceHeader::default() }, name, line);
                }
                Some((TraceLine::Gap(gap), _)) => self.gaps.push(gap),
                Some((TraceLine::Entry(entry), line)) => {
                    file.next = Some((*entry, line));
                    break;
                }
                Some((TraceLine::End { .. }, _)) => {}
                None => break,
            }
        }
        self.sources.push(file);
    }

    fn merge(&mut self, header: TraceHeader, name: &str, line: u64) {
        if let Err(error) = self.header.merge(header) {
            self.unreadable.push(name, line, error.to_string());
        }
    }

    /// Returns the merged header.
    pub fn header(&self) -> &TraceHeader {
        &self.header
    }

    /// Audits all files in order of time.
    pub fn audit(mut self, waits: LatencyBounds) -> Result<Findings, TraceErrors> {
        // The trace of a node without requests names no rules, and ends properly.
        let idle = |file: &TraceFile| file.ended && file.entries == 0;
        let idle = !self.sources.is_empty() && self.sources.iter().all(idle);
        if self.header.rules.is_empty() && !idle && self.unreadable.is_empty() {
            let what = "no header names a rule; begin the file with one, as in \
                        `{\"trace\":1,\"rules\":{\"api\":{\"quota\":\"100/min\"}}}`";
            self.unreadable.push("", 0, what);
        }
        let mut audit = match Audit::new(self.header) {
            Ok(audit) => audit.with_latency_bounds(waits),
            Err(error) => {
                self.unreadable.push("", 0, error.to_string());
                return Err(self.unreadable);
            }
        };
        for GapLine { lost, from_us, until_us } in self.gaps {
            audit.gap(lost, from_us, until_us);
        }
        while !self.unreadable.is_full() {
            let files = self.sources.iter_mut().filter(|file| file.next.is_some());
            let Some(file) = files.min_by_key(|file| file.reached()) else { break };
            let next = file.next_entry(&mut audit, &mut self.unreadable);
            let Some((entry, line)) = std::mem::replace(&mut file.next, next) else { continue };
            if !audit.knows(&entry.rule) {
                let what = format!(
                    "the rule `{}` is in no header; name it there",
                    entry.rule.escape_debug()
                );
                self.unreadable.push(&file.name, line, what);
            } else if self.unreadable.is_empty() {
                audit.add_from(entry, &file.name, line);
            }
        }
        if self.unreadable.is_empty() { Ok(audit.finish()) } else { Err(self.unreadable) }
    }
}

impl TraceFile {
    /// Returns the time of the next entry.
    fn reached(&self) -> u64 {
        self.next.as_ref().map_or(u64::MAX, |(entry, _)| entry.at)
    }

    /// Returns the next entry, after passing the rules and gaps before it to the audit.
    fn next_entry(
        &mut self,
        audit: &mut Audit,
        unreadable: &mut TraceErrors,
    ) -> Option<(TraceEntry, u64)> {
        while !unreadable.is_full() {
            match self.line(unreadable)? {
                (TraceLine::Entry(entry), line) => return Some((*entry, line)),
                (TraceLine::End { .. }, _) => {}
                (TraceLine::Gap(GapLine { lost, from_us, until_us }), _) => {
                    audit.gap(lost, from_us, until_us);
                }
                (TraceLine::Rules(rules), line) => {
                    for (name, spec) in rules {
                        if let Err(error) = audit.add_rule(&name, &spec) {
                            unreadable.push(&self.name, line, error.to_string());
                        }
                    }
                }
                (TraceLine::Header(_), line) => {
                    let what = "a header comes before all entries; audit each run by itself";
                    unreadable.push(&self.name, line, what);
                }
            }
        }
        None
    }

    /// Returns the next valid line; errors are collected.
    fn line(&mut self, unreadable: &mut TraceErrors) -> Option<(TraceLine, u64)> {
        while !unreadable.is_full() {
            let (bytes, number) = match self.lines.next_line() {
                Ok(line) => line?,
                Err(error) => {
                    unreadable.push(&self.name, self.lines.number(), describe(&error));
                    return None;
                }
            };
            match TraceLine::read(bytes) {
                Ok(line) => {
                    if let Some(what) = self.follow(&line) {
                        unreadable.push(&self.name, number, what);
                    }
                    return Some((line, number));
                }
                Err(what) => unreadable.push(&self.name, number, what),
            }
        }
        None
    }

    /// Counts the entries; returns an inconsistency.
    fn follow(&mut self, line: &TraceLine) -> Option<String> {
        if self.ended {
            return Some("the trace has ended before this line; audit each run by itself".into());
        }
        match line {
            TraceLine::Header(_) | TraceLine::Rules(_) => None,
            TraceLine::Gap(gap) => {
                self.lost = self.lost.saturating_add(gap.lost);
                None
            }
            TraceLine::Entry(_) => {
                self.entries += 1;
                None
            }
            TraceLine::End { lost, .. } if *lost > self.lost => Some(format!(
                "{} entries were lost at unknown times when this was written, so nothing \
                 can be concluded from the others; record less, or on a faster disk",
                lost - self.lost
            )),
            TraceLine::End { entries, .. } => {
                self.ended = true;
                let written = (*entries).filter(|written| *written != self.entries)?;
                Some(format!(
                    "{written} entries were written, and {} are here; use the whole file",
                    self.entries
                ))
            }
        }
    }
}

fn describe(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "there is no such file".to_owned(),
        ErrorKind::PermissionDenied => "permission denied".to_owned(),
        ErrorKind::IsADirectory => "it is a folder; give the files in it".to_owned(),
        _ => error.to_string(),
    }
}
