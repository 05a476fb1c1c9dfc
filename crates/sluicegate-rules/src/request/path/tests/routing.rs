//! Tests that the router finds exactly the matching patterns.

use super::generators::{path_text, pattern_text};
use super::{Pattern, pattern};
use crate::request::path::Router;
use sluicegate_testkit::Rng;

fn found(router: &Router<usize>, path: &[u8]) -> Vec<usize> {
    let mut found = Vec::new();
    router.matching(path, |value| found.push(value));
    found.sort_unstable();
    found
}

fn scan(patterns: &[Pattern], path: &[u8]) -> Vec<usize> {
    (0..patterns.len()).filter(|&at| patterns[at].matches(path)).collect()
}

#[test]
fn the_router_finds_the_same_as_a_scan_of_all_patterns() {
    let mut random = Rng::new(6);
    let mut matches = 0;
    for _ in 0..400 {
        let count = random.index(30);
        let patterns: Vec<Pattern> =
            (0..count).map(|_| pattern(&pattern_text(&mut random))).collect();
        let router = Router::new(patterns.iter().cloned().zip(0..));
        for path in ["*", "", "//", "/a//b/"] {
            assert_eq!(found(&router, path.as_bytes()), scan(&patterns, path.as_bytes()));
        }
        for _ in 0..50 {
            let path = path_text(&mut random);
            let expected = scan(&patterns, path.as_bytes());
            matches += expected.len();
            assert_eq!(found(&router, path.as_bytes()), expected, "{path}");
        }
    }
    assert!(matches > 2_000, "{matches}");
}

#[test]
fn equal_patterns_are_found_once_each() {
    let texts = ["/a/{x}", "/a/{y}", "/a/*", "/a/**", "/a/**", "/a/b", "/a/b/", "/*/b"];
    let router = Router::new(texts.map(pattern).into_iter().zip(0..));
    assert_eq!(found(&router, b"/a/b"), [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(found(&router, b"/a"), [3, 4]);
}

#[test]
fn hostile_paths_do_not_take_exponential_time() {
    let texts = ["/**/a/**/a/**/a/**/b", "/**/a*a*a*a*b/**", "/a/**/b/**/c", "/*/*/*/**", "/**"];
    let router = Router::new(texts.map(pattern).into_iter().zip(0..));
    let deep = b"/a".repeat(2000);
    assert_eq!(found(&router, &deep), [3, 4]);
    let mut long = b"/".to_vec();
    long.extend(b"a".repeat(4095));
    assert_eq!(found(&router, &long), [4]);
    assert_eq!(found(&router, &b"/".repeat(4096)), [3, 4]);
}
