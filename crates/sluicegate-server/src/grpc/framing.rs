//! The framing of gRPC messages: a flag, a length, and the message.

use http_body_util::BodyExt;
use hyper::body::{Body as _, Bytes, Incoming};
use prost::Message;
use tonic::Status;

use super::size_limits::MAX_MESSAGE;

/// The length of a message's prefix: the compression flag and the message length.
pub(super) const PREFIX: usize = 5;

/// Reads the one message of a call.
pub(super) async fn read<M: Message + Default>(mut body: Incoming) -> Result<M, Status> {
    let mut first = Bytes::new();
    let mut all = Vec::new();
    // Nearly always the first frame has the whole message, and no byte is copied.
    while !body.is_end_stream() {
        let Some(frame) = body.frame().await else { break };
        let frame = frame
            .map_err(|_| Status::cancelled("the call ended before its message was complete"))?;
        let Ok(data) = frame.into_data() else { continue };
        if first.is_empty() {
            first = data;
        } else {
            if all.is_empty() {
                all.extend_from_slice(&first);
            }
            all.extend_from_slice(&data);
        }
        if first.len().max(all.len()) > PREFIX + MAX_MESSAGE {
            return Err(too_long());
        }
    }
    decode(if all.is_empty() { &first } else { &all })
}

/// Decodes the message in the bytes of a call.
pub(super) fn decode<M: Message + Default>(bytes: &[u8]) -> Result<M, Status> {
    let Some((prefix, message)) = bytes.split_at_checked(PREFIX) else {
        return Err(Status::invalid_argument("the call has no message; send one"));
    };
    let [flag, length @ ..] = prefix else { return Err(wrong_length()) };
    if *flag != 0 {
        return Err(Status::unimplemented(
            "compressed messages are not supported; send them uncompressed",
        ));
    }
    let length = length.iter().fold(0, |length, byte| length << 8 | usize::from(*byte));
    if length > MAX_MESSAGE {
        return Err(too_long());
    }
    if length != message.len() {
        return Err(wrong_length());
    }
    M::decode(message)
        .map_err(|error| Status::invalid_argument(format!("the message cannot be read: {error}")))
}

fn wrong_length() -> Status {
    Status::invalid_argument(
        "the length of the call differs from that in its prefix; send one complete message",
    )
}

fn too_long() -> Status {
    Status::resource_exhausted(format!(
        "the message is longer than {MAX_MESSAGE} bytes; send fewer or shorter descriptors"
    ))
}

/// Encodes a message with its prefix.
pub(super) fn frame(message: &impl Message) -> Bytes {
    let mut framed = vec![0; PREFIX];
    // Writing to a `Vec` does not fail.
    let _ = message.encode(&mut framed);
    seal(framed)
}

/// Writes the prefix into the space before a message.
pub(super) fn seal(mut framed: Vec<u8>) -> Bytes {
    let length = u32::try_from(framed.len() - PREFIX).unwrap_or(u32::MAX);
    framed[1..PREFIX].copy_from_slice(&length.to_be_bytes());
    framed.into()
}
