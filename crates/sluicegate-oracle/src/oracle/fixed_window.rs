//! The fixed window: one count per given period.

use super::cell::{Cell, Filed, View, When};
use super::receipt::{Receipt, ReceiptId, Until};
use super::rule::{Rule, SLACK, Take};

/// The count of one period.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    start: u64,
    end: u64,
    count: u64,
}

/// `amount` per period.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FixedWindow {
    pub(crate) amount: u64,
    pub(crate) debt: bool,
}

impl FixedWindow {
    /// Returns the current window.
    fn read(cell: &Cell, when: When) -> Window {
        let (start, end) = when.period.expect("a fixed window is asked with its period");
        match cell.window {
            Some(window) if when.now < window.start => window,
            Some(window) if when.now < window.end => Window { start, end, count: window.count },
            _ => Window { start, end, count: 0 },
        }
    }
}

impl Rule for FixedWindow {
    fn capacity(&self) -> u64 {
        self.amount
    }

    fn charge_cap(&self) -> u64 {
        if self.debt { self.amount * 2 } else { self.amount }
    }

    fn correct_clock(&self, cell: &mut Cell, when: When) {
        let (start, end) = when.period.expect("a fixed window is asked with its period");
        if cell.window.is_some_and(|window| window.start > when.now + SLACK) {
            cell.window = Some(Window { start, end, count: self.amount });
        }
        // A window whose period was changed is read as the new one from now on: otherwise its
        // count would carry over again after the end that was reported.
        if let Some(window) = &mut cell.window
            && (window.start..window.end).contains(&when.now)
        {
            *window = Window { start, end, ..*window };
        }
    }

    fn fits(&self, cell: &Cell, when: When, units: u64, cap: u64) -> bool {
        FixedWindow::read(cell, when).count + units <= cap
    }

    fn retry_after(&self, cell: &Cell, when: When, _already: u64, _take: &Take) -> Option<u64> {
        // The next period begins when this one ends.
        Some(FixedWindow::read(cell, when).end - when.now)
    }

    fn file(&self, cell: &mut Cell, when: When, units: u64, id: ReceiptId) -> Filed {
        let mut window = FixedWindow::read(cell, when);
        window.count += units;
        cell.window = Some(window);
        Filed { id, at: when.now.max(window.start), until: Until::whole(window.end) }
    }

    fn give_back(&self, cell: &mut Cell, when: When, receipt: &Receipt, units: u64) -> u64 {
        // The charge is in the stored count, independent of the limit's period now.
        let Some(mut window) = cell.window else { return 0 };
        let charged = (window.start..window.end).contains(&receipt.filed.at);
        if !charged || window.end <= when.now {
            return 0;
        }
        let given = units.min(window.count);
        window.count -= given;
        if given > 0 {
            cell.window = (window.count > 0).then_some(window);
        }
        given
    }

    fn refund(&self, cell: &mut Cell, when: When, units: u64) -> u64 {
        let window = FixedWindow::read(cell, when);
        let count = window.count.saturating_sub(units);
        if count < window.count {
            cell.window = (count > 0).then_some(Window { count, ..window });
        }
        window.count - count
    }

    fn view(&self, cell: &Cell, when: When) -> View {
        let window = FixedWindow::read(cell, when);
        View {
            remaining: self.amount.saturating_sub(window.count),
            reset_after: if window.count > 0 { window.end - when.now } else { 0 },
        }
    }
}
