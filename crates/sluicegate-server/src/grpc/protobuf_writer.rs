//! Writes protobuf messages field by field, without building them first.
//!
//! A response consists of a few numbers and names that exist elsewhere. Copying them into generated
//! messages first would cost more than deciding the request.

use sluicegate_core::varint;

/// A writer of protobuf fields.
#[derive(Debug)]
pub(super) struct ProtobufWriter(Vec<u8>);

const VARINT: u32 = 0;
const FIXED64: u32 = 1;
const LENGTH: u32 = 2;

impl ProtobufWriter {
    /// Appends to these bytes.
    pub(super) fn append(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// Writes a number, unless it is zero.
    pub(super) fn number(&mut self, field: u32, value: u64) {
        if value != 0 {
            self.tag(field, VARINT);
            varint::put(&mut self.0, value);
        }
    }

    /// Writes a text or other bytes, unless they are empty.
    pub(super) fn bytes(&mut self, field: u32, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.tag(field, LENGTH);
            varint::put(&mut self.0, bytes.len() as u64);
            self.0.extend_from_slice(bytes);
        }
    }

    /// Writes a floating-point number, even if it is zero.
    pub(super) fn double(&mut self, field: u32, value: f64) {
        self.tag(field, FIXED64);
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    /// Writes a nested message, even if it is empty.
    pub(super) fn message(&mut self, field: u32, write: impl FnOnce(&mut Self)) {
        self.tag(field, LENGTH);
        let place = self.0.len();
        self.0.push(0);
        write(self);
        let length = self.0.len() - place - 1;
        // A length below 128 fits into the one byte that was reserved.
        if let Ok(length @ ..=0x7f) = u8::try_from(length) {
            self.0[place] = length;
            return;
        }
        let mut longer = Vec::with_capacity(5);
        varint::put(&mut longer, length as u64);
        self.0.splice(place..=place, longer);
    }

    fn tag(&mut self, field: u32, kind: u32) {
        varint::put(&mut self.0, u64::from(field << 3 | kind));
    }
}

#[cfg(test)]
mod tests {
    use prost::Message;
    use prost_types::value::Kind;
    use prost_types::{Duration, Struct, Value};

    use super::*;

    #[test]
    fn prost_reads_back_the_written_fields() {
        for seconds in [0, 1, 127, 128, 300, 1 << 32, (1 << 53) - 1] {
            let mut writer = ProtobufWriter::append(Vec::new());
            writer.number(1, seconds);
            let wanted = Duration { seconds: i64::try_from(seconds).unwrap(), nanos: 0 };
            assert_eq!(Duration::decode(&writer.into_bytes()[..]), Ok(wanted));
        }
    }

    #[test]
    fn messages_of_any_length_round_trip() {
        for length in [0, 1, 100, 120, 127, 128, 129, 1_000, 16_383, 16_384, 20_000] {
            let text = "x".repeat(length);
            let mut writer = ProtobufWriter::append(Vec::new());
            writer.message(1, |field| {
                field.bytes(1, b"key");
                field.message(2, |value| value.bytes(3, text.as_bytes()));
            });
            writer.message(1, |field| {
                field.bytes(1, b"number");
                field.message(2, |value| value.double(2, 0.5));
            });
            let read = Struct::decode(&writer.into_bytes()[..]).unwrap();
            // An empty text is not written, so that the value has no kind.
            let kind = (length > 0).then(|| Kind::StringValue(text.clone()));
            assert_eq!(read.fields["key"], Value { kind }, "{length}");
            assert_eq!(read.fields["number"], Value { kind: Some(Kind::NumberValue(0.5)) });
        }
    }
}
