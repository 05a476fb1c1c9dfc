//! A token that requests carry, and how it is verified.

use crate::jwt::Verifier;

/// A token that requests carry.
#[derive(Debug)]
pub(crate) struct Token {
    pub(crate) carrier: Carrier,
    pub(crate) verifier: Verifier,
}

/// Where a token is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Carrier {
    Header(Box<str>),
    Cookie(Box<str>),
}
