//! The lines that count as near a change.

/// The lines near a change: its list item or section, and the adjacent lines.
pub(super) struct ChangedPlaces {
    ranges: Vec<(usize, usize)>,
}

impl ChangedPlaces {
    /// Returns the lines near a line of both texts, whose items may have different extents.
    pub(super) fn line(before: &str, after: &str, line: usize) -> Self {
        let next_to = (line.saturating_sub(1), line + 1);
        let after = block(after, line);
        Self { ranges: vec![next_to, block(before, line), after] }
    }

    /// Whether a diagnostic on these lines is near the change.
    pub(super) fn meets(&self, line: usize, end_line: usize) -> bool {
        self.ranges.iter().any(|(first, last)| line <= *last && end_line >= *first)
    }
}

/// Returns the lines of the list item around a line, or of its section if it is in no item.
///
/// They include the next line after it, because a missing token is detected there.
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
