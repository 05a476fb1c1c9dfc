//! What counts as "where it was changed".

/// The lines around a change: the list item or the section that it is in, and the lines next to it.
pub(super) struct Around {
    ranges: Vec<(usize, usize)>,
}

impl Around {
    /// Around a line of both texts: what encloses it may be other lines before and after.
    pub(super) fn line(before: &str, after: &str, line: usize) -> Self {
        let next_to = (line.saturating_sub(1), line + 1);
        let after = block(after, line);
        Self { ranges: vec![next_to, block(before, line), after] }
    }

    /// Whether a finding on these lines lies around the change.
    pub(super) fn meets(&self, line: usize, end_line: usize) -> bool {
        self.ranges.iter().any(|(first, last)| line <= *last && end_line >= *first)
    }
}

/// The lines of the list item around a line, or of its whole section where it is in none. The first
/// line of what follows belongs to it: there a reader notices that something is missing.
fn block(text: &str, line: usize) -> (usize, usize) {
    let lines: Vec<&str> = text.lines().collect();
    let starts_section =
        |line: &str| !line.starts_with([' ', '-', '#', '}', ']']) && !line.trim().is_empty();
    let starts_item = |line: &str| line.starts_with("  - ") || line.starts_with("- ");
    let at = line.min(lines.len()).saturating_sub(1);
    let is_start = |at: &usize| starts_section(lines[*at]) || starts_item(lines[*at]);
    let first = (0..=at).rev().find(is_start).unwrap_or(0);
    let last = (at + 1..lines.len()).find(is_start).unwrap_or(lines.len());
    (first + 1, last + 1)
}
