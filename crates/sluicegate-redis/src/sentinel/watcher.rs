//! Listens to one sentinel.

use std::sync::Arc;
use std::time::Duration;

use redis::Value;
use redis::aio::MultiplexedConnection;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep_until, timeout};

use super::told::Told;
use crate::address::Address;
use crate::connection::{Connector, Listener, in_time};
use crate::failure::{Class, Failure};

/// Between two questions, in case that something was not heard: so long a word may be wrong.
const ASKED: Duration = Duration::from_secs(1);
/// Between two attempts to connect.
const PAUSE: Duration = Duration::from_millis(500);

/// Listens to one sentinel.
pub(super) struct Watcher {
    pub(super) place: usize,
    pub(super) address: Address,
    pub(super) name: String,
    pub(super) connector: Arc<Connector>,
    pub(super) told: Arc<watch::Sender<Told>>,
}

/// What a sentinel says by itself.
struct Ear {
    place: usize,
    name: String,
    told: Arc<watch::Sender<Told>>,
    ended: Arc<Notify>,
}

impl Listener for Ear {
    fn hear(&self, message: Option<&[u8]>) {
        match message {
            None => self.ended.notify_one(),
            Some(message) => {
                if let Some(address) = switched_to(message, &self.name) {
                    self.told.send_if_modified(|told| told.tell(self.place, address));
                }
            }
        }
    }
}

/// The new address in `name old-host old-port new-host new-port`.
fn switched_to(message: &[u8], name: &str) -> Option<Address> {
    let mut words = str::from_utf8(message).ok()?.split(' ');
    if words.next()? != name {
        return None;
    }
    let host = words.nth(2)?;
    address(host, words.next()?)
}

/// What was told, if it can be one.
fn address(host: &str, port: &str) -> Option<Address> {
    let host = host.trim_matches(['[', ']']);
    Address::read(&format!("[{host}]:{port}"), None)
}

impl Watcher {
    /// Until the store is dropped.
    pub(super) async fn watch(self) {
        loop {
            let began = Instant::now();
            let failure = self.listen().await;
            self.lose(&failure);
            sleep_until(began + PAUSE).await;
        }
    }

    /// Listens until that is not possible any more; why it is not.
    async fn listen(&self) -> Failure {
        let ended = Arc::new(Notify::new());
        let ear = Ear {
            place: self.place,
            name: self.name.clone(),
            told: Arc::clone(&self.told),
            ended: Arc::clone(&ended),
        };
        let mut connection = match self.connector.connect(&self.address, Arc::new(ear)).await {
            Ok(connection) => connection,
            Err(failure) => return failure,
        };
        loop {
            match in_time(self.ask(&mut connection)).await {
                Ok(Some(address)) => {
                    self.told.send_if_modified(|told| told.tell(self.place, address));
                }
                Ok(None) => {
                    let why = format!("{} knows no primary {}", self.address, self.name);
                    self.lose(&Failure::new(Class::Other, why));
                }
                Err(failure) => return failure,
            }
            if timeout(ASKED, ended.notified()).await.is_ok() {
                return Failure::new(Class::Connection, "the connection was closed");
            }
        }
    }

    /// Where the sentinel says that the primary is.
    async fn ask(
        &self,
        connection: &mut MultiplexedConnection,
    ) -> Result<Option<Address>, Failure> {
        let mut command = redis::cmd("SENTINEL");
        command.arg("GET-MASTER-ADDR-BY-NAME").arg(&self.name);
        let reply: Value = command.query_async(connection).await?;
        let [host, port]: [String; 2] = match redis::from_redis_value(reply) {
            Ok(words) => words,
            Err(_) => return Ok(None),
        };
        Ok(address(&host, &port))
    }

    fn lose(&self, failure: &Failure) {
        let why = failure.clone();
        self.told.send_if_modified(|told| told.lose(self.place, why));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_can_be_an_address_is_taken() {
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
