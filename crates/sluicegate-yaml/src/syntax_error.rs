//! Messages for syntax errors, at the place where the text can be fixed.

mod locate;

use granit_parser::{ErrorKind, ScanError};

use self::locate::Locator;
use crate::diagnostics::Diagnostic;
use crate::diagnostics::shortened;
use crate::diagnostics::{SourceId, SourceSpan};

/// The code of all syntax errors.
const CODE: &str = "syntax";

/// Returns a diagnostic for the syntax error at which the parser stopped.
///
/// `parsed` is the end of the last event that was parsed, and `flow` the place of the innermost
/// open bracket or brace.
pub(crate) fn explain(
    source: SourceId,
    text: &str,
    error: &ScanError,
    parsed: usize,
    flow: Option<usize>,
) -> Diagnostic {
    let at = error.marker().byte_offset().unwrap_or(parsed).min(text.len());
    let place = Locator { source, text, at };
    match error.kind() {
        ErrorKind::UnclosedQuotedScalar
        | ErrorKind::InvalidQuotedScalarIndent
        | ErrorKind::DocumentIndicatorInQuotedScalar => quote(&place, parsed),
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
        ErrorKind::BlockEntryInFlowCollection => {
            bracket(&place, flow.or_else(|| place.open_bracket(parsed)))
        }
        ErrorKind::SimpleKeyExpected | ErrorKind::InvalidSimpleKey => colon(&place, flow),
        ErrorKind::MappingValueNotAllowed => value(&place),
        ErrorKind::UnknownAnchor => {
            let message = "`*` starts an alias, and no value has an anchor (`&`) of this name";
            Diagnostic::error(place.rest_of_line(), CODE, message)
                .help("put the value in quotes if the `*` is part of it")
        }
        // The parser reads ahead, so it can reach the limit before the tree does.
        ErrorKind::RecursionLimitExceeded => super::builder::too_deep(place.letters(at, 1)),
        ErrorKind::ExpectedBlockMappingKey
        | ErrorKind::ExpectedBlockSequenceEntry
        | ErrorKind::ExpectedDocumentStart
        | ErrorKind::InvalidIndentation => indentation(&place),
        kind => {
            let message = format!("this is not valid YAML: {kind}");
            Diagnostic::error(place.rest_of_line(), CODE, message)
                .help("put the value in quotes if it contains a character with a meaning in YAML")
        }
    }
}

fn quote(place: &Locator<'_>, parsed: usize) -> Diagnostic {
    quote_at(place, place.open_quote(parsed))
}

fn quote_at(place: &Locator<'_>, opened: Option<usize>) -> Diagnostic {
    let mark = opened.and_then(|at| place.text.get(at..)).and_then(|rest| rest.chars().next());
    let mark = mark.unwrap_or('"');
    let span = opened.map_or_else(|| place.rest_of_line(), |at| place.to_line_end(at));
    Diagnostic::error(span, CODE, format!("the closing `{mark}` of this text is missing"))
        .help(format!("add `{mark}`; if the text has several lines, indent the further ones"))
}

fn tab(place: &Locator<'_>) -> Diagnostic {
    let message = "a tab cannot be used for indentation or as a separator here";
    Diagnostic::error(place.tab(), CODE, message).help("use spaces instead")
}

fn bracket(place: &Locator<'_>, flow: Option<usize>) -> Diagnostic {
    // The error may precede the event of the bracket.
    let opened = flow.or_else(|| place.letter().filter(|it| "[{".contains(*it)).map(|_| place.at));
    let closing = match opened.and_then(|at| place.text.get(at..)) {
        Some(rest) if rest.starts_with('{') => '}',
        _ => ']',
    };
    let here = place.rest_of_line();
    match opened {
        Some(at) if at == place.at || !place.same_line(at) || here.range().is_empty() => {
            let message = format!("the closing `{closing}` is missing");
            let diagnostic = Diagnostic::error(place.letters(at, 1), CODE, message);
            let diagnostic = diagnostic.label("opened here").help(format!("add `{closing}`"));
            if at == place.at {
                diagnostic
            } else {
                diagnostic.related(here, "the parser stopped here")
            }
        }
        _ => Diagnostic::error(here, CODE, format!("expected `,` or `{closing}` here"))
            .help("put a value in quotes if it contains `:`, `,` or brackets"),
    }
}

fn colon(place: &Locator<'_>, flow: Option<usize>) -> Diagnostic {
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
    Diagnostic::error(
        span,
        CODE,
        "expected `name: value`, but there is no `:` with a space after it",
    )
    .help(help)
}

fn value(place: &Locator<'_>) -> Diagnostic {
    let line = place.line_start();
    let before = place.text.get(line..place.at).unwrap_or("");
    if before.contains(": ") {
        return Diagnostic::error(place.letters(place.at, 1), CODE, "a second `:` in one line")
            .help("put the value in quotes if the `:` is part of it");
    }
    if let Some(span) = place.lone_words_before() {
        let name = place.text.get(span.range()).unwrap_or("");
        return Diagnostic::error(
            span,
            CODE,
            "expected `name: value`, but there is no `:` in this line",
        )
        .help(format!("did you mean `{}:`?", shortened(name, 60)));
    }
    let indent = before.len() - before.trim_start_matches([' ', '-']).len();
    let span = SourceSpan::new(place.source, line + indent, place.letters(place.at, 1).range().end);
    Diagnostic::error(
        span,
        CODE,
        "a field cannot start here, because the previous one already has a value",
    )
    .help("indent it exactly like the other fields of its map")
}

fn indentation(place: &Locator<'_>) -> Diagnostic {
    Diagnostic::error(
        place.whole_line(),
        CODE,
        "this line has a different indentation than the lines around it",
    )
    .help("indent all fields of a map, or all items of a list, equally far, with spaces")
}
