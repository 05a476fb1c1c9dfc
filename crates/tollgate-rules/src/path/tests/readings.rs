//! The normal form itself, byte by byte.

use super::random::Random;
use super::{Paths, normal, shown};

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
        ("/a;x%2Fb", &["/a/b", "/a"]),
        ("/a/..%2Fb", &["/b", "/a/..%2Fb"]),
        ("/a%2Fb/..", &["/a", "/"]),
        ("/a;%2F;", &["/a"]),
    ];
    for (target, expected) in table {
        let paths = Paths::of(target.as_bytes(), false);
        let readings: Vec<String> = paths.readings().map(shown).collect();
        assert_eq!(readings, expected, "{target}");
        assert_eq!(shown(paths.main()), expected[0], "{target}");
    }
}

#[test]
fn a_normal_path_is_borrowed_and_others_stay_inline() {
    for target in ["/", "/api/v1/Users/42?x=%20;", "/.well-known/a", "/a.b/c~d/", "/x#y", "*"] {
        let paths = Paths::of(target.as_bytes(), false);
        assert_eq!(paths.main().as_ptr(), target.as_ptr(), "{target}");
    }
    for target in ["/api/%76%31/x;y", "/a%2Fb%5Cc/0123456789/0123456789/0123456789"] {
        let paths = Paths::of(target.as_bytes(), false);
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
    let mut random = Random::new(1);
    for _ in 0..30_000 {
        let target = random.text(&PIECES, 12);
        for ignore_case in [false, true] {
            let once = Paths::of(target.as_bytes(), ignore_case).main().to_vec();
            let again = Paths::of(&once, ignore_case);
            assert_eq!(shown(again.main()), shown(&once), "{target}");
            assert_eq!(again.main().as_ptr() == once.as_ptr(), !once.contains(&b'%'), "{target}");
            assert!(once == b"*" || once.starts_with(b"/"), "{target}");
        }
    }
}

#[test]
fn any_bytes_have_a_path() {
    let mut random = Random::new(2);
    for _ in 0..20_000 {
        let length = random.below(40);
        let mut target: Vec<u8> = (0..length).map(|_| random.next().to_le_bytes()[0]).collect();
        if random.below(2) == 0 {
            target.insert(0, b'/');
        }
        let paths = Paths::of(&target, random.below(2) == 0);
        assert!((1..=4).contains(&paths.readings().count()));
        let once = paths.main().to_vec();
        assert_eq!(shown(&normal(&normal(&once))), shown(&normal(&once)));
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
    assert_eq!(Paths::of(&encoded, false).readings().count(), 4);
}
