//! Connects to the server, as whoever we are to be.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use redis::aio::{AsyncPushSender, MultiplexedConnection, SendError};
use redis::io::tcp::TcpSettings;
use redis::{
    AsyncConnectionConfig, Client, ConnectionAddr, Msg, ProtocolVersion, PushInfo, PushKind,
    TlsCertificates,
};
use tokio::time::timeout;

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

/// Connects to the server.
pub(crate) struct Connector {
    client: Client,
    channel: String,
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connector").field("channel", &self.channel).finish_non_exhaustive()
    }
}

impl Connector {
    pub(crate) fn new(options: &Options, channel: String) -> Result<Self, OptionsError> {
        let settings = options.connection.redis_settings().clone();
        // Answers and messages over one connection.
        let settings = settings.set_protocol(ProtocolVersion::RESP3);
        let settings = settings.set_lib_name("tollgate", env!("CARGO_PKG_VERSION"));
        let tcp = TcpSettings::default().set_nodelay(true);
        let connection =
            options.connection.clone().set_redis_settings(settings).set_tcp_settings(tcp);
        let unreadable = |why: String| OptionsError::Certificates { why };
        let client = match connection.addr() {
            ConnectionAddr::TcpTls { .. } => {
                // Whichever of the two came first in this process is fine.
                let provider = rustls::crypto::aws_lc_rs::default_provider();
                let _ = provider.install_default();
                let certificates =
                    TlsCertificates { client_tls: None, root_cert: options.ca_pem.clone() };
                Client::build_with_tls(connection, certificates)
                    .map_err(|error| unreadable(error.to_string()))?
            }
            _ => Client::open(connection)
                .map_err(|error| OptionsError::Url { why: error.to_string() })?,
        };
        Ok(Self { client, channel })
    }

    /// A connection that is let in and hears what others give back.
    pub(crate) async fn connect(
        &self,
        listener: Arc<dyn Listener>,
    ) -> Result<(MultiplexedConnection, ServerInfo), Failure> {
        timeout(PATIENCE, self.connect_patiently(listener)).await.unwrap_or_else(|_| {
            let millis = PATIENCE.as_millis();
            Err(Failure::new(Class::Timeout, format!("no connection within {millis} ms")))
        })
    }

    async fn connect_patiently(
        &self,
        listener: Arc<dyn Listener>,
    ) -> Result<(MultiplexedConnection, ServerInfo), Failure> {
        let config = AsyncConnectionConfig::new()
            // Deadlines are our own: these do not cover all that can take time.
            .set_connection_timeout(None)
            .set_response_timeout(None)
            .set_push_sender(Heard(listener));
        let mut connection =
            self.client.get_multiplexed_async_connection_with_config(&config).await?;
        connection.subscribe(&self.channel).await?;
        let mut info = redis::cmd("INFO");
        info.arg("server");
        // Only for people: who may not ask does without.
        let info: String = info.query_async(&mut connection).await.unwrap_or_default();
        Ok((connection, ServerInfo::read(&info)))
    }
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
