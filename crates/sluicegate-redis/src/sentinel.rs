//! Finds the primary that sentinels name, and follows failovers.
//!
//! The answer of a sentinel is a hint: the server at that address has to confirm that it is a
//! primary. If more than half of all sentinels name one address, no other is tried.

mod votes;
mod watcher;

use std::sync::Arc;

use redis::Value;
use redis::aio::MultiplexedConnection;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use self::votes::Votes;
use self::watcher::Watcher;
use crate::address::Address;
use crate::connection::connector::{Connector, Listener, in_time, server_info};
use crate::connection::discovery::ConnectedServer;
use crate::error::{ErrorKind, ServerError};

/// The most addresses to try at a time, if sentinels disagree.
const MAX_TRIED: usize = 3;
/// The channel on which sentinels announce a failover.
pub(crate) const CHANNEL: &str = "+switch-master";

/// The sentinels of a primary.
#[derive(Debug)]
pub(crate) struct Sentinels {
    name: String,
    primaries: Connector,
    votes: Arc<watch::Sender<Votes>>,
    watchers: Vec<JoinHandle<()>>,
}

impl Sentinels {
    /// Starts to watch the sentinels, for the primary of this name.
    pub(crate) fn watch(
        handle: &Handle,
        sentinels: &[Address],
        name: &str,
        to_sentinels: Connector,
        primaries: Connector,
    ) -> Self {
        let votes = Arc::new(watch::Sender::new(Votes::new(sentinels.len())));
        let to_sentinels = Arc::new(to_sentinels);
        let watch = |(place, address): (usize, &Address)| {
            let watcher = Watcher {
                place,
                address: address.clone(),
                name: name.to_owned(),
                connector: Arc::clone(&to_sentinels),
                votes: Arc::clone(&votes),
            };
            handle.spawn(watcher.watch())
        };
        let watchers = sentinels.iter().enumerate().map(watch).collect();
        Self { name: name.to_owned(), primaries, votes, watchers }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the address that most sentinels name.
    pub(crate) fn primary(&self) -> Option<Address> {
        self.votes.borrow().best().cloned()
    }

    /// Waits until most sentinels name a different address.
    pub(crate) async fn moved(&self, from: Option<&Address>) {
        let mut votes = self.votes.subscribe();
        let another = |votes: &Votes| match from {
            None => votes.best().is_some(),
            // Requires a majority, because an isolated sentinel may still name the old primary.
            Some(from) => votes.majority().is_some_and(|majority| majority != from),
        };
        // The sender lives as long as `self`.
        let _ = votes.wait_for(another).await;
    }

    /// Opens a connection to the primary.
    pub(crate) async fn connect(
        &self,
        listener: Arc<dyn Listener>,
    ) -> Result<ConnectedServer, ServerError> {
        // Waits for the first vote after a start.
        let first_vote = async {
            self.moved(None).await;
            Ok(())
        };
        let _ = in_time(first_vote).await;
        let candidates = self.votes.borrow().candidates();
        let mut failure = self.no_primary();
        for address in candidates.into_iter().take(MAX_TRIED) {
            match self.connect_to(address, Arc::clone(&listener)).await {
                Ok(connected) => return Ok(connected),
                Err(found) => failure = found,
            }
        }
        Err(failure)
    }

    /// Opens another connection to a primary.
    pub(crate) async fn connect_again(
        &self,
        address: &Address,
    ) -> Result<MultiplexedConnection, ServerError> {
        self.primaries.connect_unsubscribed(address).await
    }

    async fn connect_to(
        &self,
        address: Address,
        listener: Arc<dyn Listener>,
    ) -> Result<ConnectedServer, ServerError> {
        let mut connection = self.primaries.connect(&address, listener).await?;
        in_time(verify(&mut connection, &address)).await?;
        let server = server_info(&mut connection).await;
        Ok(ConnectedServer { connection, server, address })
    }

    /// Returns the error for the case that no address is known.
    fn no_primary(&self) -> ServerError {
        let (class, why) = self.votes.borrow().why();
        ServerError::new(class, format!("no sentinel names a primary: {why}"))
    }
}

impl Drop for Sentinels {
    fn drop(&mut self) {
        for watcher in &self.watchers {
            watcher.abort();
        }
    }
}

/// Verifies that a server is a primary. If it refuses the query, it passes: a replica would refuse
/// writes anyway.
async fn verify(
    connection: &mut MultiplexedConnection,
    address: &Address,
) -> Result<(), ServerError> {
    let role = match redis::cmd("ROLE").query_async::<Vec<Value>>(connection).await {
        Ok(role) => role,
        Err(error) => {
            let failure = ServerError::from(error);
            return if failure.class == ErrorKind::Refused { Ok(()) } else { Err(failure) };
        }
    };
    let is_primary = match role.first() {
        Some(Value::BulkString(role)) => role == b"master",
        Some(Value::SimpleString(role)) => role == "master",
        _ => false,
    };
    let why = || format!("the sentinels name {address}, which is not a primary");
    if is_primary { Ok(()) } else { Err(ServerError::new(ErrorKind::ReadOnly, why())) }
}
