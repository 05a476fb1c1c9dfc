//! Commands of the testkit itself to a server, on a connection of its own.

use std::collections::BTreeMap;
use std::io;

use crate::fraction::share_of;
use crate::resp::value::RespValue;
use crate::server::{Server, locked};

impl Server {
    /// Sends a command on the testkit's connection, as a user with all permissions, and returns the
    /// answer, which may be an error.
    #[track_caller]
    pub fn command(&self, words: &[impl AsRef<[u8]>]) -> RespValue {
        self.try_command(words).unwrap_or_else(|error| {
            let first = words.first().map(|word| String::from_utf8_lossy(word.as_ref()));
            panic!("sent {} to the server and got no answer: {error}", first.unwrap_or_default())
        })
    }

    /// [`command`](Self::command) to a server that may be down, or go down.
    pub fn try_command(&self, words: &[impl AsRef<[u8]>]) -> io::Result<RespValue> {
        let mut own = locked(&self.connection);
        // Sentinels make a server close its connections when its role changes.
        let mut connection = match own.take() {
            Some(connection) if connection.is_open() => connection,
            _ => self.connect()?,
        };
        let answer = connection.command(words)?;
        // Kept only if all answers on it were received.
        *own = Some(connection);
        Ok(answer)
    }

    /// A field of a section of `INFO`.
    #[track_caller]
    pub fn info(&self, section: &str) -> BTreeMap<String, String> {
        pairs(&self.command(&["INFO", section]).text())
    }

    /// [`info`](Self::info) of a server that may be down, or go down.
    pub(crate) fn try_info(&self, section: &str) -> Option<BTreeMap<String, String>> {
        match self.try_command(&["INFO", section]) {
            Ok(RespValue::Text(said)) => Some(pairs(&String::from_utf8_lossy(&said))),
            _ => None,
        }
    }

    /// The port of its primary, if it is a replica with a complete copy.
    pub(crate) fn copies_from(&self) -> Option<u16> {
        let about = self.try_info("replication")?;
        let is = |name: &str, value: &str| about.get(name).is_some_and(|said| said == value);
        let copies = is("role", "slave") && is("master_link_status", "up");
        copies.then(|| about.get("master_port")?.parse().ok()).flatten()
    }

    /// Whether it reports to be a primary.
    pub(crate) fn is_primary(&self) -> bool {
        self.try_info("replication").is_some_and(|about| about["role"] == "master")
    }

    /// Sends a command that has to be answered with OK.
    #[track_caller]
    pub(crate) fn must(&self, words: &[impl AsRef<[u8]>]) {
        let answer = self.command(words);
        let said: Vec<_> =
            words.iter().map(|word| String::from_utf8_lossy(word.as_ref())).collect();
        assert_eq!(answer, RespValue::Text(b"OK".to_vec()), "{}", said.join(" "));
    }

    /// The memory that the server reports to use, in bytes.
    pub fn used_memory(&self) -> u64 {
        self.info("memory")["used_memory"].parse().expect("bytes are a number")
    }

    /// Makes the server close a fraction of its connections except the testkit's; returns the
    /// number.
    pub fn kill_clients(&self, fraction: f64) -> usize {
        let own = self.command(&["CLIENT", "ID"]).integer().to_string();
        let listed = self.command(&["CLIENT", "LIST", "TYPE", "NORMAL"]).text();
        let others: Vec<&str> = listed
            .lines()
            .filter_map(|line| line.split_whitespace().find_map(|word| word.strip_prefix("id=")))
            .filter(|id| *id != own)
            .collect();
        let killed = |id: &str| self.command(&["CLIENT", "KILL", "ID", id]).integer() == 1;
        share_of(others, fraction).into_iter().filter(|id| killed(id)).count()
    }
}

fn pairs(lines: &str) -> BTreeMap<String, String> {
    let pairs = lines.lines().filter_map(|line| line.split_once(':'));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}
