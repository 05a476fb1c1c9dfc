//! How much a call may ask for.

/// The longest message: many times what Envoy sends, and nothing that hurts.
pub(super) const LONGEST_MESSAGE: usize = 64 * 1_024;
/// Room for it on its way, and for what is before it, so that it arrives without being asked for again.
pub(super) const STREAM_WINDOW: u32 = 128 * 1_024;
/// The most descriptors of a call: as many as checks are decided in one step.
pub(super) const MOST_DESCRIPTORS: usize = 64;
/// The most entries of a descriptor: each rule looks for its own among them.
pub(super) const MOST_ENTRIES: usize = 64;
