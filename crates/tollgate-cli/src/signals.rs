//! When the program is told to stop.

use std::future::Future;
use std::io;

/// Ready when the program is interrupted or terminated. Listens from the call on, not only
/// once it is awaited.
#[cfg(unix)]
pub(crate) fn stop() -> io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};

    let mut interrupted = signal(SignalKind::interrupt())?;
    let mut terminated = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupted.recv() => {}
            _ = terminated.recv() => {}
        }
    })
}

/// Ready when the program is interrupted.
#[cfg(not(unix))]
pub(crate) fn stop() -> io::Result<impl Future<Output = ()>> {
    Ok(async {
        let _ = tokio::signal::ctrl_c().await;
    })
}
