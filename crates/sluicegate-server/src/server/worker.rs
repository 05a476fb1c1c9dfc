//! The loop of one server thread: accepts connections until shutdown, then drains them.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::select;
use tokio::time::sleep;
use tracing::{debug, warn};

use super::connections::Connections;
use super::listeners::Listeners;
use super::shutdown::ShutdownSignal;
use super::{Drained, Server};
use crate::store_stats::StoreStats;

/// The pause after a failed accept.
///
/// Without it the loop would spin, for instance while no file descriptors are left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves until shutdown.
pub(super) async fn run<S: StoreStats>(
    server: Arc<Server<S>>,
    listeners: Listeners,
    mut signal: ShutdownSignal,
) -> io::Result<Drained> {
    let listening = listeners.listen()?;
    let mut connections = Connections::new(&server, signal.clone());
    loop {
        let (protocol, accepted) = select! {
            biased;
            () = signal.begun() => break,
            () = connections.reap() => continue,
            accepted = listening.accept() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => connections.open(protocol, stream, peer),
            Err(error) if is_connection_error(&error) => {
                debug!(%error, "connection not accepted");
            }
            Err(error) => {
                warn!(%error, "cannot accept connections; trying again in {ACCEPT_PAUSE:?}");
                select! {
                    () = signal.begun() => break,
                    () = sleep(ACCEPT_PAUSE) => {}
                }
            }
        }
    }
    drop(listening);
    Ok(connections.drain(server.shutdown_timeout).await)
}

/// Returns whether only the connection failed, not the listener.
fn is_connection_error(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}
