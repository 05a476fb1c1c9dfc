//! Finds the address of a server, which may change over time.

use std::sync::Arc;

use redis::aio::MultiplexedConnection;

use crate::address::Address;
use crate::connection::connector::{Connector, Listener, server_info};
use crate::error::ServerError;
use crate::event::ServerInfo;
use crate::sentinel::Sentinels;

/// How the address of a server is found.
#[derive(Debug)]
pub(crate) enum Discovery {
    /// A fixed address.
    At(Arc<Connector>, Address),
    /// The primary that the sentinels name.
    Named(Box<Sentinels>),
}

/// A connection to a server, and the server's details.
pub(crate) struct ConnectedServer {
    pub(crate) connection: MultiplexedConnection,
    pub(crate) server: ServerInfo,
    pub(crate) address: Address,
}

impl Discovery {
    /// Returns a name for diagnostics.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::At(_, address) => address.to_string(),
            Self::Named(sentinels) => sentinels.name().to_owned(),
        }
    }

    /// Returns the address, as far as it is known now.
    pub(crate) fn address(&self) -> Option<Address> {
        match self {
            Self::At(_, address) => Some(address.clone()),
            Self::Named(sentinels) => sentinels.primary(),
        }
    }

    pub(crate) async fn connect(
        &self,
        listener: Arc<dyn Listener>,
    ) -> Result<ConnectedServer, ServerError> {
        match self {
            Self::At(connector, address) => {
                let mut connection = connector.connect(address, listener).await?;
                let server = server_info(&mut connection).await;
                Ok(ConnectedServer { connection, server, address: address.clone() })
            }
            Self::Named(sentinels) => sentinels.connect(listener).await,
        }
    }

    /// Opens another connection to a server that is in use, without a subscription.
    pub(crate) async fn connect_again(
        &self,
        address: &Address,
    ) -> Result<MultiplexedConnection, ServerError> {
        match self {
            Self::At(connector, _) => connector.connect_unsubscribed(address).await,
            Self::Named(sentinels) => sentinels.connect_again(address).await,
        }
    }

    /// Waits until a different address is named.
    pub(crate) async fn moved(&self, from: Option<&Address>) {
        match self {
            Self::At(..) => std::future::pending().await,
            Self::Named(sentinels) => sentinels.moved(from).await,
        }
    }
}
