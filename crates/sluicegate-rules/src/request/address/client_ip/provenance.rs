//! The explanation of how a client's address was found.

use std::fmt;

/// How a client's address was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Provenance {
    /// It is the peer's: no proxy is trusted.
    Peer,
    /// It is the peer's: there is no header.
    NoHeader,
    /// It is the peer's: the peer is not a trusted proxy.
    Untrusted,
    /// It was reported by this number of trusted proxies in a row.
    ForwardedBy { hops: u8 },
    /// It is the leftmost of this number of entries, and all of them are trusted proxies.
    AllTrusted { hops: u8 },
    /// It is the peer's: there are fewer entries than trusted proxies.
    TooFew { entries: u8 },
    /// It is the last one that was vouched for: there are more entries than are read.
    TooMany,
    /// It is the last one that was vouched for: this entry from the right is not an address.
    /// Where hops are counted or a header holds one address, that is the peer's.
    Unreadable { entry: u8 },
    /// It is the peer's: the header is present more than once.
    Repeated,
}

impl fmt::Display for Provenance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Peer => f.write_str("the peer's own: no proxy is trusted"),
            Self::NoHeader => f.write_str("the peer's own: the header is missing"),
            Self::Untrusted => f.write_str("the peer's own: it is not a trusted proxy"),
            Self::ForwardedBy { hops: 1 } => f.write_str("reported by 1 trusted proxy"),
            Self::ForwardedBy { hops } => write!(f, "reported by {hops} trusted proxies in a row"),
            Self::AllTrusted { hops: 1 } => {
                f.write_str("the only entry, although it is a trusted proxy")
            }
            Self::AllTrusted { hops } => {
                write!(f, "the leftmost of {hops} entries, which are all trusted proxies")
            }
            Self::TooFew { entries: 1 } => f.write_str("the peer's own: there is only 1 entry"),
            Self::TooFew { entries } => {
                write!(f, "the peer's own: there are only {entries} entries")
            }
            Self::TooMany => write!(
                f,
                "the last one vouched for: there are more than {} entries",
                super::LONGEST_WALK
            ),
            Self::Unreadable { entry } => write!(
                f,
                "the last one vouched for: entry {entry} from the right is not an address"
            ),
            Self::Repeated => f.write_str("the peer's own: the header is present more than once"),
        }
    }
}
