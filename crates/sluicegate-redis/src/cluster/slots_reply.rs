//! Parses the reply to `CLUSTER SLOTS`.

use redis::Value;
use redis::aio::MultiplexedConnection;

use super::slot::SLOTS;
use crate::address::Address;
use crate::error::{ErrorKind, ServerError};

/// More ranges than a cluster can have.
const MAX_RANGES: usize = SLOTS as usize;

/// The slot map that one server of a cluster reports.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ClusterSlots {
    pub(super) ranges: Vec<SlotRange>,
}

/// A range of slots and its servers.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SlotRange {
    pub(super) first: u16,
    pub(super) last: u16,
    pub(super) primary: Address,
    pub(super) replicas: Vec<Address>,
}

impl ClusterSlots {
    /// Queries the server at this address.
    pub(super) async fn of(
        connection: &mut MultiplexedConnection,
        queried: &Address,
    ) -> Result<Self, ServerError> {
        let mut command = redis::cmd("CLUSTER");
        command.arg("SLOTS");
        let reply: Value = command.query_async(connection).await?;
        Self::read(&reply, queried).ok_or_else(|| {
            let why = format!("cannot parse the CLUSTER SLOTS reply of {queried}");
            ServerError::new(ErrorKind::Strange, why)
        })
    }

    /// Skips addresses that are not valid, and with them slots that name no other server.
    fn read(reply: &Value, queried: &Address) -> Option<Self> {
        let Value::Array(ranges) = reply else { return None };
        let read = |range: &Value| {
            let Value::Array(range) = range else { return None };
            let [Value::Int(first), Value::Int(last), primary, replicas @ ..] = &range[..] else {
                return None;
            };
            let slot = |number: &i64| u16::try_from(*number).ok().filter(|slot| *slot < SLOTS);
            Some(SlotRange {
                first: slot(first)?,
                last: slot(last)?,
                primary: server(primary, queried)?,
                replicas: replicas.iter().filter_map(|replica| server(replica, queried)).collect(),
            })
        };
        Some(Self { ranges: ranges.iter().take(MAX_RANGES).filter_map(read).collect() })
    }
}

/// Parses `[host, port, …]`. A server that does not know its own host is at the queried address.
fn server(value: &Value, queried: &Address) -> Option<Address> {
    let Value::Array(parts) = value else { return None };
    let [host, Value::Int(port), ..] = &parts[..] else { return None };
    let host = match host {
        Value::BulkString(host) => str::from_utf8(host).ok()?,
        Value::SimpleString(host) => host,
        Value::Nil => "",
        _ => return None,
    };
    let host = if matches!(host, "" | "?") { &queried.host } else { host };
    Address::read(&format!("[{}]:{port}", host.trim_matches(['[', ']'])), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Value {
        Value::BulkString(text.as_bytes().to_vec())
    }

    fn range(first: i64, last: i64, servers: &[(Value, i64)]) -> Value {
        let server = |(host, port): &(Value, i64)| {
            Value::Array(vec![host.clone(), Value::Int(*port), text("id")])
        };
        let mut range = vec![Value::Int(first), Value::Int(last)];
        range.extend(servers.iter().map(server));
        Value::Array(range)
    }

    #[test]
    fn valid_ranges_are_parsed_and_others_skipped() {
        let queried = Address::new("10.0.0.9", 7_000);
        let reply = Value::Array(vec![
            range(0, 5_460, &[(text("10.0.0.1"), 7_001), (text("10.0.0.2"), 7_002)]),
            range(5_461, 6_000, &[(Value::Nil, 7_003), (text("10.0.0.2"), 0)]),
            range(6_001, 6_001, &[(text("::1"), 7_004)]),
            range(6_002, 16_384, &[(text("10.0.0.1"), 7_001)]),
            range(6_002, 6_003, &[(text("10.0.0.1"), 70_000)]),
            range(-1, 3, &[(text("10.0.0.1"), 7_001)]),
            Value::Int(3),
        ]);
        let address = Address::new;
        let row = |first, last, primary, replicas| SlotRange { first, last, primary, replicas };
        let expected = vec![
            row(0, 5_460, address("10.0.0.1", 7_001), vec![address("10.0.0.2", 7_002)]),
            row(5_461, 6_000, address("10.0.0.9", 7_003), vec![]),
            row(6_001, 6_001, address("::1", 7_004), vec![]),
        ];
        assert_eq!(ClusterSlots::read(&reply, &queried), Some(ClusterSlots { ranges: expected }));
        assert_eq!(ClusterSlots::read(&Value::Okay, &queried), None);
    }
}
