//! Reads what `CLUSTER SLOTS` says.

use redis::Value;
use redis::aio::MultiplexedConnection;

use super::slot::SLOTS;
use crate::address::Address;
use crate::failure::{Class, Failure};

/// More servers than a cluster can have.
const MOST_RANGES: usize = SLOTS as usize;

/// What one server of a cluster says about all of it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Survey {
    pub(super) ranges: Vec<Range>,
}

/// Slots in a row, and who serves them.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) first: u16,
    pub(super) last: u16,
    pub(super) primary: Address,
    pub(super) replicas: Vec<Address>,
}

impl Survey {
    /// Asks the server at this address.
    pub(super) async fn of(
        connection: &mut MultiplexedConnection,
        asked: &Address,
    ) -> Result<Self, Failure> {
        let mut command = redis::cmd("CLUSTER");
        command.arg("SLOTS");
        let reply: Value = command.query_async(connection).await?;
        Self::read(&reply, asked).ok_or_else(|| {
            let why = format!("what {asked} says about its cluster cannot be read");
            Failure::new(Class::Strange, why)
        })
    }

    /// What cannot be an address is left out, and with it the slots that nobody else is named for.
    fn read(reply: &Value, asked: &Address) -> Option<Self> {
        let Value::Array(ranges) = reply else { return None };
        let read = |range: &Value| {
            let Value::Array(range) = range else { return None };
            let [Value::Int(first), Value::Int(last), primary, replicas @ ..] = &range[..] else {
                return None;
            };
            let slot = |number: &i64| u16::try_from(*number).ok().filter(|slot| *slot < SLOTS);
            Some(Range {
                first: slot(first)?,
                last: slot(last)?,
                primary: server(primary, asked)?,
                replicas: replicas.iter().filter_map(|replica| server(replica, asked)).collect(),
            })
        };
        Some(Self { ranges: ranges.iter().take(MOST_RANGES).filter_map(read).collect() })
    }
}

/// A server in `[host, port, …]`; one that does not know its own host is where it was asked.
fn server(value: &Value, asked: &Address) -> Option<Address> {
    let Value::Array(parts) = value else { return None };
    let [host, Value::Int(port), ..] = &parts[..] else { return None };
    let host = match host {
        Value::BulkString(host) => str::from_utf8(host).ok()?,
        Value::SimpleString(host) => host,
        Value::Nil => "",
        _ => return None,
    };
    let host = if matches!(host, "" | "?") { &asked.host } else { host };
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
    fn what_can_be_meant_is_read_and_the_rest_is_left_out() {
        let asked = Address::new("10.0.0.9", 7_000);
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
        let row = |first, last, primary, replicas| Range { first, last, primary, replicas };
        let expected = vec![
            row(0, 5_460, address("10.0.0.1", 7_001), vec![address("10.0.0.2", 7_002)]),
            row(5_461, 6_000, address("10.0.0.9", 7_003), vec![]),
            row(6_001, 6_001, address("::1", 7_004), vec![]),
        ];
        assert_eq!(Survey::read(&reply, &asked), Some(Survey { ranges: expected }));
        assert_eq!(Survey::read(&Value::Okay, &asked), None);
    }
}
