//! Handlers for SIGINT, SIGTERM and SIGHUP.

use std::future::Future;
use std::io;

/// Completes on SIGINT or SIGTERM.
///
/// The handlers are installed by the call, not by the first poll, so that no early signal is lost.
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

/// Completes when the program is interrupted.
#[cfg(not(unix))]
pub(crate) fn stop() -> io::Result<impl Future<Output = ()>> {
    Ok(async {
        let _ = tokio::signal::ctrl_c().await;
    })
}

/// Calls `act` on each SIGHUP, which would end the program otherwise.
///
/// The handler is installed by the call; the returned future never completes.
#[cfg(unix)]
pub(crate) fn on_hangup(
    mut act: impl FnMut() + Send + 'static,
) -> io::Result<impl Future<Output = ()> + Send> {
    use tokio::signal::unix::{SignalKind, signal};

    let mut hung_up = signal(SignalKind::hangup())?;
    Ok(async move {
        while hung_up.recv().await.is_some() {
            act();
        }
    })
}

/// Never calls `act`, because this platform has no SIGHUP.
#[cfg(not(unix))]
pub(crate) fn on_hangup(
    act: impl FnMut() + Send + 'static,
) -> io::Result<impl Future<Output = ()> + Send> {
    Ok(async move {
        std::future::pending::<()>().await;
        drop(act);
    })
}
