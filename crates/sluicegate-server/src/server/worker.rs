//! One thread's part of the server: accepts connections until told to stop, then lets them finish.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::select;
use tokio::time::sleep;
use tracing::{debug, warn};

use super::connections::Connections;
use super::listeners::Listeners;
use super::stopping::Stopping;
use super::{Drained, Server};
use crate::measured::Measured;

/// How long to leave a listener alone that cannot accept, for instance because no file
/// descriptors are left: trying at once would spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves until told to stop.
pub(super) async fn work<S: Measured>(
    server: Arc<Server<S>>,
    listeners: Listeners,
    mut stopping: Stopping,
) -> io::Result<Drained> {
    let listening = listeners.listen()?;
    let mut connections = Connections::new(&server, stopping.clone());
    loop {
        let (protocol, accepted) = select! {
            biased;
            () = stopping.begun() => break,
            () = connections.reap() => continue,
            accepted = listening.accept() => accepted,
        };
        match accepted {
            Ok((stream, peer)) => connections.open(protocol, stream, peer),
            Err(error) if concerns_one_connection(&error) => debug!(%error, "not accepted"),
            Err(error) => {
                warn!(%error, "cannot accept connections; trying again in {ACCEPT_PAUSE:?}");
                select! {
                    () = stopping.begun() => break,
                    () = sleep(ACCEPT_PAUSE) => {}
                }
            }
        }
    }
    drop(listening);
    Ok(connections.drain(server.shutdown_timeout).await)
}

/// Whether only the connection being accepted failed, not the listener.
fn concerns_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}
