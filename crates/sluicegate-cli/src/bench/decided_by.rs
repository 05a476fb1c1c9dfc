//! Decisions that the server made without its store.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// The names of deciders other than the store, as in answers.
const NAMES: [&str; 3] = ["memory", "share", "policy"];
/// The time limit for `INFO`.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The number of decisions without the store, by decider.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct DecisionSources([u64; NAMES.len()]);

impl DecisionSources {
    /// Adds the decisions in a JSON answer: each has `by`, except those of the store.
    pub(super) fn add_json(&mut self, body: &[u8]) {
        self.add(body, b"\"by\":\"", 0);
    }

    /// Adds the decision in a gRPC answer: its metadata has a text `by`, unless the store decided.
    pub(super) fn add_protobuf(&mut self, message: &[u8]) {
        // The key of a map entry, then the tag and the length of the value, and those of its text.
        self.add(message, b"\x0a\x02by\x12", 3);
    }

    fn add(&mut self, bytes: &[u8], label: &[u8], skipped: usize) {
        let mut rest = bytes;
        while let Some(at) = rest.windows(label.len()).position(|window| window == label) {
            rest = rest.get(at + label.len() + skipped..).unwrap_or_default();
            let found = NAMES.iter().position(|name| rest.starts_with(name.as_bytes()));
            if let Some(count) = found.and_then(|index| self.0.get_mut(index)) {
                *count += 1;
            }
        }
    }

    /// Reads the counters in `INFO`, because answers to `CL.THROTTLE` do not contain the decider.
    /// Returns `None` if the server does not have these counters.
    pub(super) fn from_info(address: SocketAddr) -> io::Result<Option<Self>> {
        let mut stream = TcpStream::connect_timeout(&address, TIMEOUT)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.write_all(b"*1\r\n$4\r\nINFO\r\n*1\r\n$4\r\nQUIT\r\n")?;
        let mut reply = Vec::new();
        stream.read_to_end(&mut reply)?;
        Ok(Self::read_info(&String::from_utf8_lossy(&reply)))
    }

    fn read_info(info: &str) -> Option<Self> {
        let mut counts = Self::default();
        for (name, count) in NAMES.iter().zip(&mut counts.0) {
            let field = format!("decisions_by_{name}:");
            let value = info.lines().find_map(|line| line.strip_prefix(&field));
            *count = value?.trim().parse().ok()?;
        }
        Some(counts)
    }

    /// The decisions since an earlier count.
    pub(super) fn since(mut self, earlier: Self) -> Self {
        for (count, earlier) in self.0.iter_mut().zip(earlier.0) {
            *count = count.saturating_sub(earlier);
        }
        self
    }

    pub(super) fn merge(&mut self, other: Self) {
        for (count, other) in self.0.iter_mut().zip(other.0) {
            *count += other;
        }
    }
}

impl fmt::Display for DecisionSources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::default() {
            return f.write_str("all decided by the store");
        }
        let [memory, share, policy] = self.0;
        write!(
            f,
            "decided without the store: {memory} refused by the deny cache, \
             {share} by this node's share, {policy} by on_store_error: allow or deny"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_answers_and_counters() {
        let mut json = DecisionSources::default();
        json.add_json(br#"[{"allowed":true,"by":"share"},{"rule":"by"},{"by":"memory"}]"#);
        assert_eq!(json, DecisionSources([1, 1, 0]));
        let mut protobuf = DecisionSources::default();
        protobuf.add_protobuf(b"\0\0\0\0\x14\x08\x01\x0a\x0e\x0a\x02by\x12\x08\x1a\x06policy");
        assert_eq!(protobuf, DecisionSources([0, 0, 1]));
        let info = "# Decisions\r\ndecisions_by_memory:7\r\ndecisions_by_share:5\r\n";
        assert_eq!(DecisionSources::read_info(info), None, "of another server");
        let counted =
            DecisionSources::read_info(&format!("{info}decisions_by_policy:0\r\n")).unwrap();
        assert_eq!(counted, DecisionSources([7, 5, 0]));
        assert_eq!(counted.since(DecisionSources([2, 5, 1])), DecisionSources([5, 0, 0]));
    }

    #[test]
    fn displays_the_deciders() {
        assert_eq!(DecisionSources::default().to_string(), "all decided by the store");
        assert_eq!(
            DecisionSources([1, 20, 3]).to_string(),
            "decided without the store: 1 refused by the deny cache, 20 by this node's share, \
             3 by on_store_error: allow or deny"
        );
    }
}
