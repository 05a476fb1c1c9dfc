//! Why a text is not YAML, in plain words and at the place where it can be put right.

mod places;

use granit_parser::{ErrorKind, ScanError};

use self::places::Place;
use crate::finding::Finding;
use crate::report::shortened;
use crate::source::{SourceId, Span};

/// The code of everything that is not YAML at all.
const CODE: &str = "syntax";

/// One finding for the error that ended the reading. `understood` is where the last thing ends
/// that was read well, and `flow` the bracket or brace that was still open.
pub(super) fn explain(
    source: SourceId,
    text: &str,
    error: &ScanError,
    understood: usize,
    flow: Option<usize>,
) -> Finding {
    let at = error.marker().byte_offset().unwrap_or(understood).min(text.len());
    let place = Place { source, text, at };
    match error.kind() {
        ErrorKind::UnclosedQuotedScalar
        | ErrorKind::InvalidQuotedScalarIndent
        | ErrorKind::DocumentIndicatorInQuotedScalar => quote(&place, understood),
        ErrorKind::TabNotAllowed
        | ErrorKind::TabInBlockIndentation
        | ErrorKind::TabInIndentation
        | ErrorKind::TabInPlainScalar
        | ErrorKind::TabAtBlockScalarStart => tab(&place),
        ErrorKind::UnclosedFlowCollection { .. }
        | ErrorKind::UnexpectedEofFlowSequence
        | ErrorKind::UnexpectedEofFlowMapping
        | ErrorKind::UnexpectedEofImplicitFlowMapping
        | ErrorKind::ExpectedFlowMappingSeparator
        | ErrorKind::ExpectedFlowSequenceSeparator
        | ErrorKind::InvalidColonPlacement
        | ErrorKind::InvalidFlowScalarIndent => bracket(&place, flow),
        ErrorKind::BlockEntryInFlowCollection => entry(&place, understood, flow),
        ErrorKind::InvalidTrailingSingleQuotedScalar
        | ErrorKind::InvalidTrailingDoubleQuotedScalar => trailing(&place, understood),
        ErrorKind::SimpleKeyExpected | ErrorKind::InvalidSimpleKey => colon(&place, flow),
        ErrorKind::MappingValueNotAllowed => value(&place),
        ErrorKind::UnknownAnchor => alias(&place),
        // The parser looks ahead, and can notice it before the tree does.
        ErrorKind::RecursionLimitExceeded => super::tree::too_deep(place.letters(at, 1)),
        ErrorKind::ExpectedBlockMappingKey => field(&place),
        kind => {
            let (message, help) = words(kind);
            let finding = Finding::error(place.rest_of_line(), CODE, message);
            if help.is_empty() { finding } else { finding.help(help) }
        }
    }
}

fn quote(place: &Place<'_>, understood: usize) -> Finding {
    quote_at(place, place.open_quote(understood))
}

fn quote_at(place: &Place<'_>, opened: Option<usize>) -> Finding {
    let mark = opened.and_then(|at| place.text.get(at..)).and_then(|rest| rest.chars().next());
    let mark = mark.unwrap_or('"');
    let span = opened.map_or_else(|| place.rest_of_line(), |at| place.to_line_end(at));
    Finding::error(span, CODE, format!("the closing `{mark}` of this text is missing"))
        .help(format!("add `{mark}`; the further lines of a text in quotes have to be indented"))
}

fn tab(place: &Place<'_>) -> Finding {
    let message = "a tab cannot be used to indent or to set things apart here";
    Finding::error(place.tab(), CODE, message).help("use spaces instead")
}

fn bracket(place: &Place<'_>, flow: Option<usize>) -> Finding {
    // The bracket may not have been passed on yet when the error came.
    let opened = flow.or_else(|| place.letter().filter(|it| "[{".contains(*it)).map(|_| place.at));
    let closing = match opened.and_then(|at| place.text.get(at..)) {
        Some(rest) if rest.starts_with('{') => '}',
        _ => ']',
    };
    let here = place.rest_of_line();
    match opened {
        Some(at) if at == place.at || !place.same_line(at) || here.range().is_empty() => {
            let message = format!("the closing `{closing}` is missing");
            let finding = Finding::error(place.letters(at, 1), CODE, message);
            let finding = finding.label("opened here").help(format!("add `{closing}`"));
            if at == place.at { finding } else { finding.related(here, "reading stopped here") }
        }
        _ => Finding::error(here, CODE, format!("expected `,` or `{closing}` here"))
            .help("put a value in quotes if it contains `:`, `,` or brackets"),
    }
}

/// A list item within brackets, most often because they were not closed.
fn entry(place: &Place<'_>, understood: usize, flow: Option<usize>) -> Finding {
    let opened = flow.or_else(|| place.open_bracket(understood));
    if opened.is_some_and(|opened| !place.same_line(opened)) {
        return bracket(place, opened);
    }
    Finding::error(place.rest_of_line(), CODE, "`- ` cannot stand inside of brackets")
        .help("separate the values with `,`")
}

/// Text behind a quote that closes: it may be the one that was to open the next text.
fn trailing(place: &Place<'_>, understood: usize) -> Finding {
    match place.closed_quote(understood).filter(|opened| !place.same_line(*opened)) {
        Some(opened) => quote_at(place, Some(opened))
            .related(place.rest_of_line(), "it goes on until the next one, here"),
        None => Finding::error(
            place.rest_of_line(),
            CODE,
            "there is more text after the closing quotes",
        )
        .help("put the whole value in quotes"),
    }
}

fn colon(place: &Place<'_>, flow: Option<usize>) -> Finding {
    if flow.is_some() {
        return bracket(place, flow);
    }
    let span = place.rest_of_line();
    let line = place.text.get(span.range()).unwrap_or("");
    let help = match line.split_once(':') {
        Some((name, _)) => format!("put a space after the `:` of `{}`", shortened(name, 40)),
        None => match line.split_once(' ') {
            Some((name, rest)) => {
                format!("did you mean `{}`?", shortened(&format!("{name}: {rest}"), 60))
            }
            None => "write `name: value`".to_owned(),
        },
    };
    Finding::error(span, CODE, "expected `name: value`, but there is no `:` with a space after it")
        .help(help)
}

fn value(place: &Place<'_>) -> Finding {
    let line = place.line_start();
    let before = place.text.get(line..place.at).unwrap_or("");
    if before.contains(": ") {
        return Finding::error(place.letters(place.at, 1), CODE, "a second `:` in one line")
            .help("put the value in quotes if the `:` belongs to it");
    }
    if let Some(span) = place.lone_words_before() {
        let name = place.text.get(span.range()).unwrap_or("");
        return Finding::error(
            span,
            CODE,
            "expected `name: value`, but there is no `:` in this line",
        )
        .help(format!("did you mean `{}:`?", shortened(name, 60)));
    }
    let indent = before.len() - before.trim_start_matches([' ', '-']).len();
    let span = Span::new(place.source, line + indent, place.letters(place.at, 1).range().end);
    Finding::error(span, CODE, "a field cannot start here, because the one before has its value")
        .help("indent it exactly as far as the fields it belongs to")
}

fn alias(place: &Place<'_>) -> Finding {
    let span = place.word();
    let name = place.text.get(span.range()).unwrap_or("").trim_start_matches('*');
    let name = shortened(name, 60);
    let message =
        format!("`*` repeats what is marked with `&`, and nothing is marked with `&{name}`");
    Finding::error(span, CODE, message)
        .help(format!("put it in quotes if the `*` belongs to it: `\"*{name}\"`"))
}

fn field(place: &Place<'_>) -> Finding {
    let span = place.whole_line();
    let line = place.text.get(span.range()).unwrap_or("");
    if line.starts_with("- ") {
        return Finding::error(span, CODE, "a list item cannot stand among the fields of a map")
            .help("indent it below the field that the list belongs to");
    }
    Finding::error(span, CODE, "this line is not indented like the ones it belongs to")
        .help("indent all fields of a map equally far, with spaces")
}

/// The words for an error that is where the parser says it is; the help may be empty.
fn words(kind: &ErrorKind) -> (String, &'static str) {
    const INDENT: &str = "indent all lines that belong together equally far, with spaces";
    const QUOTE: &str = "put the whole value in quotes";
    let (message, help) = match kind {
        ErrorKind::UnexpectedCharacter { character } if character.is_control() => (
            "this control character cannot stand in a file",
            "remove it, or write it as `\\u` and four digits in double quotes",
        ),
        ErrorKind::UnexpectedCharacter { character } => {
            let letter = shortened(&character.to_string(), 1);
            return (format!("a value cannot start with `{letter}`"), QUOTE);
        }
        ErrorKind::MismatchedFlowCollectionEnd { open, close } => {
            return (format!("`{open}` is closed by `{close}`"), "close it with its own kind");
        }
        ErrorKind::MissingAnchorOrAliasName => {
            ("`&` and `*` mark and repeat values, and need a name", QUOTE)
        }
        ErrorKind::ExpectedBlockSequenceEntry => (
            "this line is neither indented like the ones above it nor a list item, which starts with `- `",
            INDENT,
        ),
        ErrorKind::ExpectedDocumentStart | ErrorKind::InvalidIndentation => {
            ("this line is not indented like the ones it belongs to", INDENT)
        }
        ErrorKind::InvalidBlockScalarIndent => {
            ("this line of the text is indented less than its first", INDENT)
        }
        ErrorKind::UnknownQuotedScalarEscape
        | ErrorKind::InvalidQuotedScalarHexEscape
        | ErrorKind::InvalidUnicodeEscape => (
            "`\\` with this letter after it means nothing in double quotes",
            "use single quotes, where `\\` has no meaning, or write `\\\\`",
        ),
        ErrorKind::CommentInterceptedScalar => {
            ("a comment cannot stand inside of a text over several lines", QUOTE)
        }
        ErrorKind::CommentNotSeparated => {
            ("a comment needs a space before its `#`", "add a space, or put the value in quotes")
        }
        ErrorKind::MisplacedFlowCollectionEnd => ("this closes nothing", QUOTE),
        ErrorKind::BlockSequenceEntryNotAllowed => {
            ("a list cannot start here", "start it on a line of its own, below its field")
        }
        ErrorKind::MappingKeyNotAllowed => {
            ("a field cannot start here", "start it on a line of its own")
        }
        kind => return (format!("this is not YAML: {kind}"), ""),
    };
    (message.to_owned(), help)
}
