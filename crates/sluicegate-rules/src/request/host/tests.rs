//! Tests of hosts and host patterns.

use super::{HostName, HostPattern};

fn normal(value: &[u8]) -> Option<String> {
    HostName::of(value).map(|host| host.as_bytes().escape_ascii().to_string())
}

fn pattern(text: &str) -> HostPattern {
    HostPattern::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn every_spelling_of_a_host_is_one_host() {
    let spellings = [
        "shop.example.com",
        "SHOP.Example.COM",
        "shop.example.com.",
        "shop.example.com:443",
        "Shop.example.com.:8080",
        "shop.example.com:",
    ];
    for value in spellings {
        assert_eq!(normal(value.as_bytes()).as_deref(), Some("shop.example.com"), "{value}");
        assert!(
            pattern("Shop.Example.com.")
                .matches(HostName::of(value.as_bytes()).unwrap().as_bytes())
        );
    }
    for value in ["[::1]", "[::1]:80", "[0:0::1]:", "[0000:0:0:0:0:0:0:0001]"] {
        assert_eq!(normal(value.as_bytes()).as_deref(), Some("[::1]"), "{value}");
    }
    let longest = "[1111:2222:3333:4444:5555:6666:7777:8888]";
    let table = [
        ("localhost", "localhost"),
        ("10.0.0.1:80", "10.0.0.1"),
        ("[2001:DB8::A]", "[2001:db8::a]"),
        ("[::ffff:255.255.255.255]", "[::ffff:255.255.255.255]"),
        (longest, longest),
        ("a_b.example", "a_b.example"),
        ("a!%41.example", "a!%41.example"),
    ];
    for (value, expected) in table {
        assert_eq!(normal(value.as_bytes()).as_deref(), Some(expected), "{value}");
    }
    assert_eq!(normal(b"B\xff.example").as_deref(), Some("b\\xff.example"));
}

#[test]
fn rejects_values_that_are_not_hosts() {
    let values = [
        "",
        ".",
        "..",
        ":80",
        " ",
        "a b",
        " a",
        "a ",
        "a\t",
        "a\0",
        "user@a",
        "u:p@a",
        "a..b",
        ".a",
        "a..",
        "a:b",
        "a:80x",
        "a:1:2",
        "::1",
        "[::1",
        "[::1]x",
        "[::1]:x",
        "[]",
        "[a]",
        "[::1%25eth0]",
        "a]",
        "http://a",
        "a/b",
        "a\\b",
        "a?b",
        "a#b",
        "[::1].",
        "a:-1",
        "a\r\n",
    ];
    for value in values {
        assert_eq!(normal(value.as_bytes()), None, "{}", value.escape_debug());
    }
}

#[test]
fn a_normal_host_is_borrowed_and_stays_the_same() {
    for value in ["shop.example.com", "shop.example.com.:443", "[::1]:80", "a\u{e9}"] {
        let host = HostName::of(value.as_bytes()).unwrap();
        assert_eq!(host.as_bytes().as_ptr(), value.as_ptr(), "{value}");
        assert_eq!(normal(host.as_bytes()), normal(value.as_bytes()), "{value}");
    }
}

#[test]
fn short_values_of_every_kind_never_panic_and_are_normal_at_once() {
    let letters = b"aZ.:[]@1 /\xff\0";
    let count = letters.len();
    for number in 0..count.pow(5) {
        let value: Vec<u8> =
            (0..5).map(|place| letters[number / count.pow(place) % count]).collect();
        if let Some(host) = HostName::of(&value) {
            let again = HostName::of(host.as_bytes()).expect("still a host");
            assert_eq!(again.as_bytes(), host.as_bytes());
        }
    }
}

#[test]
fn a_star_matches_subdomains_but_not_the_domain() {
    let table = [
        ("*.example.com", "a.example.com", true),
        ("*.example.com", "b.a.example.com", true),
        ("*.Example.com", "a.example.com", true),
        ("*.example.com", "example.com", false),
        ("*.example.com", ".example.com", false),
        ("*.example.com", "aexample.com", false),
        ("*.example.com", "a.example.com.evil", false),
        ("example.com", "example.com", true),
        ("example.com", "a.example.com", false),
        ("example.com", "example.org", false),
        ("[2001:DB8:0::1]", "[2001:db8::1]", true),
    ];
    for (text, host, expected) in table {
        assert_eq!(pattern(text).matches(host.as_bytes()), expected, "{text} {host}");
    }
    assert_eq!(pattern("*.Example.com.").to_string(), "*.example.com");
}

#[test]
fn pattern_errors_have_a_range_and_a_hint() {
    let table = [
        ("", "", "empty", "`example.com`"),
        ("*", "*", "not a host", "leave the host out"),
        ("example.com:443", ":443", "ports", "leave out `:443`"),
        ("[::1]:80", ":80", "ports", "leave out `:80`"),
        ("https://example.com", "https://", "scheme", "leave out `https://`"),
        ("example.com/x", "/x", "path", "leave out `/x`"),
        ("me@example.com", "me@", "user", "leave out `me@`"),
        ("::1", "::1", "brackets", "write `[::1]`"),
        ("[x]", "[x]", "IPv6", "`[2001:db8::1]`"),
        (".example.com", ".example.com", "empty", "write `*.example.com`"),
        ("a..b", "a..b", "empty", "between dots"),
        ("*..b", "*..b", "empty", "between dots"),
        ("a.*.b", "*", "at the start", "`*.example.com`"),
        ("*example.com", "*", "at the start", "`*.example.com`"),
        ("**.a", "*", "at the start", "`*.example.com`"),
        ("a b", " ", "space", "leave it out"),
        ("bücher.example", "ü", "never carry", "`xn--`"),
        ("a,b", ",", "not allowed", "`shop.example.com`"),
    ];
    for (text, part, message, help) in table {
        let error = HostPattern::parse(text).expect_err(text);
        assert_eq!(&text[error.range.clone()], part, "{text}: {error}");
        assert!(error.message.contains(message), "{text}: {error}");
        assert!(error.help.contains(help), "{text}: {error}");
    }
}
