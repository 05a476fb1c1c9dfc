//! Messages between the frames of HTTP/2: a flag, a length, and the message.

use http_body_util::BodyExt;
use hyper::body::{Body as _, Bytes, Incoming};
use prost::Message;
use tonic::Status;

use super::limits::LONGEST_MESSAGE;

/// What is before a message: whether it is compressed, and how long it is.
pub(super) const PREFIX: usize = 5;

/// Reads the one message of a call.
pub(super) async fn read<M: Message + Default>(mut body: Incoming) -> Result<M, Status> {
    let mut first = Bytes::new();
    let mut all = Vec::new();
    // Nearly always all of it is in the first frame, and nothing has to be copied.
    while !body.is_end_stream() {
        let Some(frame) = body.frame().await else { break };
        let frame =
            frame.map_err(|_| Status::cancelled("the call ended before its message was whole"))?;
        let Ok(data) = frame.into_data() else { continue };
        if first.is_empty() {
            first = data;
        } else {
            if all.is_empty() {
                all.extend_from_slice(&first);
            }
            all.extend_from_slice(&data);
        }
        if first.len().max(all.len()) > PREFIX + LONGEST_MESSAGE {
            return Err(too_long());
        }
    }
    decode(if all.is_empty() { &first } else { &all })
}

/// The message in all the bytes of a call.
pub(super) fn decode<M: Message + Default>(bytes: &[u8]) -> Result<M, Status> {
    let Some((prefix, message)) = bytes.split_at_checked(PREFIX) else {
        return Err(Status::invalid_argument("the call has no message; send one"));
    };
    let [flag, length @ ..] = prefix else { return Err(not_one()) };
    if *flag != 0 {
        return Err(Status::unimplemented("a compressed message is not read here"));
    }
    let length = length.iter().fold(0, |length, byte| length << 8 | usize::from(*byte));
    if length > LONGEST_MESSAGE {
        return Err(too_long());
    }
    if length != message.len() {
        return Err(not_one());
    }
    M::decode(message)
        .map_err(|error| Status::invalid_argument(format!("the message cannot be read: {error}")))
}

fn not_one() -> Status {
    Status::invalid_argument("the call has another length than it says; send one whole message")
}

fn too_long() -> Status {
    Status::resource_exhausted(format!(
        "the message is longer than {LONGEST_MESSAGE} bytes; send fewer or shorter descriptors"
    ))
}

/// A message with what has to be before it.
pub(super) fn frame(message: &impl Message) -> Bytes {
    let mut framed = vec![0; PREFIX];
    // Writing to memory that grows does not fail.
    let _ = message.encode(&mut framed);
    sealed(framed)
}

/// A message behind room for what has to be before it.
pub(super) fn sealed(mut framed: Vec<u8>) -> Bytes {
    let length = framed.len().saturating_sub(PREFIX);
    let length = u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes();
    if let Some(place) = framed.get_mut(1..PREFIX) {
        place.copy_from_slice(&length);
    }
    framed.into()
}
