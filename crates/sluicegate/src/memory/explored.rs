//! The store under schedules that are chosen, not met by chance.
//!
//! Under `--cfg shuttle` every step at an atomic or a lock is a place where another thread may
//! go on, and a run is repeated under thousands of choices. Pages have a few lines only, so that
//! few keys fill one. A run in which somebody waits for ever, or that no order of one after the
//! other explains, fails and names its schedule.

// Clippy knows tests by `cfg(test)` alone.
#![allow(clippy::unwrap_used)]

mod bursts;
mod dividing;
mod forgetting;
mod handing_over;
mod keys;
mod limits;
mod model;
mod moving;
mod newcomers;
mod records;
mod saving;
mod scene;
mod schedules;
mod sets;
mod soundness;
mod turn;
