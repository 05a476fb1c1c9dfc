//! What the fuzz targets share: bytes read as numbers, limits made of them, the counters that
//! `decide` works on, and a server to send bodies to.

mod asked;
mod bytes;
mod counters;
mod limits;
mod promises;
mod server;

pub use bytes::Bytes;
pub use counters::Counters;
pub use server::{Reply, Server};
