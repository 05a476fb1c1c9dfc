//! Where a server is to be found, which need not stay the same.

use std::sync::Arc;

use redis::aio::MultiplexedConnection;

use crate::address::Address;
use crate::connection::{Connector, Listener, server_info};
use crate::event::ServerInfo;
use crate::failure::Failure;
use crate::sentinel::Sentinels;

/// Where a server is to be found.
#[derive(Debug)]
pub(crate) enum Whereabouts {
    /// At an address that does not change.
    At(Arc<Connector>, Address),
    /// Where the sentinels say that the primary is.
    Named(Box<Sentinels>),
}

/// A connection to a server.
pub(crate) struct Connected {
    pub(crate) connection: MultiplexedConnection,
    pub(crate) server: ServerInfo,
    pub(crate) address: Address,
}

impl Whereabouts {
    /// For people.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::At(_, address) => address.to_string(),
            Self::Named(sentinels) => sentinels.name().to_owned(),
        }
    }

    /// Where it is, as far as is known now.
    pub(crate) fn told(&self) -> Option<Address> {
        match self {
            Self::At(_, address) => Some(address.clone()),
            Self::Named(sentinels) => sentinels.told(),
        }
    }

    pub(crate) async fn connect(&self, listener: Arc<dyn Listener>) -> Result<Connected, Failure> {
        match self {
            Self::At(connector, address) => {
                let mut connection = connector.connect(address, listener).await?;
                let server = server_info(&mut connection).await;
                Ok(Connected { connection, server, address: address.clone() })
            }
            Self::Named(sentinels) => sentinels.connect(listener).await,
        }
    }

    /// Another connection to where one is already, which hears nothing.
    pub(crate) async fn connect_again(
        &self,
        address: &Address,
    ) -> Result<MultiplexedConnection, Failure> {
        match self {
            Self::At(connector, _) => connector.connect_deaf(address).await,
            Self::Named(sentinels) => sentinels.connect_again(address).await,
        }
    }

    /// Waits until another address is told than this.
    pub(crate) async fn moved(&self, from: Option<&Address>) {
        match self {
            Self::At(..) => std::future::pending().await,
            Self::Named(sentinels) => sentinels.moved(from).await,
        }
    }
}
