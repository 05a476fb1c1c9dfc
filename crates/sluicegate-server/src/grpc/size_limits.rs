//! Limits on the size of a gRPC call.

/// The longest message: many times the size of what Envoy sends, and still cheap.
pub(super) const MAX_MESSAGE: usize = 64 * 1_024;
/// The window of a stream: room for a message and its prefix, so that it needs no window update.
pub(super) const STREAM_WINDOW: u32 = 128 * 1_024;
/// The most descriptors of a call: the number of checks that are decided in one step.
pub(super) const MAX_DESCRIPTORS: usize = 64;
/// The most entries of a descriptor, because each rule searches all of them.
pub(super) const MAX_ENTRIES: usize = 64;
