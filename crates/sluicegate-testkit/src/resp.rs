//! RESP: the protocol of Redis.

pub(crate) mod framing;
pub(crate) mod value;
