//! Files that hold more than one thing.

use super::tree::files;

const LINES: usize = 400;
/// A file that is longer says why, in a comment that begins like this.
const REASON: &str = "// Long because ";

#[test]
fn files_have_at_most_400_lines_or_a_reason() {
    for source in files(&["rs", "lua"]) {
        let lines = source.text.lines().count();
        assert!(
            lines <= LINES || source.text.contains(REASON),
            "{} has {lines} lines. A file holds one thing that its name names: split it, or write a \
             comment `{REASON}…`",
            source.path
        );
        assert!(
            lines > LINES || !source.text.contains(REASON) || source.path.contains("/tidy/"),
            "{} has {lines} lines and needs no reason any more: remove `{REASON}…`",
            source.path
        );
    }
}
