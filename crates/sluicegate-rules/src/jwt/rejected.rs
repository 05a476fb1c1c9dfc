//! Why a token is not believed.

use core::fmt;

/// Why a token gives no claims. Says nothing of what the token holds, so it can be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Rejected {
    /// The header is empty, or of another scheme than `Bearer`.
    NoToken,
    /// Not a signed token that can be read, or one that demands an extension not known here.
    Malformed,
    /// Its algorithm is not among those allowed.
    Algorithm,
    /// No key here has its key id and fits its algorithm.
    UnknownKey,
    /// The signature was made by none of the keys, or for another token.
    Signature,
    /// At or past its expiry, leeway included.
    Expired,
    /// Before the time it begins to count, leeway included.
    NotYet,
    /// Issued by someone else, or not saying by whom.
    Issuer,
    /// Meant for someone else, or not saying for whom.
    Audience,
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoToken => "no bearer token was sent",
            Self::Malformed => {
                "the token cannot be read: it has to be three base64url parts of at most 16 KiB, \
                 with a JSON object of claims"
            }
            Self::Algorithm => "the token's algorithm is not one of those allowed",
            Self::UnknownKey => "no key is known for the token's key id and algorithm",
            Self::Signature => "the token's signature is wrong",
            Self::Expired => "the token has expired",
            Self::NotYet => "the token is not valid yet",
            Self::Issuer => "the token was not issued by the issuer that is asked for",
            Self::Audience => "the token is not meant for the audience that is asked for",
        })
    }
}

impl core::error::Error for Rejected {}
