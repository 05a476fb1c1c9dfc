//! The text form of findings.

use std::fmt;

use sluicegate_core::Span;

use super::{Findings, LatencyFindings, RuleFindings, Tightest, Violation};

/// A number with its noun: `1 key`, `2 keys`.
struct CountWithNoun<'a>(u64, &'a str);

impl fmt::Display for CountWithNoun<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(count, noun) = *self;
        let ending = match (count, noun.strip_suffix('y')) {
            (1, _) => return write!(f, "{count} {noun}"),
            (_, Some(stem)) if !stem.ends_with(['a', 'e', 'o', 'u']) => {
                return write!(f, "{count} {stem}ies");
            }
            _ => "s",
        };
        write!(f, "{count} {noun}{ending}")
    }
}

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for rule in &self.rules {
            rule.fmt(f)?;
            let own = self.violations.iter().filter(|violation| violation.rule == rule.rule);
            own.clone().try_for_each(|violation| violation.fmt(f))?;
            let shown = own.count() as u64;
            if rule.broken > shown {
                writeln!(f, "  ! and {} more", rule.broken - shown)?;
            }
        }
        let known =
            |violation: &&Violation| !self.rules.iter().any(|rule| rule.rule == violation.rule);
        self.violations.iter().filter(known).try_for_each(|violation| violation.fmt(f))?;
        if let Some(waits) = &self.waits {
            waits.fmt(f)?;
        }
        self.notes.iter().try_for_each(|note| writeln!(f, "note: {note}"))?;
        let lasting = Span::from_micros(self.until_us.saturating_sub(self.from_us));
        let read = CountWithNoun(self.entries, "entry");
        let nodes = self.nodes.max(1) as u64;
        if self.ok {
            writeln!(f, "ok: {read} of {} in {lasting}", CountWithNoun(nodes, "node"))
        } else {
            let broken = CountWithNoun(self.broken, "violation");
            writeln!(f, "{broken} in {read} of {} in {lasting}", CountWithNoun(nodes, "node"))
        }
    }
}

impl fmt::Display for RuleFindings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", self.rule.escape_debug(), self.limit.escape_debug())?;
        writeln!(
            f,
            "  {} of {}: {} allowed, {} refused",
            CountWithNoun(self.decisions, "decision"),
            CountWithNoun(self.keys as u64, "key"),
            self.allowed,
            self.refused
        )?;
        if self.within_bounds + self.skipped > 0 {
            writeln!(
                f,
                "  {} compared exactly, {} within bounds, {} by admitted units only",
                self.exact, self.within_bounds, self.skipped
            )?;
        }
        match &self.tightest {
            Some(tightest) => tightest.fmt(f),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Tightest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "  tightest: admitted {} of {} allowed in {} from {} (key `{}`)",
            self.admitted,
            self.allowed,
            Span::from_micros(self.length_us),
            self.from_us,
            self.key.escape_debug()
        )
    }
}

impl fmt::Display for LatencyFindings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "latency: p50 {} us, p99 {} us, max {} us",
            self.p50_us, self.p99_us, self.max_us
        )
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  ! {} at ", self.kind)?;
        match &self.file {
            Some(file) => write!(f, "{file}:{}", self.line)?,
            None => write!(f, "entry {}", self.line)?,
        }
        if self.key.is_empty() {
            writeln!(f, ": {}", self.what)
        } else {
            writeln!(f, ": key `{}` {}", self.key.escape_debug(), self.what)
        }
    }
}
