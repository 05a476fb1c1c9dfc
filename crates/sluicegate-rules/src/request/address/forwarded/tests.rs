//! Tests of reading the elements of `Forwarded` from the right.

use super::*;
use sluicegate_testkit::Rng;

fn from_right(line: &[u8]) -> Vec<&[u8]> {
    ElementsFromRight::of(line).collect()
}

#[test]
fn splits_at_commas_outside_of_quotes() {
    let rows: [(&str, &[&str]); 8] = [
        ("", &[""]),
        ("a=1", &["a=1"]),
        ("a=1,b=2", &["b=2", "a=1"]),
        ("a=\"1,2\",b=2", &["b=2", "a=\"1,2\""]),
        (r#"a="\",\\",b=2"#, &["b=2", r#"a="\",\\""#]),
        (r#"a="\\",b="\\\"," "#, &[r#"b="\\\"," "#, r#"a="\\""#]),
        (",", &["", ""]),
        // An unclosed quote affects only the element that opened it.
        ("a=\",b=2,c=3", &["c=3", "b=2", "a=\""]),
    ];
    for (line, elements) in rows {
        let found = from_right(line.as_bytes());
        assert_eq!(
            found,
            elements.iter().map(|text| text.as_bytes()).collect::<Vec<_>>(),
            "{line}"
        );
    }
}

/// The elements of a well-formed line.
fn well_formed(random: &mut Rng) -> Vec<String> {
    let inside = [",", ";", "=", " ", "for", "\\\"", "\\\\", "\\,", "[", ":", "x"];
    let mut value = || {
        if random.index(2) == 0 {
            return (*random.pick(&["1", "_x", "192.0.2.1"])).to_owned();
        }
        let text: String = (0..random.index(6)).map(|_| *random.pick(&inside)).collect();
        format!("\"{text}\"")
    };
    let mut element = || format!("a={};for=192.0.2.{};b={}", value(), value().len(), value());
    (0..4).map(|_| element()).collect()
}

#[test]
fn reads_the_same_elements_from_either_end() {
    let mut random = Rng::new(4);
    for _ in 0..20_000 {
        let elements = well_formed(&mut random);
        let line = elements.join(",");
        let found = from_right(line.as_bytes());
        let expected: Vec<_> = elements.iter().rev().map(String::as_bytes).collect();
        assert_eq!(found, expected, "{line}");
        assert!(found.iter().all(|element| read(element).is_some()), "{line}");
    }
}

#[test]
fn any_bytes_are_read_or_refused() {
    let mut random = Rng::new(5);
    for _ in 0..50_000 {
        let line: Vec<u8> = (0..random.index(40)).map(|_| *random.pick(&SIGNS)).collect();
        let found = from_right(&line);
        let mut rejoined = found.clone();
        rejoined.reverse();
        assert_eq!(rejoined.join(&b","[..]), line);
        for element in found {
            read(element);
        }
    }
}

const SIGNS: [u8; 16] = *b"for=\"\\,;[]:.1% \xff";
