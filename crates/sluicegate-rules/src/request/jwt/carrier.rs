//! Where requests carry a token, and how it is verified.

use crate::request::jwt::Verifier;

/// A token that requests carry.
#[derive(Debug)]
pub(crate) struct TokenSource {
    pub(crate) carrier: Carrier,
    pub(crate) verifier: Verifier,
}

/// The header or cookie of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Carrier {
    Header(Box<str>),
    Cookie(Box<str>),
}
