//! Tests of normalization and of the readings of a path.

use super::generators::pieces;
use super::{Folding, Paths, meets, normal, pattern, shown};
use sluicegate_testkit::Rng;

#[test]
fn each_target_has_its_normal_form() {
    let table: [(&[u8], &str); 40] = [
        (b"", "/"),
        (b"/", "/"),
        (b"?x", "/"),
        (b"*", "*"),
        (b"*?x", "*"),
        (b"**", "/**"),
        (b"http://h", "/"),
        (b"http://h?x", "/"),
        (b"http://h\\x", "/x"),
        (b"http:///x", "/x"),
        (b"urn:x/y", "/urn:x/y"),
        (b"h:443", "/h:443"),
        (b"://x/y", "/:/x/y"),
        (b"1http://x/y", "/1http:/x/y"),
        (b"/../..", "/"),
        (b"/a/../../b", "/b"),
        (b"/a//../b", "/b"),
        (b"/a/b/..", "/a"),
        (b"/a/.b/..c/...", "/a/.b/..c/..."),
        (b"/.well-known/x", "/.well-known/x"),
        (b"/..;/a", "/a"),
        (b"/;/;/", "/"),
        (b"/a;b%2Fc/d", "/a/c/d"),
        (b"/%2561", "/%2561"),
        (b"/%25zz", "/%zz"),
        (b"/%zz%", "/%zz%"),
        (b"/%%361", "/%2561"),
        (b"/%%36%31", "/%2561"),
        (b"/100%25", "/100%"),
        (b"/%25%2541", "/%%2541"),
        (b"/%252F", "/%252F"),
        (b"/%3f%23%3b", "/%3F%23%3B"),
        (b"/%2a%7B%40%20", "/*{@ "),
        (b"/%C3%A9", "/\\xc3\\xa9"),
        (b"/\xc3\xa9", "/\\xc3\\xa9"),
        (b"/%ff%00%0a\x01", "/\\xff\\x00\\n\\x01"),
        (b"/A%41%61", "/AAa"),
        (b"/a%2", "/a%2"),
        (b"/a+b", "/a+b"),
        (b"/%2e%2E/%2e", "/"),
    ];
    for (target, expected) in table {
        assert_eq!(shown(&normal(target)), expected, "{}", shown(target));
    }
}

#[test]
fn an_encoded_slash_has_a_second_reading_and_two_kinds_have_four() {
    let table: [(&str, &[&str]); 9] = [
        ("/a/b", &["/a/b"]),
        ("/%61/b", &["/a/b"]),
        ("/a%2fb", &["/a/b", "/a%2Fb"]),
        ("/a%5cb", &["/a/b", "/a%5Cb"]),
        ("/a%2Fb%5Cc", &["/a/b/c", "/a%2Fb/c", "/a/b%5Cc", "/a%2Fb%5Cc"]),
        ("/a%2F", &["/a", "/a%2F"]),
        ("/%2F%2f", &["/", "/%2F%2F"]),
        ("/a%2f%2Fb", &["/a/b", "/a%2F%2Fb"]),
        ("/a%5Cb%5cc", &["/a/b/c", "/a%5Cb%5Cc"]),
    ];
    for (target, expected) in table {
        assert_readings(target, expected);
    }
}

#[test]
fn dots_parameters_and_backslashes_are_read_as_text_too() {
    let table: [(&str, &[&str]); 19] = [
        // Dots: resolved, as text, and removing an empty segment.
        ("/a/../b", &["/b", "/a/../b"]),
        ("/a/%2e%2E/b", &["/b", "/a/../b"]),
        ("/a/./b", &["/a/b", "/a/./b"]),
        ("/a//../b", &["/b", "/a/../b", "/a/b"]),
        ("/a///../../b", &["/b", "/a/../../b", "/a/b"]),
        ("//../b", &["/b", "/../b"]),
        ("/a//..", &["/", "/a/..", "/a"]),
        ("/a/..//", &["/", "/a/.."]),
        // Parameters: cut and as text.
        ("/a;x/b", &["/a/b", "/a%3Bx/b"]),
        ("/;/a", &["/a", "/%3B/a"]),
        ("/a/..;/b", &["/b", "/a/..%3B/b"]),
        ("/a/;x/../b", &["/b", "/a/%3Bx/../b", "/a/b"]),
        ("/a;x/../b", &["/b", "/a%3Bx/../b"]),
        // Backslashes: separating and as text.
        ("/a\\b", &["/a/b", "/a%5Cb"]),
        ("/a/b\\..\\..\\c", &["/c", "/a/b%5C..%5C..%5Cc"]),
        ("/x/../a\\..\\b", &["/b", "/x/../a%5C..%5Cb", "/a%5C..%5Cb"]),
        // Together with encoded slashes.
        ("/a/..%2Fb", &["/b", "/a/..%2Fb", "/a/../b"]),
        ("/a%2Fb/..", &["/a", "/", "/a/b/..", "/a%2Fb/.."]),
        ("/a;x%2Fb", &["/a/b", "/a", "/a%3Bx/b", "/a%3Bx%2Fb"]),
    ];
    for (target, expected) in table {
        assert_readings(target, expected);
    }
}

fn assert_readings(target: &str, expected: &[&str]) {
    let paths = Paths::of(target.as_bytes(), Folding::new(false));
    let readings: Vec<String> = paths.readings().map(shown).collect();
    assert_eq!(readings, expected, "{target}");
    assert_eq!(shown(paths.main()), expected[0], "{target}");
}

/// Spellings that some upstreams read as a path in the first folder, and others as one outside it.
const DOUBTFUL: [&str; 18] = [
    "/in/../out/x",
    "/in/%2e%2e/out/x",
    "/in//../out/x/../../out",
    "/in/..;/out/x",
    "/in/..;a=b/out/x",
    "/in/%2E.;/out/x",
    "/in/;/../../out",
    "/in/q\\..\\..\\out",
    "/in/\\..\\..\\out",
    "/in/..\\out",
    "/in/x/..%5c..%5cout",
    "/in/..%2fout",
    "/in%2F..%2Fout",
    "/x/../in/q\\..\\..\\out",
    "/x/../in/..;/out/x",
    "/x/..;/in/q\\..\\..\\..\\out",
    "/x\\..\\in/..;/out/x",
    "/x//..;/in/q\\..\\..\\out",
];

#[test]
fn a_rule_matches_if_any_upstream_would_serve_its_route() {
    for target in DOUBTFUL {
        assert!(meets(target.as_bytes(), &pattern("/in/**")), "{target}");
    }
    for target in ["/in//../q", "/x/../in//../q", "/in/;/../q", "/in\\/../q"] {
        assert!(meets(target.as_bytes(), &pattern("/in/q")), "{target}");
    }
}

#[test]
fn an_exception_does_not_apply_if_any_upstream_reads_the_path_differently() {
    let holds = |target: &str, exception: &str| {
        let exception = pattern(exception);
        Paths::of(target.as_bytes(), Folding::new(false))
            .readings()
            .all(|path| exception.matches(path))
    };
    for target in DOUBTFUL {
        assert!(!holds(target, "/in/**"), "{target}");
        assert!(!holds(target, "/out/**"), "{target}");
    }
    for target in ["/in//../out/x", "/in/..;/out/x", "/in/\\..\\..\\out"] {
        assert!(!holds(target, "/out/**"), "{target}");
    }
    // Inside in every reading.
    for target in ["/in", "/in//", "/in/a;b", "/in/a\\b", "/in/./x", "/in/a/../b", "/in/a%2Fb"] {
        assert!(holds(target, "/in/**"), "{target}");
    }
}

#[test]
fn text_that_could_be_structure_is_spelled_as_in_patterns() {
    for (text, targets) in [
        ("/a%3Bb", ["/a;b", "/a%3Bb", "/a%3bb"]),
        ("/a%5Cb", ["/a\\b", "/a%5Cb", "/a%5cb"]),
        ("/*.pdf", ["/a;b.pdf", "/a\\b.pdf", "/a%5Cb.pdf"]),
    ] {
        for target in targets {
            assert!(meets(target.as_bytes(), &pattern(text)), "{text} {target}");
        }
    }
}

#[test]
fn a_normal_path_is_borrowed_and_others_stay_inline() {
    for target in ["/", "/api/v1/Users/42?x=%20;", "/.well-known/a", "/a.b/c~d/", "/x#y", "*"] {
        let paths = Paths::of(target.as_bytes(), Folding::new(false));
        assert_eq!(paths.main().as_ptr(), target.as_ptr(), "{target}");
    }
    for target in ["/api/%76%31/x;y", "/a%2Fb%5Cc/0123456789", "/a/../0123456789"] {
        let paths = Paths::of(target.as_bytes(), Folding::new(false));
        assert!(!paths.written.spilled() && !paths.ends.spilled(), "{target}");
    }
}

#[test]
fn a_normal_path_is_its_own_normal_form() {
    const PIECES: [&str; 30] = [
        "/", "/", "\\", ".", "..", "%", "%2", "%25", "%2e", "%2E", "%2F", "%5c", "%3f", "%23",
        "%3B", ";", "?", "#", "a", "B", "6", "1", "%61", "%zz", "%00", "%FF", "*", "http://", ":",
        "%36",
    ];
    let mut random = Rng::new(1);
    for _ in 0..30_000 {
        let target = pieces(&mut random, &PIECES, 12);
        for ignore_case in [false, true] {
            let once = Paths::of(target.as_bytes(), Folding::new(ignore_case)).main().to_vec();
            let again = Paths::of(&once, Folding::new(ignore_case));
            assert_eq!(shown(again.main()), shown(&once), "{target}");
            assert_eq!(again.main().as_ptr() == once.as_ptr(), !once.contains(&b'%'), "{target}");
            assert!(once == b"*" || once.starts_with(b"/"), "{target}");
        }
    }
}

#[test]
fn any_bytes_have_a_path() {
    let mut random = Rng::new(2);
    for _ in 0..20_000 {
        let length = random.index(40);
        let mut target: Vec<u8> = (0..length).map(|_| random.byte()).collect();
        if random.index(2) == 0 {
            target.insert(0, b'/');
        }
        let paths = Paths::of(&target, Folding::new(random.index(2) == 0));
        let readings: Vec<&[u8]> = paths.readings().collect();
        assert!((1..=8).contains(&readings.len()), "{}", shown(&target));
        let once = paths.main().to_vec();
        assert_eq!(shown(&normal(&normal(&once))), shown(&normal(&once)));
    }
}

#[test]
fn readings_are_distinct_and_tidy_and_the_first_is_the_main_one() {
    const PIECES: [&str; 16] = [
        "/", "/", "/", "\\", ".", "..", "/..", "/../", "%2e", "%2F", "%5C", ";", "a", "B", "%25",
        "%3b",
    ];
    let mut random = Rng::new(7);
    let mut counts = [0; 9];
    for _ in 0..30_000 {
        let target = pieces(&mut random, &PIECES, 14);
        for ignore_case in [false, true] {
            let paths = Paths::of(target.as_bytes(), Folding::new(ignore_case));
            let readings: Vec<&[u8]> = paths.readings().collect();
            let distinct: std::collections::HashSet<&[u8]> = readings.iter().copied().collect();
            assert_eq!(distinct.len(), readings.len(), "{target}");
            assert_eq!(readings[0], paths.main(), "{target}");
            for reading in &readings {
                let text = shown(reading);
                assert!(text.starts_with('/') && !text.contains("//"), "{target} {text}");
                assert!(text == "/" || !text.ends_with('/'), "{target} {text}");
                assert!(!text.contains([';', '\\']), "{target} {text}");
            }
            counts[readings.len()] += 1;
        }
    }
    // One to eight, and every number of them occurs.
    assert!(counts[1..].iter().all(|&count| count > 0), "{counts:?}");
}

#[test]
fn the_most_likely_readings_are_not_crowded_out() {
    // A path with all kinds of ambiguity still has the most likely readings.
    let paths = Paths::of(b"/a%2Fb%5Cc;d\\e/f//../g", Folding::new(false));
    let readings: Vec<String> = paths.readings().map(shown).collect();
    assert_eq!(readings.len(), 8);
    for expected in [
        "/a/b/c/e/g",
        "/a/b%5Cc%3Bd%5Ce/f/../g",
        "/a/b/c/e/f/g",
        "/a/b%5Cc%3Bd%5Ce/g",
        "/a%2Fb%5Cc%3Bd/e/f/g",
    ] {
        assert!(readings.iter().any(|reading| reading == expected), "{expected} {readings:?}");
    }
}

#[test]
fn very_long_targets_are_read_to_their_end() {
    let slashes = vec![b'/'; 4096];
    assert_eq!(normal(&slashes), b"/");
    let dots = b"/..".repeat(2000);
    assert_eq!(normal(&dots), b"/");
    let deep = b"/a%62".repeat(2000);
    assert_eq!(normal(&deep), b"/ab".repeat(2000));
    let encoded = b"%2Fa%5C".repeat(2000);
    assert_eq!(Paths::of(&encoded, Folding::new(false)).readings().count(), 4);
    let everything = b"/a;b\\c//..%2F%5C".repeat(2000);
    assert!(Paths::of(&everything, Folding::new(false)).readings().count() <= 8);
}
