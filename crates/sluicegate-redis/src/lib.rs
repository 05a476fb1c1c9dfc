//! Redis or Valkey as the shared store of Sluicegate: a hundred nodes, one answer.
//!
//! [`Redis`] is a [`Store`](sluicegate::Store): everything that decides on the memory store decides
//! on it in the same way. A request's whole set is one script on the server, one round trip; many
//! requests at a time go together. When the server is slow or gone, nobody waits longer than the
//! deadline, and each check goes by what it says of an [outage](sluicegate_core::Outage).
//!
//! | file | what it does |
//! |---|---|
//! | `store` | the way of a set: refuse it, ask the server, or do without |
//! | `twin` | what is put to the server's scripts, and what comes back |
//! | `servers` | which servers there are: one, one that `sentinel`s name, or a `cluster` |
//! | `link` | one of them, as the store uses it |
//! | `courier` | carries sets there, together and in time |
//! | `keeper` | reaches it, and notices when it is gone |
//! | `seen` | what was last seen of counters: the deny cache |
//! | `owed` | what this node admitted by itself, to be told |

#![forbid(unsafe_code)]

mod address;
mod clock;
mod cluster;
mod common;
mod condition;
mod connection;
mod counts;
mod courier;
mod event;
mod failure;
mod heartbeat;
mod keeper;
mod link;
mod options;
mod owed;
mod passed_over;
mod seen;
mod sentinel;
mod servers;
mod store;
mod twin;
mod whereabouts;

pub use clock::StoreClock;
pub use counts::Counts;
pub use event::{Event, Health, Part, ServerInfo};
pub use options::{Options, OptionsError};
pub use store::Redis;
