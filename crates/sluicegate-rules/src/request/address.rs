//! The client's address, and the group of addresses that it is counted in.

pub(crate) mod client_ip;
pub(crate) mod client_subnet;
mod forwarded;
pub(crate) mod networks;
mod parse;
pub(crate) mod trusted;

pub(crate) use self::parse::read;
