//! Opens and authenticates connections to a server.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use redis::aio::{AsyncPushSender, MultiplexedConnection, SendError};
use redis::io::tcp::TcpSettings;
use redis::{
    AsyncConnectionConfig, Client, ConnectionAddr, ConnectionInfo, Msg, ProtocolVersion, PushInfo,
    PushKind, RedisConnectionInfo, TlsCertificates,
};
use tokio::time::timeout;

use crate::address::Address;
use crate::error::{ErrorKind, ServerError};
use crate::event::ServerInfo;
use crate::options::{Options, OptionsError};

/// The longest time that connecting may take, including authentication.
const TIMEOUT: Duration = Duration::from_millis(500);

/// Receives the messages that other nodes publish, and the end of the connection.
pub(crate) trait Listener: Send + Sync + 'static {
    /// Handles a published message, or the end of the connection (`None`).
    fn on_message(&self, message: Option<&[u8]>);
}

/// Opens connections to any of the servers of a store.
pub(crate) struct Connector {
    /// The settings with the address of one of them.
    template: ConnectionInfo,
    ca_pem: Option<Vec<u8>>,
    /// The channel to subscribe to.
    channel: String,
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connector").field("channel", &self.channel).finish_non_exhaustive()
    }
}

impl Connector {
    /// A connector to the servers that subscribes to a channel.
    pub(crate) fn new(options: &Options, channel: String) -> Result<Self, OptionsError> {
        Self::of(options, options.connection.redis_settings().clone(), channel)
    }

    /// A connector to the sentinels that subscribes to a channel of theirs.
    pub(crate) fn to_sentinels(options: &Options, channel: String) -> Result<Self, OptionsError> {
        Self::of(options, options.sentinel.clone(), channel)
    }

    fn of(
        options: &Options,
        settings: RedisConnectionInfo,
        channel: String,
    ) -> Result<Self, OptionsError> {
        // RESP3 carries answers and published messages over one connection.
        let settings = settings.set_protocol(ProtocolVersion::RESP3);
        let settings = settings.set_lib_name("sluicegate", env!("CARGO_PKG_VERSION"));
        let tcp = TcpSettings::default().set_nodelay(true);
        let template =
            options.connection.clone().set_redis_settings(settings).set_tcp_settings(tcp);
        if options.is_encrypted() {
            // Either provider is fine, whichever was installed first in this process.
            let provider = rustls::crypto::aws_lc_rs::default_provider();
            let _ = provider.install_default();
        }
        let connector = Self { template, ca_pem: options.ca_pem.clone(), channel };
        // Settings that are invalid for this address are invalid for every address.
        connector.client(&Address::new("localhost", 1))?;
        Ok(connector)
    }

    fn client(&self, address: &Address) -> Result<Client, OptionsError> {
        let (host, port) = (address.host.clone(), address.port);
        match self.template.addr() {
            ConnectionAddr::TcpTls { insecure, tls_params, .. } => {
                let (insecure, tls_params) = (*insecure, tls_params.clone());
                let address = ConnectionAddr::TcpTls { host, port, insecure, tls_params };
                let certificates =
                    TlsCertificates { client_tls: None, root_cert: self.ca_pem.clone() };
                Client::build_with_tls(self.template.clone().set_addr(address), certificates)
                    .map_err(|error| OptionsError::Certificates { why: error.to_string() })
            }
            _ => Client::open(self.template.clone().set_addr(ConnectionAddr::Tcp(host, port)))
                .map_err(|error| OptionsError::Url { why: error.to_string() }),
        }
    }

    /// Opens an authenticated connection that is subscribed to the channel.
    pub(crate) async fn connect(
        &self,
        address: &Address,
        listener: Arc<dyn Listener>,
    ) -> Result<MultiplexedConnection, ServerError> {
        in_time(async {
            let config = config().set_push_sender(PushHandler(listener));
            let mut connection = self.open(address, &config).await?;
            connection.subscribe(&self.channel).await?;
            Ok(connection)
        })
        .await
    }

    /// Opens an authenticated connection without a subscription.
    pub(crate) async fn connect_unsubscribed(
        &self,
        address: &Address,
    ) -> Result<MultiplexedConnection, ServerError> {
        in_time(self.open(address, &config())).await
    }

    async fn open(
        &self,
        address: &Address,
        config: &AsyncConnectionConfig,
    ) -> Result<MultiplexedConnection, ServerError> {
        let client = self
            .client(address)
            .map_err(|error| ServerError::new(ErrorKind::Connection, error.to_string()))?;
        Ok(client.get_multiplexed_async_connection_with_config(config).await?)
    }
}

/// Fetches `INFO server` for diagnostics. Optional: without the permission the fields stay empty.
pub(crate) async fn server_info(connection: &mut MultiplexedConnection) -> ServerInfo {
    let mut info = redis::cmd("INFO");
    info.arg("server");
    let info = in_time(async { Ok(info.query_async::<String>(connection).await?) }).await;
    ServerInfo::read(&info.unwrap_or_default())
}

/// Runs a step of connecting, with a timeout.
pub(crate) async fn in_time<T>(
    doing: impl Future<Output = Result<T, ServerError>>,
) -> Result<T, ServerError> {
    timeout(TIMEOUT, doing).await.unwrap_or_else(|_| {
        let millis = TIMEOUT.as_millis();
        Err(ServerError::new(ErrorKind::Timeout, format!("no connection within {millis} ms")))
    })
}

/// Disables the library's timeouts: they do not cover all steps, so we use our own.
fn config() -> AsyncConnectionConfig {
    AsyncConnectionConfig::new().set_connection_timeout(None).set_response_timeout(None)
}

struct PushHandler(Arc<dyn Listener>);

impl AsyncPushSender for PushHandler {
    fn send(&self, info: PushInfo) -> Result<(), SendError> {
        match info.kind {
            PushKind::Disconnection => self.0.on_message(None),
            PushKind::Message => {
                if let Some(message) = Msg::from_push_info(info) {
                    self.0.on_message(Some(message.get_payload_bytes()));
                }
            }
            _ => {}
        }
        Ok(())
    }
}
