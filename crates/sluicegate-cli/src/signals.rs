//! When the program is told something by a signal.

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

/// Does something whenever the program is sent SIGHUP, which would end it otherwise. Listens from
/// the call on; what it returns runs for ever.
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

/// There is no such signal here; keeps what would have been done.
#[cfg(not(unix))]
pub(crate) fn on_hangup(
    act: impl FnMut() + Send + 'static,
) -> io::Result<impl Future<Output = ()> + Send> {
    Ok(async move {
        std::future::pending::<()>().await;
        drop(act);
    })
}
