//! The shared stores, their keys' lifetimes on the driven clock, and fences for invalidations.

use std::collections::HashMap;

use sluicegate_testkit::{Cluster, Connection, RespValue, Server, ServerKind};

use crate::case::StoreKind;
use crate::model::Lifetimes;

/// The channel on which scripts announce counters that other nodes have to invalidate.
const CHANNEL: &str = "sluicegate:1:freed";
/// Milliseconds that scripts add to every TTL when the time is an argument.
const EXTRA: i64 = 3_600_000;

/// Servers that are started once and reused by all cases.
#[derive(Default)]
pub(crate) struct Stores {
    redis: Option<Server>,
    valkey: Option<Server>,
    cluster: Option<Cluster>,
}

impl Stores {
    /// Returns the servers of a kind, empty; `None` for the memory store.
    pub(crate) fn empty(&mut self, kind: StoreKind) -> Option<Shared<'_>> {
        let (servers, url): (Vec<&Server>, String) = match kind {
            StoreKind::Memory => return None,
            StoreKind::Redis => {
                let server =
                    self.redis.get_or_insert_with(|| Server::setup(ServerKind::Redis).start());
                (vec![server], server.url())
            }
            StoreKind::Valkey => {
                let server =
                    self.valkey.get_or_insert_with(|| Server::setup(ServerKind::Valkey).start());
                (vec![server], server.url())
            }
            StoreKind::Cluster => {
                let cluster = self.cluster.get_or_insert_with(|| {
                    Cluster::setup(ServerKind::Valkey).replicas_each(0).start()
                });
                (cluster.servers().iter().collect(), cluster.url())
            }
        };
        let subscriptions = servers.iter().map(|server| Subscription::to(server)).collect();
        let mut shared =
            Shared { servers, url, subscriptions, fences: 0, lifetimes: HashMap::new(), looked: 0 };
        shared.flush();
        // Keys that nodes of the case before have written late are not looked at again.
        shared.note_lifetimes(0, Lifetimes::default());
        Some(shared)
    }
}

/// The servers of one case.
pub(crate) struct Shared<'s> {
    pub(crate) servers: Vec<&'s Server>,
    pub(crate) url: String,
    subscriptions: Vec<Subscription>,
    fences: u64,
    /// For each key the time of its expiry on the driven clock, in milliseconds.
    lifetimes: HashMap<Vec<u8>, i64>,
    /// The earliest server's time of the last reading, in milliseconds: later writes came after
    /// it.
    looked: i64,
}

/// A subscriber besides the nodes, which receives their messages.
struct Subscription {
    connection: Connection,
    invalidations: u64,
}

impl Subscription {
    fn to(server: &Server) -> Self {
        let mut connection = server.connection();
        connection.send(&["SUBSCRIBE", CHANNEL]).expect("the server takes commands");
        connection.receive().expect("the server confirms a subscription");
        Self { connection, invalidations: 0 }
    }

    /// Reads messages up to those fences.
    fn read_to(&mut self, mut fences: Vec<String>) {
        while !fences.is_empty() {
            let Ok(message) = self.connection.receive() else { return };
            let (RespValue::Array(parts) | RespValue::Push(parts)) = message else { continue };
            let Some(RespValue::Text(text)) = parts.get(2) else { continue };
            let fence = fences.iter().position(|fence| fence.as_bytes() == text);
            match fence {
                Some(place) => _ = fences.swap_remove(place),
                None if text.starts_with(b"-") || text.starts_with(b"!") => {}
                None => self.invalidations += 1,
            }
        }
    }
}

impl Shared<'_> {
    /// Removes all data.
    pub(crate) fn flush(&self) {
        for server in &self.servers {
            server.command(&["FLUSHALL"]);
        }
    }

    /// Returns the invalidations that every node receives, after all published ones have arrived.
    pub(crate) fn invalidations(&mut self) -> u64 {
        self.fences += 1;
        let fences: Vec<String> = (0..self.servers.len())
            .map(|place| format!("!fence {place} {}", self.fences))
            .collect();
        for (server, fence) in self.servers.iter().zip(&fences) {
            server.command(&["PUBLISH", CHANNEL, fence]);
        }
        for subscription in &mut self.subscriptions {
            subscription.read_to(fences.clone());
        }
        self.subscriptions.iter().map(|subscription| subscription.invalidations).sum()
    }

    /// Subscribes again after servers were restarted; earlier counts are void.
    pub(crate) fn resubscribe(&mut self) {
        self.subscriptions = self.servers.iter().map(|server| Subscription::to(server)).collect();
        self.lifetimes.clear();
    }

    /// Records the lifetimes of keys that were written since the last reading.
    ///
    /// Returns a difference for a key without a lifetime, or with one that is too long.
    pub(crate) fn note_lifetimes(&mut self, now: u64, lifetimes: Lifetimes) -> Option<String> {
        let now = i64::try_from(now / 1_000).expect("the driven clock is in this age");
        let (mut seen, mut looked, mut difference) = (HashMap::new(), i64::MAX, None);
        for server in &self.servers {
            let keys = server.command(&["EVAL", EXPIRIES, "0"]);
            let Some((RespValue::Integer(time), keys)) = keys.items().split_first() else {
                panic!("the look at lifetimes failed: {keys:?}");
            };
            looked = looked.min(*time);
            for entry in keys.chunks(2) {
                let [RespValue::Text(key), RespValue::Integer(expires)] = entry else { continue };
                let name = String::from_utf8_lossy(key);
                if *expires < 0 {
                    return Some(format!("the key {name:?} has no time to live"));
                }
                // Since the key was written, real time has passed: that can only hide a difference.
                let (left, longest) = (expires - time - EXTRA, lifetimes.longest_ms(key));
                if left > longest {
                    difference =
                        Some(format!("the key {name:?} lives {left} ms, at most {longest}"));
                }
                let until = match self.lifetimes.get(key) {
                    Some(known) if *expires == 0 => *known,
                    _ => now + expires - self.looked - EXTRA,
                };
                seen.insert(key.clone(), until);
            }
        }
        (self.lifetimes, self.looked) = (seen, looked);
        difference
    }

    /// Removes the keys that have expired on the driven clock.
    pub(crate) fn expire(&mut self, now: u64) {
        let now = i64::try_from(now / 1_000).expect("the driven clock is in this age");
        let gone: Vec<Vec<u8>> = self
            .lifetimes
            .iter()
            .filter(|(_, until)| **until < now)
            .map(|(key, _)| key.clone())
            .collect();
        for key in gone {
            self.lifetimes.remove(&key);
            for server in &self.servers {
                // A server of a cluster that does not have the key returns an error, which is
                // fine.
                server.command(&[b"DEL".as_slice(), &key]);
            }
        }
    }
}

/// Lists the server's time and every key with the time of its expiry.
///
/// The time is 0 for a key whose lifetime was not written since the last reading: a reading marks
/// keys by a far time. The list of nodes is omitted.
const EXPIRIES: &str = "#!lua flags=allow-cross-slot-keys
    local time = redis.call('TIME') \
    local out = { time[1] * 1000 + math.floor(time[2] / 1000) } \
    for _, key in ipairs(redis.call('KEYS', 'sluicegate:*')) do \
      if not string.find(key, 'nodes', 1, true) then \
        local expires = redis.call('PEXPIRETIME', key) \
        out[#out + 1] = key \
        out[#out + 1] = expires == 4102444800000 and 0 or expires \
        if expires > 0 then redis.call('PEXPIREAT', key, 4102444800000) end \
      end \
    end return out";
