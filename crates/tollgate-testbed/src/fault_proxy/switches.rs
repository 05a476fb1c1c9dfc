//! What a proxy is told to do.

use std::time::Duration;

use super::chance::Chance;

/// What happens to connections and to what they carry.
#[derive(Clone, Copy, Default, PartialEq)]
pub(super) enum Mode {
    #[default]
    Forward,
    Silent,
    Refuse,
    DropReplies(Chance),
    SwallowReplies(Chance),
}

/// All of it.
#[derive(Clone, Copy, Default)]
pub(super) struct Switches {
    pub(super) mode: Mode,
    pub(super) delay: Duration,
}
