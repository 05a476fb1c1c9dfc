//! Different parts never encode to the same key.

use proptest::prelude::*;
use sluicegate_core::Key;

/// Parts with many of the characters that careless encodings join or split with.
fn parts() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let byte = prop_oneof![
        4 => prop::sample::select(b"_:|{}\0\r\n%a".to_vec()),
        1 => any::<u8>(),
    ];
    let part = prop_oneof![
        6 => prop::collection::vec(byte.clone(), 0..6),
        1 => prop::collection::vec(byte, 120..300),
    ];
    prop::collection::vec(part, 0..5)
}

/// Reads a key back into its parts: an encoding that can be read back is injective.
fn read_back(mut key: &[u8]) -> Vec<Vec<u8>> {
    let mut parts = Vec::new();
    while !key.is_empty() {
        let (mut length, mut shift) = (0_usize, 0);
        loop {
            let (byte, rest) = key.split_first().expect("a length");
            key = rest;
            length |= usize::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                break;
            }
        }
        let (part, rest) = key.split_at(length);
        parts.push(part.to_vec());
        key = rest;
    }
    parts
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_096, ..ProptestConfig::default() })]

    #[test]
    fn a_key_can_be_read_back(parts in parts()) {
        prop_assert_eq!(read_back(Key::of(&parts).as_ref()), parts);
    }

    #[test]
    fn different_parts_make_different_keys(one in parts(), other in parts()) {
        prop_assert_eq!(Key::of(&one) == Key::of(&other), one == other);
    }
}

#[test]
fn look_alikes_differ() {
    assert_ne!(Key::of(["a_b", "c"]), Key::of(["a", "b_c"]));
    assert_ne!(Key::of(["ab", ""]), Key::of(["a", "b"]));
    assert_ne!(Key::of(["a"]), Key::of(["a", ""]));
}
