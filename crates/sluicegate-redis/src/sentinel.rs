//! Finds the primary that sentinels name, and hears when it is another.
//!
//! What a sentinel says is a hint: the server at that address has to say itself that it is a
//! primary. Where more than half of all sentinels name one address, no other is tried.

mod told;
mod watcher;

use std::sync::Arc;

use redis::Value;
use redis::aio::MultiplexedConnection;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use self::told::Told;
use self::watcher::Watcher;
use crate::address::Address;
use crate::connection::{Connector, Listener, in_time, server_info};
use crate::failure::{Class, Failure};
use crate::whereabouts::Connected;

/// The most addresses that are tried at a time, if sentinels disagree.
const TRIED: usize = 3;
/// Where sentinels say that the primary is another.
pub(crate) const CHANNEL: &str = "+switch-master";

/// The sentinels of a primary.
#[derive(Debug)]
pub(crate) struct Sentinels {
    name: String,
    primaries: Connector,
    told: Arc<watch::Sender<Told>>,
    watchers: Vec<JoinHandle<()>>,
}

impl Sentinels {
    /// Begins to listen to them, for the primary of this name.
    pub(crate) fn watch(
        handle: &Handle,
        sentinels: &[Address],
        name: &str,
        to_sentinels: Connector,
        primaries: Connector,
    ) -> Self {
        let told = Arc::new(watch::Sender::new(Told::by(sentinels.len())));
        let to_sentinels = Arc::new(to_sentinels);
        let watch = |(place, address): (usize, &Address)| {
            let watcher = Watcher {
                place,
                address: address.clone(),
                name: name.to_owned(),
                connector: Arc::clone(&to_sentinels),
                told: Arc::clone(&told),
            };
            handle.spawn(watcher.watch())
        };
        let watchers = sentinels.iter().enumerate().map(watch).collect();
        Self { name: name.to_owned(), primaries, told, watchers }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Where most of them say that the primary is.
    pub(crate) fn told(&self) -> Option<Address> {
        self.told.borrow().best().cloned()
    }

    /// Waits until most of them name another address than this.
    pub(crate) async fn moved(&self, from: Option<&Address>) {
        let mut told = self.told.subscribe();
        let another = |told: &Told| match from {
            None => told.best().is_some(),
            // One that has not heard of the others for long is not to take us back.
            Some(from) => told.most().is_some_and(|most| most != from),
        };
        // Whoever tells lives as long as this does.
        let _ = told.wait_for(another).await;
    }

    /// A connection to the primary.
    pub(crate) async fn connect(&self, listener: Arc<dyn Listener>) -> Result<Connected, Failure> {
        // At first none may have been heard yet.
        let heard = async {
            self.moved(None).await;
            Ok(())
        };
        let _ = in_time(heard).await;
        let candidates = self.told.borrow().candidates();
        let mut failure = self.nobody();
        for address in candidates.into_iter().take(TRIED) {
            match self.connect_to(address, Arc::clone(&listener)).await {
                Ok(connected) => return Ok(connected),
                Err(found) => failure = found,
            }
        }
        Err(failure)
    }

    /// Another connection to a primary.
    pub(crate) async fn connect_again(
        &self,
        address: &Address,
    ) -> Result<MultiplexedConnection, Failure> {
        self.primaries.connect_deaf(address).await
    }

    async fn connect_to(
        &self,
        address: Address,
        listener: Arc<dyn Listener>,
    ) -> Result<Connected, Failure> {
        let mut connection = self.primaries.connect(&address, listener).await?;
        in_time(verify(&mut connection, &address)).await?;
        let server = server_info(&mut connection).await;
        Ok(Connected { connection, server, address })
    }

    /// Why no address is known.
    fn nobody(&self) -> Failure {
        let (class, why) = self.told.borrow().why();
        Failure::new(class, format!("no sentinel names a primary: {why}"))
    }
}

impl Drop for Sentinels {
    fn drop(&mut self) {
        for watcher in &self.watchers {
            watcher.abort();
        }
    }
}

/// Asks a server whether it is a primary. One that does not let us ask will refuse what is written
/// if it is none.
async fn verify(connection: &mut MultiplexedConnection, address: &Address) -> Result<(), Failure> {
    let role = match redis::cmd("ROLE").query_async::<Vec<Value>>(connection).await {
        Ok(role) => role,
        Err(error) => {
            let failure = Failure::from(error);
            return if failure.class == Class::Refused { Ok(()) } else { Err(failure) };
        }
    };
    let is_primary = match role.first() {
        Some(Value::BulkString(role)) => role == b"master",
        Some(Value::SimpleString(role)) => role == "master",
        _ => false,
    };
    let why = || format!("the sentinels name {address}, which is no primary");
    if is_primary { Ok(()) } else { Err(Failure::new(Class::ReadOnly, why())) }
}
