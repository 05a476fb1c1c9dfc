//! Random changes of a file: typos, lost lines, wrong indentation, other values.

use crate::random::Random;

/// A kind of change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Change {
    DropLetter,
    SwapLetters,
    DoubleLetter,
    DoubleLine,
    DropLine,
    IndentMore,
    IndentLess,
    Tab,
    DropColon,
    DropQuote,
    DropBracket,
    Number,
    Text,
    List,
    Map,
    Nothing,
    Flag,
    JoinLines,
}

impl Change {
    pub(super) const ALL: [Self; 18] = [
        Self::DropLetter,
        Self::SwapLetters,
        Self::DoubleLetter,
        Self::DoubleLine,
        Self::DropLine,
        Self::IndentMore,
        Self::IndentLess,
        Self::Tab,
        Self::DropColon,
        Self::DropQuote,
        Self::DropBracket,
        Self::Number,
        Self::Text,
        Self::List,
        Self::Map,
        Self::Nothing,
        Self::Flag,
        Self::JoinLines,
    ];

    /// Returns the changed text and the number of the changed line, counted from 1.
    ///
    /// `None` if the chosen line has nothing to change in this way.
    pub(super) fn apply(self, text: &str, random: &mut Random) -> Option<(String, usize)> {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let meaningful =
            |line: &String| !line.trim().is_empty() && !line.trim_start().starts_with('#');
        let places: Vec<usize> = (0..lines.len()).filter(|at| meaningful(&lines[*at])).collect();
        let at = *random.one_of(&places)?;
        let line = lines[at].clone();
        match self {
            Self::DoubleLine => lines.insert(at, line),
            Self::DropLine => drop(lines.remove(at)),
            Self::JoinLines => {
                let next = (at + 1 < lines.len()).then(|| lines.remove(at + 1))?;
                lines[at].push_str(next.trim_start());
            }
            _ => lines[at] = self.apply_to_line(&line, random)?,
        }
        let changed = lines.join("\n") + "\n";
        (changed != text).then_some((changed, at + 1))
    }

    fn apply_to_line(self, line: &str, random: &mut Random) -> Option<String> {
        let code = line.split(" #").next().unwrap_or(line);
        let indent = code.len() - code.trim_start().len();
        let letters: Vec<(usize, char)> =
            code.char_indices().filter(|(at, _)| *at >= indent).collect();
        let letter = *random.one_of(&letters)?;
        let without = |(at, letter): (usize, char)| {
            format!("{}{}", &line[..at], &line[at + letter.len_utf8()..])
        };
        let mut dropped = |of: &str| {
            let found: Vec<(usize, char)> =
                letters.iter().copied().filter(|(_, letter)| of.contains(*letter)).collect();
            random.one_of(&found).copied().map(without)
        };
        match self {
            Self::DropLetter => Some(without(letter)),
            Self::DoubleLetter => {
                Some(format!("{}{}{}", &line[..letter.0], letter.1, &line[letter.0..]))
            }
            Self::SwapLetters => {
                let pairs: Vec<_> = letters
                    .windows(2)
                    .filter(|pair| pair[0].1.is_alphanumeric() && pair[1].1.is_alphanumeric())
                    .collect();
                let pair = random.one_of(&pairs)?;
                let [(at, first), (_, second)] = **pair else { return None };
                let end = at + first.len_utf8() + second.len_utf8();
                Some(format!("{}{second}{first}{}", &line[..at], &line[end..]))
            }
            Self::IndentMore => Some(format!(" {line}")),
            Self::IndentLess => line.strip_prefix(' ').map(str::to_owned),
            Self::Tab => Some(format!("\t{}", line.trim_start())),
            Self::DropColon => dropped(":"),
            Self::DropQuote => dropped("\"'"),
            Self::DropBracket => dropped("[]{}"),
            _ => {
                let (field, value) =
                    code.split_once(": ").filter(|(_, value)| !value.trim().is_empty())?;
                let other = match self {
                    Self::Number => "17",
                    Self::Text => "something else",
                    Self::List => "[1, [2]]",
                    Self::Map => "{ some: thing }",
                    Self::Flag => "yes",
                    _ => "",
                };
                let rest = &line[field.len() + 2 + value.len()..];
                Some(format!("{field}: {other}{rest}"))
            }
        }
    }
}
