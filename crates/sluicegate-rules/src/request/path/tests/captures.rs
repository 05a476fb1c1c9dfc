//! Tests of the segments that names capture.

use super::{pattern, shown};

#[test]
fn a_name_captures_its_segment() {
    let table = [
        ("/users/{id}", "/users/42", "id", Some("42")),
        ("/users/{id}", "/users/42", "name", None),
        ("/users/{id}", "/user/42", "id", None),
        ("/users/{id}", "/users", "id", None),
        ("/users/{id}/x", "/users/42/y", "id", None),
        ("/{a}/{b}", "/1/2", "b", Some("2")),
        ("/{a}/**", "/1/2/3", "a", Some("1")),
        ("/**/{last}", "/1/2/3", "last", Some("3")),
        ("/{a}/**/{b}", "/1/2/3", "b", Some("3")),
        // Between two gaps, the leftmost match.
        ("/**/x/{a}/y/**", "/x/1/x/2/y/x/3/y", "a", Some("2")),
        ("/**/x/{a}/**/z", "/x/1/x/2/z", "a", Some("1")),
        ("/{a}", "*", "a", None),
    ];
    for (text, path, name, expected) in table {
        let captured = pattern(text).capture(path.as_bytes(), name).map(shown);
        assert_eq!(captured.as_deref(), expected, "{text} {path} {name}");
    }
}

#[test]
fn names_come_in_their_order() {
    let pattern = pattern("/{tenant}/*/{user-id}/**/{_x}");
    assert_eq!(pattern.names().collect::<Vec<_>>(), ["tenant", "user-id", "_x"]);
}
