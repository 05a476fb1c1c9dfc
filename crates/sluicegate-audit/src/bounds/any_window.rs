//! The bound on any window of a given length, from the admissions within it.

use std::collections::VecDeque;

use super::TimeInterval;

#[derive(Debug, Clone)]
pub(crate) struct AnyWindowBound {
    spans: Vec<WindowSpan>,
}

/// The admissions in the last window of one length: never more entries than allowed units.
#[derive(Debug, Clone)]
struct WindowSpan {
    length: u64,
    most: u64,
    budget: u64,
    /// Times and units, oldest first.
    recent: VecDeque<(u64, u64)>,
    admitted: u64,
}

impl AnyWindowBound {
    /// Creates a bound from lengths, with the units allowed in each.
    pub(super) fn new(lengths: &[(u64, u64)], clock_error: u64) -> Self {
        let shorter = clock_error.saturating_mul(2);
        let spans = lengths.iter().map(|(length, most)| WindowSpan {
            length: length.saturating_sub(shorter),
            most: *most,
            budget: *most,
            recent: VecDeque::new(),
            admitted: 0,
        });
        Self { spans: spans.collect() }
    }

    /// Returns the tightest of the spans; `None` if there is none.
    pub(super) fn admit(&mut self, at: u64, cost: u64) -> Option<TimeInterval> {
        let intervals = self.spans.iter_mut().map(|span| span.with(at, cost));
        let tightest = intervals.reduce(|tightest, other| {
            let over = other.is_over() && !tightest.is_over();
            let both = other.is_over() == tightest.is_over();
            if over || both && other.is_tighter(&tightest) { other } else { tightest }
        })?;
        if !tightest.is_over() {
            self.spans.iter_mut().for_each(|span| span.push(at, cost));
        }
        Some(tightest)
    }

    pub(super) fn refund(&mut self, units: u64) {
        self.spans.iter_mut().for_each(|span| span.refund(units));
    }

    pub(super) fn reset(&mut self) {
        for span in &mut self.spans {
            span.recent.clear();
            span.admitted = 0;
        }
    }

    /// Adds the nodes' amount to the store's; each node has at least one unit.
    pub(super) fn loosen(&mut self, nodes: u64) {
        for span in &mut self.spans {
            span.most = span.budget.saturating_add(span.budget.max(nodes));
        }
    }

    pub(super) fn budget(&self) -> u64 {
        self.spans.first().map_or(0, |span| span.budget)
    }
}

impl WindowSpan {
    /// Returns the window that ends at `at`, including these units.
    fn with(&mut self, at: u64, cost: u64) -> TimeInterval {
        while let Some((time, units)) = self.recent.front().copied()
            && time.saturating_add(self.length) <= at
        {
            self.admitted -= units;
            self.recent.pop_front();
        }
        TimeInterval {
            admitted: self.admitted.saturating_add(cost),
            allowed: self.most,
            from: at.saturating_sub(self.length),
            until: at,
        }
    }

    fn push(&mut self, at: u64, cost: u64) {
        self.admitted += cost;
        match self.recent.back_mut() {
            Some((time, units)) if *time >= at => *units += cost,
            _ => self.recent.push_back((at, cost)),
        }
    }

    /// From the newest on: those would have counted longest.
    fn refund(&mut self, mut units: u64) {
        while units > 0
            && let Some((_, newest)) = self.recent.back_mut()
        {
            let given = units.min(*newest);
            *newest -= given;
            self.admitted -= given;
            units -= given;
            if *newest == 0 {
                self.recent.pop_back();
            }
        }
    }
}
