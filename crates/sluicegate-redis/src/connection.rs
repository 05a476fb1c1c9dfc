//! Connects to a server, as whoever we are to be.

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
use crate::event::ServerInfo;
use crate::failure::{Class, Failure};
use crate::options::{Options, OptionsError};

/// How long connecting may take, with all that belongs to it.
const PATIENCE: Duration = Duration::from_millis(500);

/// Told of every message that another node publishes, and when the connection ends.
pub(crate) trait Listener: Send + Sync + 'static {
    /// Another node has given something back; `None` if the connection has ended.
    fn hear(&self, message: Option<&[u8]>);
}

/// Connects to any of the servers of a store.
pub(crate) struct Connector {
    /// As it is for one of them.
    template: ConnectionInfo,
    ca_pem: Option<Vec<u8>>,
    /// What is listened to.
    channel: String,
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connector").field("channel", &self.channel).finish_non_exhaustive()
    }
}

impl Connector {
    /// To the servers, listening to a channel.
    pub(crate) fn new(options: &Options, channel: String) -> Result<Self, OptionsError> {
        Self::of(options, options.connection.redis_settings().clone(), channel)
    }

    /// To the sentinels, listening to a channel of theirs.
    pub(crate) fn to_sentinels(options: &Options, channel: String) -> Result<Self, OptionsError> {
        Self::of(options, options.sentinel.clone(), channel)
    }

    fn of(
        options: &Options,
        settings: RedisConnectionInfo,
        channel: String,
    ) -> Result<Self, OptionsError> {
        // Answers and messages over one connection.
        let settings = settings.set_protocol(ProtocolVersion::RESP3);
        let settings = settings.set_lib_name("sluicegate", env!("CARGO_PKG_VERSION"));
        let tcp = TcpSettings::default().set_nodelay(true);
        let template =
            options.connection.clone().set_redis_settings(settings).set_tcp_settings(tcp);
        if options.is_encrypted() {
            // Whichever of the two came first in this process is fine.
            let provider = rustls::crypto::aws_lc_rs::default_provider();
            let _ = provider.install_default();
        }
        let connector = Self { template, ca_pem: options.ca_pem.clone(), channel };
        // Whatever is wrong with all of them is wrong with any.
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

    /// A connection that is let in and hears what is said on the channel.
    pub(crate) async fn connect(
        &self,
        address: &Address,
        listener: Arc<dyn Listener>,
    ) -> Result<MultiplexedConnection, Failure> {
        in_time(async {
            let config = config().set_push_sender(Heard(listener));
            let mut connection = self.open(address, &config).await?;
            connection.subscribe(&self.channel).await?;
            Ok(connection)
        })
        .await
    }

    /// A connection that is let in and hears nothing.
    pub(crate) async fn connect_deaf(
        &self,
        address: &Address,
    ) -> Result<MultiplexedConnection, Failure> {
        in_time(self.open(address, &config())).await
    }

    async fn open(
        &self,
        address: &Address,
        config: &AsyncConnectionConfig,
    ) -> Result<MultiplexedConnection, Failure> {
        let client = self
            .client(address)
            .map_err(|error| Failure::new(Class::Connection, error.to_string()))?;
        Ok(client.get_multiplexed_async_connection_with_config(config).await?)
    }
}

/// What server it is that we are connected to. Only for people: who may not ask does without.
pub(crate) async fn server_info(connection: &mut MultiplexedConnection) -> ServerInfo {
    let mut info = redis::cmd("INFO");
    info.arg("server");
    let info = in_time(async { Ok(info.query_async::<String>(connection).await?) }).await;
    ServerInfo::read(&info.unwrap_or_default())
}

/// Waits for something that belongs to connecting, and not for long.
pub(crate) async fn in_time<T>(
    doing: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    timeout(PATIENCE, doing).await.unwrap_or_else(|_| {
        let millis = PATIENCE.as_millis();
        Err(Failure::new(Class::Timeout, format!("no connection within {millis} ms")))
    })
}

/// Deadlines are our own: these do not cover all that can take time.
fn config() -> AsyncConnectionConfig {
    AsyncConnectionConfig::new().set_connection_timeout(None).set_response_timeout(None)
}

struct Heard(Arc<dyn Listener>);

impl AsyncPushSender for Heard {
    fn send(&self, info: PushInfo) -> Result<(), SendError> {
        match info.kind {
            PushKind::Disconnection => self.0.hear(None),
            PushKind::Message => {
                if let Some(message) = Msg::from_push_info(info) {
                    self.0.hear(Some(message.get_payload_bytes()));
                }
            }
            _ => {}
        }
        Ok(())
    }
}
