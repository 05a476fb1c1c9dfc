//! Who is at the other end: the client's address, and the group it is counted in.

pub(crate) mod client;
mod forwarded;
pub(crate) mod group;
pub(crate) mod networks;
mod node;
pub mod proxy_protocol;
#[cfg(test)]
mod random;
pub(crate) mod trusted;

pub(crate) use self::node::read;
