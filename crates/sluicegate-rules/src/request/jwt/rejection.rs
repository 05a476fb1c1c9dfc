//! The reasons for rejecting a token.

use core::fmt;

/// The reason for rejecting a token. Contains nothing from the token, so it can be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum TokenRejection {
    /// The header is empty, or of another scheme than `Bearer`.
    NoToken,
    /// Not a readable signed token, or one that requires an unsupported extension.
    Malformed,
    /// Its algorithm is not among those allowed.
    Algorithm,
    /// No key has its key id and fits its algorithm.
    UnknownKey,
    /// The signature does not match the token under any of the keys.
    Signature,
    /// At or past its expiry, leeway included.
    Expired,
    /// Before it becomes valid, leeway included.
    NotYet,
    /// The issuer is missing or not the required one.
    Issuer,
    /// The audience is missing or not one of the required ones.
    Audience,
}

impl fmt::Display for TokenRejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoToken => "no bearer token was sent",
            Self::Malformed => {
                "the token cannot be read: it has to be three base64url parts of at most 16 KiB, \
                 with a JSON object of claims"
            }
            Self::Algorithm => "the token's algorithm is not one of those allowed",
            Self::UnknownKey => "there is no key for the token's key id and algorithm",
            Self::Signature => "the token's signature is wrong",
            Self::Expired => "the token has expired",
            Self::NotYet => "the token is not valid yet",
            Self::Issuer => "the token is not from the required issuer",
            Self::Audience => "the token is not for the required audience",
        })
    }
}

impl core::error::Error for TokenRejection {}
