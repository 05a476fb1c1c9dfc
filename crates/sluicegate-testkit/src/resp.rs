//! RESP: the protocol of Redis.

#[cfg(feature = "servers")]
pub(crate) mod framing;
pub(crate) mod raw;
#[cfg(feature = "servers")]
pub(crate) mod value;
