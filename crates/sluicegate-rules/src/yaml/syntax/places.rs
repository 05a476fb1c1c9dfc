//! Where a mistake is, as opposed to where the parser noticed it.

use crate::source::{SourceId, Span};

/// Where the parser stopped.
pub(super) struct Place<'a> {
    pub(super) source: SourceId,
    pub(super) text: &'a str,
    pub(super) at: usize,
}

impl Place<'_> {
    /// The character that the parser stopped at.
    pub(super) fn letter(&self) -> Option<char> {
        self.text.get(self.at..).and_then(|rest| rest.chars().next())
    }

    /// So many characters from a place on.
    pub(super) fn letters(&self, at: usize, count: usize) -> Span {
        let rest = self.text.get(at..).unwrap_or("");
        let length = rest.chars().take(count).map(char::len_utf8).sum::<usize>();
        self.span(at, at + length)
    }

    /// Where the line begins that the parser stopped in.
    pub(super) fn line_start(&self) -> usize {
        let before = self.text.get(..self.at).unwrap_or("");
        before.rfind('\n').map_or(0, |at| at + 1)
    }

    pub(super) fn same_line(&self, at: usize) -> bool {
        let range = at.min(self.at)..at.max(self.at);
        !self.text.get(range).unwrap_or("\n").contains('\n')
    }

    /// From a place to the end of its line, without the blanks there.
    pub(super) fn to_line_end(&self, at: usize) -> Span {
        let rest = self.text.get(at..).unwrap_or("");
        let line = rest.split('\n').next().unwrap_or("").trim_end();
        self.span(at, at + line.len())
    }

    /// What the parser could not make sense of.
    pub(super) fn rest_of_line(&self) -> Span {
        self.to_line_end(self.at)
    }

    /// Everything that is written in the line.
    pub(super) fn whole_line(&self) -> Span {
        let start = self.line_start();
        let line = self.text.get(start..).unwrap_or("").split('\n').next().unwrap_or("");
        self.to_line_end(start + line.len() - line.trim_start().len())
    }

    /// A line before this one that is a word or two without a `:`, which this line seems to belong to.
    pub(super) fn lone_words_before(&self) -> Option<Span> {
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

    /// What stands between blanks and separators.
    pub(super) fn word(&self) -> Span {
        let rest = self.text.get(self.at..).unwrap_or("");
        let ends = |letter: char| letter.is_whitespace() || ",[]{}".contains(letter);
        self.span(self.at, self.at + rest.find(ends).unwrap_or(rest.len()))
    }

    /// The tab that is in the way: the one at hand, or the next that indents a line.
    pub(super) fn tab(&self) -> Span {
        let at_hand = self.letter().filter(|letter| *letter == '\t').map(|_| self.at);
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
        let found = at_hand.or_else(|| indenting.next()).or(passed);
        self.letters(found.unwrap_or(self.at), 1)
    }

    /// The quote that was opened and not closed before the parser stopped.
    pub(super) fn open_quote(&self, understood: usize) -> Option<usize> {
        let mut open = None;
        self.walk(understood, &mut |sign| {
            if let Sign::Quoted { start, closed: false } = sign {
                open = Some(start);
            }
        });
        open
    }

    /// The last quote that was opened and closed before the parser stopped.
    pub(super) fn closed_quote(&self, understood: usize) -> Option<usize> {
        let mut last = None;
        self.walk(understood, &mut |sign| {
            if let Sign::Quoted { start, closed: true } = sign {
                last = Some(start);
            }
        });
        last
    }

    /// The bracket or brace that was opened last and not closed before the parser stopped.
    pub(super) fn open_bracket(&self, understood: usize) -> Option<usize> {
        let mut open = Vec::new();
        self.walk(understood, &mut |sign| match sign {
            Sign::Opened(at) => open.push(at),
            Sign::Closed => _ = open.pop(),
            Sign::Quoted { .. } => {}
        });
        open.pop()
    }

    /// Looks through what the parser has seen and not passed on, at the signs that belong to YAML.
    fn walk(&self, understood: usize, visit: &mut dyn FnMut(Sign)) {
        let mut at = understood.min(self.at);
        let mut before = ' ';
        while let Some(rest) = self.text.get(at..).filter(|_| at < self.text.len()) {
            let Some(letter) = rest.chars().next() else { return };
            if letter == '#' && before.is_whitespace() {
                let Some(end) = rest.find('\n') else { return };
                at += end;
                continue;
            }
            let starts = before.is_whitespace() || "[{,:".contains(before);
            match letter {
                '"' | '\'' if starts => match close(rest, letter).map(|length| at + length) {
                    Some(end) if end <= self.at => {
                        visit(Sign::Quoted { start: at, closed: true });
                        (at, before) = (end, letter);
                        continue;
                    }
                    _ => return visit(Sign::Quoted { start: at, closed: false }),
                },
                _ if at >= self.at => {}
                '[' | '{' if starts => visit(Sign::Opened(at)),
                ']' | '}' => visit(Sign::Closed),
                _ => {}
            }
            at += letter.len_utf8();
            before = letter;
        }
    }

    fn span(&self, start: usize, end: usize) -> Span {
        super::super::span(self.source, self.text, start, end)
    }
}

/// What brackets and quotes do.
enum Sign {
    Opened(usize),
    Closed,
    Quoted { start: usize, closed: bool },
}

/// How long the text in quotes is that starts here, with both quotes.
fn close(text: &str, quote: char) -> Option<usize> {
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
