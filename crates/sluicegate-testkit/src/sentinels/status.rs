//! The sentinels' view of the data servers and of each other.

use std::collections::BTreeMap;

use crate::resp::value::RespValue;
use crate::sentinels::{NAME, Sentinels};
use crate::server::Server;

/// The fields that a sentinel reports about one server.
type SentinelStatus = BTreeMap<String, String>;

impl Sentinels {
    pub(super) fn running(&self) -> impl Iterator<Item = usize> {
        (0..self.servers.len()).filter(|index| self.servers[*index].is_running())
    }

    pub(super) fn running_sentinels(&self) -> impl Iterator<Item = &Server> {
        self.watchers.iter().filter(|sentinel| sentinel.is_running())
    }

    /// The server that most of all sentinels name, including those that are down.
    pub(super) fn named(&self) -> Option<usize> {
        let named: Vec<_> = self.running_sentinels().filter_map(|one| self.named_by(one)).collect();
        let votes = |index| named.iter().filter(|other| **other == index).count();
        (0..self.servers.len()).find(|index| votes(*index) * 2 > self.watchers.len())
    }

    fn named_by(&self, sentinel: &Server) -> Option<usize> {
        match sentinel.try_command(&["SENTINEL", "GET-MASTER-ADDR-BY-NAME", NAME]) {
            Ok(RespValue::Array(address)) => {
                let port: u16 = address.get(1)?.text().parse().ok()?;
                (0..self.servers.len()).find(|index| self.known_port(*index) == port)
            }
            _ => None,
        }
    }

    /// Whether a data server is the primary or has a copy of its data.
    pub(super) fn is_in_place(&self, index: usize, primary: usize) -> bool {
        if index == primary {
            return self.servers[index].is_primary();
        }
        self.servers[index].copies_from() == Some(self.known_port(primary))
    }

    /// Whether every running sentinel knows the others and each replica of this primary.
    pub(super) fn all_know(&self, primary: usize) -> bool {
        self.running_sentinels().all(|sentinel| {
            self.knows(sentinel, primary).unwrap_or(false)
                && self.named_by(sentinel) == Some(primary)
        })
    }

    fn knows(&self, sentinel: &Server, primary: usize) -> Option<bool> {
        let watched = about(&sentinel.try_command(&["SENTINEL", "MASTER", NAME]).ok()?)?;
        let others: usize = watched.get("num-other-sentinels")?.parse().ok()?;
        let replicas = match sentinel.try_command(&["SENTINEL", "REPLICAS", NAME]).ok()? {
            RespValue::Array(replicas) => replicas.iter().filter_map(about).collect::<Vec<_>>(),
            _ => return None,
        };
        let port = self.known_port(primary).to_string();
        let is_well = |index: usize| {
            let own = self.known_port(index).to_string();
            replicas.iter().any(|replica| {
                let is = |name: &str, value: &str| replica.get(name).is_some_and(|is| is == value);
                is("port", &own)
                    && is("flags", "slave")
                    && is("master-link-status", "ok")
                    && is("master-port", &port)
            })
        };
        Some(
            others + 1 == self.watchers.len()
                && watched.get("flags")? == "master"
                && self.running().all(|index| index == primary || is_well(index)),
        )
    }
}

fn about(said: &RespValue) -> Option<SentinelStatus> {
    match said {
        RespValue::Array(words) => {
            Some(words.chunks_exact(2).map(|pair| (pair[0].text(), pair[1].text())).collect())
        }
        _ => None,
    }
}
