//! Tests of the paths that patterns match.

use super::generators::{path_text, pattern_text, pieces};
use super::{Pattern, meets, pattern};
use sluicegate_testkit::Rng;

#[test]
fn each_pattern_matches_exactly_its_paths() {
    let table: [(&str, &[&str]); 22] = [
        ("/", &["/", "", "//", "/?x", "/a/.."]),
        ("/**", &["/", "/a", "/a/b/c", "*", ""]),
        ("/reports/**", &["/reports", "/reports/", "/reports/a", "/reports/a/b"]),
        ("/reports/", &["/reports", "/reports/"]),
        ("//reports//x", &["/reports/x"]),
        ("/users/{id}", &["/users/1", "/users/a%20b", "/users/%2F", "/users/a%2Fb"]),
        ("/users/*/x", &["/users/1/x"]),
        ("/files/*.pdf", &["/files/a.pdf", "/files/.pdf", "/files/a.pdf.pdf"]),
        ("/v*/x", &["/v/x", "/v1/x", "/v%2f/x"]),
        ("/a*b*c", &["/abc", "/axbxc", "/abbcc", "/abcbc"]),
        ("/a/**/z", &["/a/z", "/a/b/z", "/a/z/z", "/a/b/c/z"]),
        ("/**/z", &["/z", "/a/z", "/z/z"]),
        ("/**/a/**/b/**", &["/a/b", "/x/a/x/b/x", "/b/a/b", "/a/a/b/b"]),
        ("/**/**/a/**/**", &["/a", "/x/a/y"]),
        ("/{a}/**/{b}", &["/1/2", "/1/x/2"]),
        ("/sale/100%25", &["/sale/100%", "/sale/100%25"]),
        ("/%2541", &["/%2541", "/%%341"]),
        ("/a%20b", &["/a%20b", "/a b"]),
        ("/%2A/%7Bid%7D", &["/*/{id}", "/%2a/%7bid%7D"]),
        ("/é", &["/é", "/%C3%A9", "/%c3%a9"]),
        ("/a%2fb", &["/a%2Fb", "/a%2fb"]),
        (
            "/$metadata/Items(1)/x:run",
            &["/$metadata/Items(1)/x:run", "/%24metadata/Items%281)/x:run"],
        ),
    ];
    for (text, targets) in table {
        for target in targets {
            assert!(meets(target.as_bytes(), &pattern(text)), "{text} {target}");
        }
    }
}

#[test]
fn displays_patterns_normalized() {
    let table = [
        ("/", "/"),
        ("///", "/"),
        ("/a//b/", "/a/b"),
        ("/a/**/**/", "/a/**"),
        ("/users/{id}/*.pdf", "/users/{id}/*.pdf"),
        ("/%20%2f", "/%20%2f"),
    ];
    for (text, shown) in table {
        assert_eq!(pattern(text).to_string(), shown);
        assert_eq!(pattern(shown).to_string(), shown);
    }
}

/// Whether a pattern matches, in a simple and slow form.
fn matches_steps(segments: &[&str], steps: &[&str]) -> bool {
    match (segments, steps) {
        ([], _) => steps.is_empty(),
        (["**", rest @ ..], _) => (0..=steps.len()).any(|at| matches_steps(rest, &steps[at..])),
        ([segment, behind @ ..], [step, steps @ ..]) => {
            (segment.starts_with('{') || glob(segment.as_bytes(), step.as_bytes()))
                && matches_steps(behind, steps)
        }
        (_, []) => false,
    }
}

fn glob(glob_text: &[u8], text: &[u8]) -> bool {
    match (glob_text, text) {
        ([], _) => text.is_empty(),
        ([b'*', behind @ ..], _) => (0..=text.len()).any(|at| glob(behind, &text[at..])),
        ([first, behind @ ..], [byte, text @ ..]) => first == byte && glob(behind, text),
        (_, []) => false,
    }
}

#[test]
fn matching_agrees_with_the_simple_form() {
    let mut random = Rng::new(4);
    let mut matched = 0;
    for _ in 0..30_000 {
        let text = pattern_text(&mut random);
        let path = path_text(&mut random);
        let segments: Vec<&str> = text.split('/').filter(|part| !part.is_empty()).collect();
        let steps: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        let expected = matches_steps(&segments, &steps);
        matched += usize::from(expected);
        assert_eq!(pattern(&text).matches(path.as_bytes()), expected, "{text} {path}");
    }
    assert!(matched > 1_500, "{matched}");
}

#[test]
fn patterns_and_paths_of_any_bytes_never_panic() {
    const PIECES: [&str; 26] = [
        "/", "/", "a", "{", "}", "id", "*", "**", "%", "%2F", "%41", "%zz", ":", "<", ">", "[",
        "]", "é", "\u{0}", "$", "(.*)", "^", "..", "|", "\\", "{x}",
    ];
    let mut random = Rng::new(5);
    for _ in 0..30_000 {
        let text = pieces(&mut random, &PIECES, 8);
        match Pattern::parse(&text) {
            Ok(pattern) => {
                let path = pieces(&mut random, &PIECES, 8);
                pattern.matches(path.as_bytes());
                pattern.capture(path.as_bytes(), "x");
            }
            Err(error) => {
                assert!(text.get(error.range.clone()).is_some(), "{text} {error}");
                assert!(!error.message.is_empty() && !error.help.is_empty(), "{text}");
            }
        }
    }
}
