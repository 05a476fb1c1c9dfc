//! Tests of the errors of invalid patterns.

use super::Pattern;

/// The pattern, the invalid part of it, a word of the message, a word of the help.
const REFUSED: [(&str, &str, &str, &str); 54] = [
    ("", "", "empty", "`/**`"),
    ("users", "u", "start with `/`", "`/users`"),
    ("*", "*", "start with `/`", "`/**`"),
    (" /users", " ", "start with `/`", "write `/users`"),
    ("^/users", "^", "start with `/`", "write `/users`"),
    ("^/users/(.*)$", "^", "regular expression", "`/users/{id}`"),
    ("https://h/users", "https://h", "whole URL", "write `/users`"),
    ("https://h", "https://h", "whole URL", "write `/`"),
    ("/users?id=1", "?id=1", "query", "from `?` on"),
    ("/users#top", "#top", "fragment", "from `#` on"),
    ("/a;b/c", ";", "cut off", "leave it out"),
    ("/a\\b", "\\", "backslash", "write `/`"),
    ("/a b", " ", "space", "`%20`"),
    ("/a ", " ", "space", "leave it out"),
    ("/a\tb", "\t", "invisible", "leave it out"),
    ("/a\u{a0}b", "\u{a0}", "invisible", "leave it out"),
    ("/%63heckout", "%63", "decoded first", "write `c`"),
    ("/x/a%7Eb", "%7E", "decoded first", "write `~`"),
    ("/a/%2e%2e/b", "%2e", "decoded first", "write `.`"),
    ("/100%", "%", "hexadecimal", "`%25`"),
    ("/%zz", "%", "hexadecimal", "`%25`"),
    ("/a/../b", "..", "resolved", "leads to"),
    ("/a/./b", ".", "resolved", "leads to"),
    ("/a/***", "***", "no meaning", "`**`"),
    ("/a/b***", "b***", "no meaning", "`**`"),
    ("/a/b**", "b**", "part of this segment", "`/**`"),
    ("/a/**.pdf", "**.pdf", "part of this segment", "`*`"),
    ("/users/{id", "{id", "not closed", "`{name}`"),
    ("/users/}id{", "}id{", "not closed", "`{name}`"),
    ("/users/id}", "id}", "no `{`", "`{name}`"),
    ("/users/{}", "{}", "no name", "`{id}`"),
    ("/v{major}/x", "v{major}", "part of this segment", "`*`"),
    ("/{a}{b}", "{a}{b}", "part of this segment", "`*`"),
    ("/{a}/x/{a}", "{a}", "used twice", "of its own"),
    ("/{id:int}", "{id:int}", "not a name", "write `{id}`"),
    ("/{id:[0-9]+}", "{id:[0-9]+}", "not a name", "write `{id}`"),
    ("/{1}", "{1}", "not a name", "write `{id}`"),
    ("/{*rest}", "{*rest}", "one segment only", "`**`"),
    ("/{rest...}", "{rest...}", "one segment only", "`**`"),
    ("/users/:id", ":id", "other routers", "write `{id}`"),
    ("/users/<id>", "<id>", "other routers", "write `{id}`"),
    ("/users/<int:id>", "<int:id>", "other routers", "write `{id}`"),
    ("/users/[id]", "[id]", "other routers", "write `{id}`"),
    ("/users/[0-9]+", "[", "no meaning", "`{name}`"),
    ("/a/^b", "^", "regular expression", "leave it out"),
    ("/users/(.*)", "(.*)", "regular expression", "`**`"),
    ("/users/(.+)/x", "(.+)", "regular expression", "`**`"),
    ("/users/.*", ".*", "regular expression", "`**`"),
    ("/users/(?:a|b)", "(?", "regular expression", "`{name}`"),
    ("/users/([^/]+)", "([", "regular expression", "`{name}`"),
    ("/users/\\d+", "\\d", "regular expression", "`{name}`"),
    ("/a|/b", "|", "regular expression", "each alternative"),
    ("/users$", "$", "regular expression", "leave it out"),
    ("/users/{id}$", "$", "regular expression", "leave it out"),
];

#[test]
fn errors_have_a_range_and_a_hint() {
    for (text, part, message, help) in REFUSED {
        let error = Pattern::parse(text).expect_err(text);
        assert_eq!(&text[error.range.clone()], part, "{text}: {error}");
        assert!(error.message.contains(message), "{text}: {error}");
        assert!(error.help.contains(help), "{text}: {error}");
    }
}

#[test]
fn the_error_marks_the_second_of_two_equal_names() {
    assert_eq!(Pattern::parse("/{a}/x/{a}").expect_err("a name twice").range, 7..10);
}

#[test]
fn refuses_one_segment_past_the_most() {
    assert!(Pattern::parse(&"/a".repeat(128)).is_ok());
    let error = Pattern::parse(&"/a".repeat(129)).expect_err("too long");
    assert_eq!(error.range, 257..258);
}
