//! The place of a mistake, as opposed to the place where the parser stopped.

use crate::diagnostics::{SourceId, SourceSpan};

/// The text, and the place where the parser stopped.
pub(super) struct Locator<'a> {
    pub(super) source: SourceId,
    pub(super) text: &'a str,
    pub(super) at: usize,
}

impl Locator<'_> {
    /// Returns the character at which the parser stopped.
    pub(super) fn letter(&self) -> Option<char> {
        self.text.get(self.at..).and_then(|rest| rest.chars().next())
    }

    /// Returns the span of a number of characters.
    pub(super) fn letters(&self, at: usize, count: usize) -> SourceSpan {
        let rest = self.text.get(at..).unwrap_or("");
        let length = rest.chars().take(count).map(char::len_utf8).sum::<usize>();
        self.span(at, at + length)
    }

    /// Returns the start of the line in which the parser stopped.
    pub(super) fn line_start(&self) -> usize {
        let before = self.text.get(..self.at).unwrap_or("");
        before.rfind('\n').map_or(0, |at| at + 1)
    }

    pub(super) fn same_line(&self, at: usize) -> bool {
        let range = at.min(self.at)..at.max(self.at);
        !self.text.get(range).unwrap_or("\n").contains('\n')
    }

    /// Returns the span from a place to the end of its line, without trailing blanks.
    pub(super) fn to_line_end(&self, at: usize) -> SourceSpan {
        let rest = self.text.get(at..).unwrap_or("");
        let line = rest.split('\n').next().unwrap_or("").trim_end();
        self.span(at, at + line.len())
    }

    /// Returns the rest of the line in which the parser stopped.
    pub(super) fn rest_of_line(&self) -> SourceSpan {
        self.to_line_end(self.at)
    }

    /// Returns the whole line without its indentation.
    pub(super) fn whole_line(&self) -> SourceSpan {
        let start = self.line_start();
        let line = self.text.get(start..).unwrap_or("").split('\n').next().unwrap_or("");
        self.to_line_end(start + line.len() - line.trim_start().len())
    }

    /// Returns the previous line if it has only words, as a key that lacks its `:`.
    pub(super) fn lone_words_before(&self) -> Option<SourceSpan> {
        let mut end = self.line_start();
        loop {
            let before = self.text.get(..end.checked_sub(1)?)?;
            let start = before.rfind('\n').map_or(0, |at| at + 1);
            let line = before.get(start..)?.trim();
            end = start;
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let words = line.trim_start_matches(['-', ' ']);
            let plain =
                words.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_- ".contains(&byte));
            let at = before.len() - before.get(start..)?.trim_start_matches(['-', ' ']).len();
            return (plain && !words.is_empty()).then(|| self.to_line_end(at));
        }
    }

    /// Returns the tab that caused the error: at this place, or the next in an indentation.
    pub(super) fn tab(&self) -> SourceSpan {
        let here = self.letter().filter(|letter| *letter == '\t').map(|_| self.at);
        let mut start = self.line_start();
        let lines = self.text.get(start..).unwrap_or("").split_inclusive('\n');
        let mut indenting = lines.filter_map(|line| {
            let indent = line.get(..line.len() - line.trim_start().len())?;
            let tab = indent.find('\t').map(|tab| start + tab);
            start += line.len();
            tab
        });
        let passed = self.text.get(..self.at).is_some_and(|before| before.ends_with('\t'));
        let passed = passed.then(|| self.at - 1);
        let found = here.or_else(|| indenting.next()).or(passed);
        self.letters(found.unwrap_or(self.at), 1)
    }

    /// Returns the quote that is still open where the parser stopped.
    pub(super) fn open_quote(&self, parsed: usize) -> Option<usize> {
        self.unclosed(parsed).0
    }

    /// Returns the innermost bracket or brace that is still open where the parser stopped.
    pub(super) fn open_bracket(&self, parsed: usize) -> Option<usize> {
        self.unclosed(parsed).1
    }

    /// Finds the open quote and the innermost open bracket after the parsed text.
    fn unclosed(&self, parsed: usize) -> (Option<usize>, Option<usize>) {
        let (mut at, mut before) = (parsed.min(self.at), ' ');
        let mut brackets = Vec::new();
        while let Some(letter) = self.text.get(at..).and_then(|rest| rest.chars().next()) {
            let rest = self.text.get(at..).unwrap_or("");
            let starts = before.is_whitespace() || "[{,:".contains(before);
            let length = match letter {
                '#' if before.is_whitespace() => rest.find('\n').unwrap_or(rest.len()),
                '"' | '\'' if starts => match quoted_length(rest, letter) {
                    Some(length) if at + length <= self.at => length,
                    _ => return (Some(at), brackets.pop()),
                },
                letter => letter.len_utf8(),
            };
            match letter {
                '[' | '{' if starts && at < self.at => brackets.push(at),
                ']' | '}' if at < self.at => _ = brackets.pop(),
                _ => {}
            }
            (at, before) = (at + length, letter);
        }
        (None, brackets.pop())
    }

    fn span(&self, start: usize, end: usize) -> SourceSpan {
        crate::parse::span(self.source, self.text, start, end)
    }
}

/// Returns the length of the quoted text at the start, with both quotes.
fn quoted_length(text: &str, quote: char) -> Option<usize> {
    let mut letters = text.char_indices().skip(1);
    while let Some((at, letter)) = letters.next() {
        if letter == '\\' && quote == '"' {
            letters.next();
        } else if letter == quote {
            return Some(at + 1);
        }
    }
    None
}
