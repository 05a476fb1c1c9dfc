//! Names of keys on the server, which do not reveal the callers.
//!
//! The first bits of a key's digest select one of many pages, for all limits that count the key.
//! Within a page each of its counters has a fingerprint: the bits after those, mixed with the
//! digest of the limit's name. `P` is the prefix, `1` the version of this format:
//!
//! | content | name |
//! |---|---|
//! | a page: buckets of all limits | `P1:{page}` |
//! | the state of one counter that is no bucket | `P1:{page}.fingerprint` |
//! | an idempotency record of a settlement or a change of tier | `P1:{page}!id` |
//!
//! All names of one key have the same hash tag in braces, and so are on one node of a cluster.

use core::fmt;

use sluicegate_core::{ChargeId, Check, Limit};

use crate::cluster::slot;

/// Builds the names of keys.
#[derive(Clone)]
pub(crate) struct KeySpace {
    /// The start of every name, without braces.
    prefix: String,
    /// The key of the digests: without it, a digest cannot be attributed to a caller.
    digest_key: [u8; 32],
    /// The number of bits of a digest that select the page.
    page_bits: u32,
}

/// The subject of a check's key, as the server sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CounterName {
    page: u32,
    fingerprint_bits: u64,
}

/// A subject's counter of one limit: the bits of the page, and those of the fingerprint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Counter(u128);

/// Eight characters without a special meaning in the name of a key.
pub(crate) type Fingerprint = [u8; 8];

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const FINGERPRINT_BITS: u32 = 48;
const HEXADECIMAL: &[u8; 16] = b"0123456789abcdef";

impl KeySpace {
    /// The version of the names and of the stored values.
    pub(crate) const FORMAT: char = '1';
    /// Names that begin with `prefix`, of digests keyed with `digest_key`, in 2^`page_bits` pages.
    pub(crate) fn new(prefix: &str, digest_key: [u8; 32], page_bits: u32) -> Self {
        let page_bits = page_bits.min(Self::MOST_PAGE_BITS);
        Self { prefix: prefix.to_owned(), digest_key, page_bits }
    }

    /// The most bits for a page: with more, each page would have a single entry.
    pub(crate) const MOST_PAGE_BITS: u32 = 28;

    /// The subject of a check's key.
    pub(crate) fn subject(&self, key: &[u8]) -> CounterName {
        let digest = blake3::keyed_hash(&self.digest_key, key);
        let bits = digest.as_bytes().first_chunk().map_or(0, |half| u128::from_be_bytes(*half));
        let page = bits.checked_shr(u128::BITS - self.page_bits).unwrap_or(0);
        let fingerprint_bits = bits << self.page_bits >> (u128::BITS - FINGERPRINT_BITS);
        let fingerprint_bits = u64::try_from(fingerprint_bits).unwrap_or(0);
        CounterName { page: u32::try_from(page).unwrap_or(0), fingerprint_bits }
    }

    /// The number of hexadecimal digits of a page; at least one, because an empty hash tag is
    /// ignored.
    fn digits(&self) -> usize {
        usize::try_from(self.page_bits.div_ceil(4)).unwrap_or(0).max(1)
    }

    /// The counter of a check.
    pub(crate) fn counter(&self, check: &Check<'_>) -> Counter {
        self.subject(check.key()).counter(check.limit())
    }

    /// The counter that a message on the [channel](Self::channel) names, by its page and its
    /// fingerprint.
    pub(crate) fn counter_freed(&self, message: &[u8]) -> Option<Counter> {
        let (page, fingerprint) = message.split_at_checked(self.digits())?;
        let fingerprint: &Fingerprint = fingerprint.try_into().ok()?;
        let page = u32::from_str_radix(core::str::from_utf8(page).ok()?, 16).ok()?;
        let fingerprint_bits = fingerprint.iter().try_fold(0, |fingerprint_bits, letter| {
            let value = ALPHABET.iter().position(|known| known == letter)?;
            Some(fingerprint_bits << 6 | u64::try_from(value).ok()?)
        })?;
        Some(Counter::of(page, fingerprint_bits))
    }

    /// The page that holds a counter.
    pub(crate) fn page(&self, counter: Counter) -> Vec<u8> {
        self.begin(counter.page(), 0)
    }

    /// The key of a state that is no bucket.
    pub(crate) fn state_key(&self, counter: Counter) -> Vec<u8> {
        let fingerprint = counter.fingerprint();
        let mut name = self.begin(counter.page(), fingerprint.len() + 1);
        name.push(b'.');
        name.extend_from_slice(&fingerprint);
        name
    }

    /// The key of the idempotency record of an operation on a subject.
    pub(crate) fn remembered(&self, id: ChargeId, subject: CounterName) -> Vec<u8> {
        let mut name = self.begin(subject.page, 33);
        name.push(b'!');
        for byte in id.to_bits().to_be_bytes() {
            name.extend([byte >> 4, byte & 15].iter().map(|half| hexadecimal(*half)));
        }
        name
    }

    /// The key of the list of nodes: one per server, or in a page of those that a server of a
    /// cluster has.
    pub(crate) fn nodes(&self, page: Option<u32>) -> Vec<u8> {
        match page {
            Some(page) => {
                let mut name = self.begin(page, 5);
                name.extend_from_slice(b"nodes");
                name
            }
            None => format!("{}{}:nodes", self.prefix, Self::FORMAT).into_bytes(),
        }
    }

    /// The number of pages.
    pub(crate) fn pages(&self) -> u32 {
        1 << self.page_bits
    }

    /// The cluster slot of a page and of all keys that belong to it.
    pub(crate) fn slot(&self, page: u32) -> u16 {
        slot::of(self.tag(page))
    }

    /// The hash tag, without braces.
    fn tag(&self, page: u32) -> impl Iterator<Item = u8> {
        (0..self.digits())
            .rev()
            .map(move |digit| hexadecimal(u8::try_from(page >> (4 * digit) & 15).unwrap_or(0)))
    }

    /// The channel on which scripts publish invalidations.
    pub(crate) fn channel(&self) -> String {
        format!("{}{}:freed", self.prefix, Self::FORMAT)
    }

    /// The name up to the closing brace, with capacity for `more` bytes.
    fn begin(&self, page: u32, more: usize) -> Vec<u8> {
        let digits = self.digits();
        let mut name = Vec::with_capacity(self.prefix.len() + digits + 4 + more);
        name.extend_from_slice(self.prefix.as_bytes());
        name.extend_from_slice(&[Self::FORMAT as u8, b':', b'{']);
        name.extend(self.tag(page));
        name.push(b'}');
        name
    }
}

impl CounterName {
    /// Returns the subject's counter of a limit.
    pub(crate) fn counter(self, limit: &Limit) -> Counter {
        let name = limit.name_digest() >> (u64::BITS - FINGERPRINT_BITS);
        Counter::of(self.page, self.fingerprint_bits ^ name)
    }
}

impl Counter {
    /// A counter that no check uses.
    pub(crate) const NONE: Self = Self(u128::MAX);

    fn of(page: u32, fingerprint_bits: u64) -> Self {
        Self(u128::from(page) << FINGERPRINT_BITS | u128::from(fingerprint_bits))
    }

    #[cfg(test)]
    pub(crate) const fn from_bits(bits: u128) -> Self {
        Self(bits)
    }

    pub(crate) fn page(self) -> u32 {
        u32::try_from(self.0 >> FINGERPRINT_BITS).unwrap_or(u32::MAX)
    }

    /// The bits of the page and of the fingerprint, mixed.
    pub(crate) fn hash(self) -> u64 {
        let low = u64::try_from(self.0 & u128::from(u64::MAX)).unwrap_or(0);
        low ^ u64::from(self.page()).rotate_left(32)
    }

    /// Identifies the counter within its page.
    pub(crate) fn fingerprint(self) -> Fingerprint {
        let mut shift = FINGERPRINT_BITS;
        [0; 8].map(|_: u8| {
            shift -= 6;
            let letter = usize::try_from(self.0 >> shift & 63).unwrap_or(0);
            ALPHABET[letter]
        })
    }
}

fn hexadecimal(half: u8) -> u8 {
    HEXADECIMAL[usize::from(half)]
}

/// Omits the digest key, because it allows attributing digests to callers.
impl fmt::Debug for KeySpace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeySpace")
            .field("prefix", &self.prefix)
            .field("page_bits", &self.page_bits)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key_space(page_bits: u32) -> KeySpace {
        KeySpace::new("sluicegate:", [7; 32], page_bits)
    }

    fn text(name: Vec<u8>) -> String {
        String::from_utf8(name).unwrap()
    }

    /// Computed independently of the code: with other names all existing counters would be
    /// orphaned.
    #[test]
    fn names_are_stable() {
        let limit = Limit::token_bucket("api", "5/min".parse().unwrap()).unwrap();
        let key_space = key_space(16);
        let subject = key_space.subject(b"user:42");
        let counter = subject.counter(&limit);
        assert_eq!(text(key_space.page(counter)), "sluicegate:1:{e6e4}");
        assert_eq!(text(key_space.state_key(counter)), "sluicegate:1:{e6e4}.zH6RmiWE");
        let id = ChargeId::from_bits(0x0102_0304_0506_0708_090A_0B0C_0D0E_0F10);
        let remembered = "sluicegate:1:{e6e4}!0102030405060708090a0b0c0d0e0f10";
        assert_eq!(text(key_space.remembered(id, subject)), remembered);
        assert_eq!(key_space.channel(), "sluicegate:1:freed");
    }

    #[test]
    fn page_names_have_the_digits_of_their_bits() {
        let limit = Limit::token_bucket("a", "5/min".parse().unwrap()).unwrap();
        let check = Check::new(&limit, "key");
        for (page_bits, digits) in [(0, 1), (4, 1), (5, 2), (8, 2), (16, 4), (28, 7), (99, 7)] {
            let key_space = key_space(page_bits);
            let name = text(key_space.page(key_space.counter(&check)));
            assert_eq!(name.len(), "sluicegate:1:{}".len() + digits, "{page_bits}: {name}");
        }
    }

    #[test]
    fn counters_differ_by_limit_and_by_subject() {
        let quota = "5/min".parse().unwrap();
        let limits = ["a", "b"].map(|name| Limit::token_bucket(name, quota).unwrap());
        let key_space = key_space(16);
        let mut counters = Vec::new();
        for limit in &limits {
            for key in ["x", "y"] {
                counters.push(key_space.subject(key.as_bytes()).counter(limit));
            }
        }
        for (index, counter) in counters.iter().enumerate() {
            assert!(!counters[..index].contains(counter));
        }
        assert_eq!(key_space.subject(b"x").counter(&limits[0]), counters[0]);
    }

    #[test]
    fn invalidations_name_their_counter() {
        let limit = Limit::token_bucket("any", "5/min".parse().unwrap()).unwrap();
        for page_bits in [0, 5, 16, 28] {
            let key_space = key_space(page_bits);
            let counter = key_space.counter(&Check::new(&limit, "user:42"));
            let page = text(key_space.page(counter));
            let (_, tag) = page.split_once("1:{").unwrap();
            let (tag, _) = tag.split_once('}').unwrap();
            let message = format!("{tag}{}", text(counter.fingerprint().to_vec()));
            assert_eq!(key_space.counter_freed(message.as_bytes()), Some(counter), "{message}");
            for wrong in ["", " ", "name", "name 00", &message[1..], "\u{fc} 0*"] {
                assert_ne!(key_space.counter_freed(wrong.as_bytes()), Some(counter), "{wrong}");
            }
        }
    }

    #[test]
    fn callers_are_spread_over_most_slots() {
        let key_space = key_space(16);
        let mut used = std::collections::BTreeSet::new();
        for number in 0..100_000 {
            let subject = key_space.subject(format!("{{x}}{number}").as_bytes());
            used.insert(key_space.slot(subject.page));
        }
        assert!(used.len() > 12_000, "{}", used.len());
    }

    #[test]
    fn all_keys_of_a_page_share_a_slot() {
        let key_space = key_space(16);
        let tagged = |name: Vec<u8>| {
            let name = text(name);
            let (_, tag) = name.split_once('{').unwrap();
            slot::of(tag.split_once('}').unwrap().0.bytes())
        };
        for page in [0, 7, 0xe6e4, 0xffff] {
            let counter = Counter::of(page, 99);
            let expected = key_space.slot(page);
            assert_eq!(tagged(key_space.page(counter)), expected);
            assert_eq!(tagged(key_space.state_key(counter)), expected);
            assert_eq!(tagged(key_space.nodes(Some(page))), expected);
        }
    }

    #[test]
    fn debug_output_omits_the_digest_key() {
        assert_eq!(
            format!("{:?}", key_space(16)),
            "KeySpace { prefix: \"sluicegate:\", page_bits: 16, .. }"
        );
    }
}
