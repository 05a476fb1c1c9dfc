//! Trace files: read line by line, and merged by time.

mod lines;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind};
use std::path::Path;
use std::sync::Arc;

use self::lines::Lines;
use crate::audit::Audit;
use crate::entry::Entry;
use crate::findings::Findings;
use crate::header::Header;
use crate::line::{Gap, Line};
use crate::unreadable::Unreadable;
use crate::waits::WaitBounds;

/// Trace files that are read together: those of one run, one of each node for example.
pub struct TraceFiles {
    header: Header,
    sources: Vec<TraceFile>,
    /// Gaps before the first entry of a file.
    gaps: Vec<Gap>,
    unreadable: Unreadable,
}

/// One of them, read up to its next entry.
struct TraceFile {
    name: Arc<str>,
    lines: Lines,
    next: Option<(Entry, u64)>,
    entries: u64,
    /// Entries that are missing, by the gaps so far.
    lost: u64,
    ended: bool,
}

impl TraceFiles {
    /// Files of which nothing but this is known.
    pub fn new(header: Header) -> Self {
        Self { header, sources: Vec::new(), gaps: Vec::new(), unreadable: Unreadable::default() }
    }

    /// Opens a file, and reads its header.
    pub fn open(&mut self, path: &Path) {
        let name = path.display().to_string();
        match File::open(path) {
            Ok(file) => self.read(&name, Box::new(BufReader::with_capacity(1 << 16, file))),
            Err(error) => self.unreadable.push(&name, 0, in_words(&error)),
        }
    }

    /// Reads the header of what comes from elsewhere.
    pub fn read(&mut self, name: &str, from: Box<dyn BufRead>) {
        let mut file = TraceFile {
            name: name.into(),
            lines: Lines::new(from),
            next: None,
            entries: 0,
            lost: 0,
            ended: false,
        };
        while !self.unreadable.is_full() {
            match file.line(&mut self.unreadable) {
                Some((Line::Header(header), line)) => self.merge(*header, name, line),
                Some((Line::Rules(rules), line)) => {
                    self.merge(Header { rules, ..Header::default() }, name, line);
                }
                Some((Line::Gap(gap), _)) => self.gaps.push(gap),
                Some((Line::Entry(entry), line)) => {
                    file.next = Some((*entry, line));
                    break;
                }
                Some((Line::End { .. }, _)) => {}
                None => break,
            }
        }
        self.sources.push(file);
    }

    fn merge(&mut self, header: Header, name: &str, line: u64) {
        if let Err(error) = self.header.merge(header) {
            self.unreadable.push(name, line, error.to_string());
        }
    }

    /// What all headers say together.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Goes through all files in the order of time.
    pub fn audit(mut self, waits: WaitBounds) -> Result<Findings, Unreadable> {
        // Who was asked nothing names no rules, and says so at the end.
        let unasked = |file: &TraceFile| file.ended && file.entries == 0;
        let unasked = !self.sources.is_empty() && self.sources.iter().all(unasked);
        if self.header.rules.is_empty() && !unasked && self.unreadable.is_empty() {
            let what = "no header names a rule; begin the file with one, as in \
                        `{\"trace\":1,\"rules\":{\"api\":{\"quota\":\"100/min\"}}}`";
            self.unreadable.push("", 0, what);
        }
        let mut audit = match Audit::new(self.header) {
            Ok(audit) => audit.waits_within(waits),
            Err(error) => {
                self.unreadable.push("", 0, error.to_string());
                return Err(self.unreadable);
            }
        };
        for Gap { lost, from_us, until_us } in self.gaps {
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
    /// The time of the next entry.
    fn reached(&self) -> u64 {
        self.next.as_ref().map_or(u64::MAX, |(entry, _)| entry.at)
    }

    /// The next entry; what an audit has to know before it is told.
    fn next_entry(
        &mut self,
        audit: &mut Audit,
        unreadable: &mut Unreadable,
    ) -> Option<(Entry, u64)> {
        while !unreadable.is_full() {
            match self.line(unreadable)? {
                (Line::Entry(entry), line) => return Some((*entry, line)),
                (Line::End { .. }, _) => {}
                (Line::Gap(Gap { lost, from_us, until_us }), _) => {
                    audit.gap(lost, from_us, until_us);
                }
                (Line::Rules(rules), line) => {
                    for (name, spec) in rules {
                        if let Err(error) = audit.learn(&name, &spec) {
                            unreadable.push(&self.name, line, error.to_string());
                        }
                    }
                }
                (Line::Header(_), line) => {
                    let what = "a header comes before all entries; audit each run by itself";
                    unreadable.push(&self.name, line, what);
                }
            }
        }
        None
    }

    /// The next line that can be read; what cannot is noted.
    fn line(&mut self, unreadable: &mut Unreadable) -> Option<(Line, u64)> {
        while !unreadable.is_full() {
            let (bytes, number) = match self.lines.next_line() {
                Ok(line) => line?,
                Err(error) => {
                    unreadable.push(&self.name, self.lines.number(), in_words(&error));
                    return None;
                }
            };
            match Line::read(bytes) {
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

    /// Keeps count; says what does not add up.
    fn follow(&mut self, line: &Line) -> Option<String> {
        if self.ended {
            return Some("the trace has ended before this line; audit each run by itself".into());
        }
        match line {
            Line::Header(_) | Line::Rules(_) => None,
            Line::Gap(gap) => {
                self.lost = self.lost.saturating_add(gap.lost);
                None
            }
            Line::Entry(_) => {
                self.entries += 1;
                None
            }
            Line::End { lost, .. } if *lost > self.lost => Some(format!(
                "{} entries were lost when this was written, and nobody knows when, so nothing \
                 can be concluded from the others; record less, or on a faster disk",
                lost - self.lost
            )),
            Line::End { entries, .. } => {
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

fn in_words(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "there is no such file".to_owned(),
        ErrorKind::PermissionDenied => "it may not be read".to_owned(),
        ErrorKind::IsADirectory => "it is a folder; give the files in it".to_owned(),
        _ => error.to_string(),
    }
}
