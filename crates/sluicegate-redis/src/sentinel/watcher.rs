//! Watches one sentinel.

use std::sync::Arc;
use std::time::Duration;

use redis::Value;
use redis::aio::MultiplexedConnection;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep_until, timeout};

use super::votes::Votes;
use crate::address::Address;
use crate::connection::connector::{Connector, Listener, in_time};
use crate::error::{ErrorKind, ServerError};

/// Interval between two queries, in case that a message was lost: a vote may be wrong for so long.
const QUERY_INTERVAL: Duration = Duration::from_secs(1);
/// Interval between attempts to connect.
const PAUSE: Duration = Duration::from_millis(500);

/// Watches one sentinel.
pub(super) struct Watcher {
    pub(super) place: usize,
    pub(super) address: Address,
    pub(super) name: String,
    pub(super) connector: Arc<Connector>,
    pub(super) votes: Arc<watch::Sender<Votes>>,
}

/// Receives the failover messages of a sentinel.
struct SwitchListener {
    place: usize,
    name: String,
    votes: Arc<watch::Sender<Votes>>,
    ended: Arc<Notify>,
}

impl Listener for SwitchListener {
    fn on_message(&self, message: Option<&[u8]>) {
        match message {
            None => self.ended.notify_one(),
            Some(message) => {
                if let Some(address) = switched_to(message, &self.name) {
                    self.votes.send_if_modified(|votes| votes.record(self.place, address));
                }
            }
        }
    }
}

/// The new address in `name old-host old-port new-host new-port`.
fn switched_to(message: &[u8], name: &str) -> Option<Address> {
    let mut fields = str::from_utf8(message).ok()?.split(' ');
    if fields.next()? != name {
        return None;
    }
    let host = fields.nth(2)?;
    address(host, fields.next()?)
}

/// The address, if it is valid.
fn address(host: &str, port: &str) -> Option<Address> {
    let host = host.trim_matches(['[', ']']);
    Address::read(&format!("[{host}]:{port}"), None)
}

impl Watcher {
    /// Runs until the store is dropped.
    pub(super) async fn watch(self) {
        loop {
            let began = Instant::now();
            let failure = self.listen().await;
            self.clear_vote(&failure);
            sleep_until(began + PAUSE).await;
        }
    }

    /// Follows the sentinel until the connection fails. Returns the cause.
    async fn listen(&self) -> ServerError {
        let ended = Arc::new(Notify::new());
        let listener = SwitchListener {
            place: self.place,
            name: self.name.clone(),
            votes: Arc::clone(&self.votes),
            ended: Arc::clone(&ended),
        };
        let mut connection = match self.connector.connect(&self.address, Arc::new(listener)).await {
            Ok(connection) => connection,
            Err(failure) => return failure,
        };
        loop {
            match in_time(self.query(&mut connection)).await {
                Ok(Some(address)) => {
                    self.votes.send_if_modified(|votes| votes.record(self.place, address));
                }
                Ok(None) => {
                    let why = format!("{} knows no primary {}", self.address, self.name);
                    self.clear_vote(&ServerError::new(ErrorKind::Other, why));
                }
                Err(failure) => return failure,
            }
            if timeout(QUERY_INTERVAL, ended.notified()).await.is_ok() {
                return ServerError::new(ErrorKind::Connection, "the connection was closed");
            }
        }
    }

    /// Queries the address of the primary.
    async fn query(
        &self,
        connection: &mut MultiplexedConnection,
    ) -> Result<Option<Address>, ServerError> {
        let mut command = redis::cmd("SENTINEL");
        command.arg("GET-MASTER-ADDR-BY-NAME").arg(&self.name);
        let reply: Value = command.query_async(connection).await?;
        let [host, port]: [String; 2] = match redis::from_redis_value(reply) {
            Ok(fields) => fields,
            Err(_) => return Ok(None),
        };
        Ok(address(&host, &port))
    }

    fn clear_vote(&self, failure: &ServerError) {
        let why = failure.clone();
        self.votes.send_if_modified(|votes| votes.clear(self.place, why));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_valid_addresses_are_accepted() {
        let to = |message: &str| switched_to(message.as_bytes(), "main").map(|to| to.to_string());
        assert_eq!(to("main 10.0.0.1 6379 10.0.0.2 6380").as_deref(), Some("10.0.0.2:6380"));
        assert_eq!(to("main ::1 6379 ::2 6380").as_deref(), Some("[::2]:6380"));
        for message in [
            "",
            "main",
            "main a 1 b",
            "main a 1 b 0",
            "main a 1 b 70000",
            "main a 1  6379",
            "other 10.0.0.1 6379 10.0.0.2 6380",
        ] {
            assert_eq!(to(message), None, "{message}");
        }
    }
}
