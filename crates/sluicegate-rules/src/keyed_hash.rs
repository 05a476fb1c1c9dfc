//! Keyed digests that replace secrets, such as API keys, in keys, logs and responses.

pub(crate) mod process_key;

use core::fmt;

/// The context of a derived key. Never change one: all existing digests would become invalid.
const DIGEST_CONTEXT: &str = "sluicegate-rules 2026 digests of key values";
const MAC_CONTEXT: &str = "sluicegate-rules 2026 message authentication";
const FIXED_DIGEST_CONTEXT: &str = "sluicegate-rules 2026 digests without a secret";
const FIXED_MAC_CONTEXT: &str = "sluicegate-rules 2026 message authentication without a secret";
const STORE_CONTEXT: &str = "sluicegate-rules 2026 names in shared stores";
const FIXED_STORE_CONTEXT: &str = "sluicegate-rules 2026 names in shared stores without a secret";

/// Lengths below this are written as one byte, longer ones as this byte and eight more.
const LONG: u8 = u8::MAX;

/// Computes digests and tags under the operator's secret.
///
/// With a secret, only its holders can find out which value a digest stands for. Without one the
/// key is fixed and public: clear text still appears nowhere, but anyone can verify a guess of a
/// value, and [`KeyedHasher::mac`] proves nothing.
#[derive(Clone)]
pub(crate) struct KeyedHasher {
    /// The key of digests.
    digests: [u8; 32],
    /// The key of authentication tags.
    tags: [u8; 32],
    /// The key of caller names in shared stores.
    names: [u8; 32],
}

impl KeyedHasher {
    /// Creates a hasher with a secret of any length, or with the fixed key.
    ///
    /// An empty secret is accepted; the code that loads the secret decides whether to allow it.
    pub(crate) fn new(secret: Option<&[u8]>) -> Self {
        // Contexts of its own keep "no secret" apart from every secret there can be.
        let (digest_context, mac_context, store_context) = match secret {
            Some(_) => (DIGEST_CONTEXT, MAC_CONTEXT, STORE_CONTEXT),
            None => (FIXED_DIGEST_CONTEXT, FIXED_MAC_CONTEXT, FIXED_STORE_CONTEXT),
        };
        let material = secret.unwrap_or_default();
        Self {
            digests: blake3::derive_key(digest_context, material),
            tags: blake3::derive_key(mac_context, material),
            names: blake3::derive_key(store_context, material),
        }
    }

    /// The key for hashing caller names in a shared store.
    pub(crate) const fn store_key(&self) -> [u8; 32] {
        self.names
    }

    /// The digest of a list of parts in a domain.
    ///
    /// Different lists have different digests: `["ab"]`, `["a", "b"]` and `["ab", ""]` have three,
    /// and three others in another domain.
    pub(crate) fn digest<'a>(
        &self,
        domain: u8,
        parts: impl IntoIterator<Item = &'a [u8]>,
    ) -> [u8; 16] {
        let mut hasher = blake3::Hasher::new_keyed(&self.digests);
        hasher.update(&[domain]);
        for part in parts {
            match u8::try_from(part.len()) {
                // One byte, so that a typical value still fits the hash's first block of 64 bytes.
                Ok(length) if length < LONG => hasher.update(&[length]),
                _ => hasher.update(&[LONG]).update(&(part.len() as u64).to_le_bytes()),
            };
            hasher.update(part);
        }
        first_half(&hasher.finalize())
    }

    /// The authentication tag of these bytes, which only a holder of the secret can compute.
    pub(crate) fn mac(&self, bytes: &[u8]) -> [u8; 16] {
        first_half(&blake3::keyed_hash(&self.tags, bytes))
    }

    /// Verifies a tag from [`KeyedHasher::mac`] in constant time.
    pub(crate) fn verify(&self, bytes: &[u8], tag: &[u8]) -> bool {
        let Ok(tag) = <[u8; 16]>::try_from(tag) else { return false };
        // `blake3::Hash` compares in constant time; plain arrays do not.
        whole(self.mac(bytes)) == whole(tag)
    }
}

/// Shows no key.
impl fmt::Debug for KeyedHasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyedHasher").finish_non_exhaustive()
    }
}

fn first_half(hash: &blake3::Hash) -> [u8; 16] {
    let mut half = [0; 16];
    for (to, from) in half.iter_mut().zip(hash.as_bytes()) {
        *to = *from;
    }
    half
}

fn whole(half: [u8; 16]) -> blake3::Hash {
    let mut bytes = [0; 32];
    for (to, from) in bytes.iter_mut().zip(half) {
        *to = from;
    }
    blake3::Hash::from_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn hasher() -> KeyedHasher {
        KeyedHasher::new(Some(b"a secret of the operator"))
    }

    fn digest(domain: u8, parts: &[&[u8]]) -> [u8; 16] {
        hasher().digest(domain, parts.iter().copied())
    }

    #[test]
    fn the_same_parts_give_the_same_digest() {
        assert_eq!(digest(1, &[b"ab", b"c"]), digest(1, &[b"ab", b"c"]));
    }

    #[test]
    fn lists_that_differ_in_any_way_have_different_digests() {
        let long = [7_u8; 255];
        let longer = [7_u8; 256];
        // The framing of a long part, as a part of its own.
        let mut framed = vec![LONG];
        framed.extend_from_slice(&255_u64.to_le_bytes());
        let lists: [&[&[u8]]; 16] = [
            &[],
            &[b""],
            &[b"", b""],
            &[b"ab"],
            &[b"a", b"b"],
            &[b"ab", b""],
            &[b"", b"ab"],
            &[b"\x02ab"],
            &[b"a\x01b"],
            &[b"a", b"b", b""],
            &[&long],
            &[&longer],
            &[&long, b""],
            &[long.get(..254).expect("shorter")],
            &[&framed],
            &[&framed, &long],
        ];
        let mut seen = BTreeSet::new();
        for domain in [0, 1, 255] {
            for list in lists {
                assert!(seen.insert(digest(domain, list)), "twice: {domain} {list:?}");
            }
        }
    }

    #[test]
    fn distinguishes_every_pair_of_lengths_around_the_long_form() {
        let bytes = [0_u8; 520];
        let mut seen = BTreeSet::new();
        for cut in 0..=bytes.len() {
            let (left, right) = bytes.split_at(cut);
            assert!(seen.insert(digest(0, &[left, right])), "twice: {cut}");
        }
    }

    #[test]
    fn no_list_of_parts_can_imitate_a_long_part() {
        let zeros = [0_u8; 256];
        let long = digest(0, &[&zeros]);
        // Empty parts are zeros in the frame, as the bytes of the length and of the part are:
        // without a mark of its own, or with the mark a length too, these would be the same.
        let mut without_mark: Vec<&[u8]> = vec![b"", b"\0"];
        without_mark.resize(263, b"");
        assert_ne!(long, digest(0, &without_mark));
        let mut imitation = [0_u8; 255];
        imitation[..8].copy_from_slice(&256_u64.to_le_bytes());
        let mut mark_as_length: Vec<&[u8]> = vec![&imitation];
        mark_as_length.resize(10, b"");
        assert_ne!(long, digest(0, &mark_as_length));
    }

    #[test]
    fn every_secret_has_its_own_digests_and_tags() {
        let mut seen = BTreeSet::new();
        let secrets: [Option<&[u8]>; 5] =
            [None, Some(b""), Some(b"a"), Some(b"b"), Some(&[0; 100])];
        for secret in secrets {
            let hasher = KeyedHasher::new(secret);
            assert!(seen.insert(hasher.digest(0, [b"x".as_slice()])));
            assert!(seen.insert(hasher.mac(b"x")));
            assert!(seen.insert(hasher.mac(b"\0\x01x")), "a tag is never a digest");
        }
    }

    #[test]
    fn digests_are_stable() {
        // Computed once by this code; a change here orphans all state stored under digests.
        let hex = |bytes: [u8; 16]| bytes.map(|byte| format!("{byte:02x}")).concat();
        assert_eq!(hex(digest(1, &[b"sk_live_1", b"GET"])), "d3b0b0369da070edbe7208c00bf302de");
        assert_eq!(hex(hasher().mac(b"sk_live_1")), "12d18b2560eaa577d269647f8fb550e1");
        assert_eq!(
            hex(KeyedHasher::new(None).digest(1, [b"sk_live_1".as_slice()])),
            "bf49d141948c4f8b94e330162b8b16fa"
        );
    }

    #[test]
    fn verifies_only_the_whole_tag_of_the_same_bytes() {
        let hasher = hasher();
        let tag = hasher.mac(b"bytes");
        assert!(hasher.verify(b"bytes", &tag));
        assert!(!hasher.verify(b"byteS", &tag));
        assert!(!KeyedHasher::new(None).verify(b"bytes", &tag));
        for bit in 0..128 {
            let mut wrong = tag;
            wrong[bit / 8] ^= 1 << (bit % 8);
            assert!(!hasher.verify(b"bytes", &wrong), "bit {bit}");
        }
        for length in 0..16 {
            assert!(!hasher.verify(b"bytes", &tag[..length]), "length {length}");
        }
        assert!(!hasher.verify(b"bytes", &[tag.as_slice(), &[0]].concat()));
    }

    #[test]
    fn debug_text_shows_no_key() {
        assert_eq!(format!("{:?}", hasher()), "KeyedHasher { .. }");
        assert_eq!(format!("{:#?}", hasher()), "KeyedHasher { .. }");
    }
}
