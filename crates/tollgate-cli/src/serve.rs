//! `tollgate serve`: what its arguments mean.

use std::io::{self, ErrorKind, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use tokio::net::TcpListener;
use tollgate_server::{Drained, Server, Snapshots};

use crate::args::{Listen, ServeArgs};
use crate::keeping::{self, Keeping};
use crate::{logging, runtime, signals};

/// Serves until told to stop.
pub(crate) fn run(args: &ServeArgs) -> Result<()> {
    let Listen::At(address) = args.http else {
        bail!(
            "nothing to listen on: --http is off\n\
             hint: give it an address, as in --http 127.0.0.1:7070"
        );
    };
    logging::start(&args.log);
    runtime::run(serve(address, args))
}

async fn serve(address: SocketAddr, args: &ServeArgs) -> Result<()> {
    // Before anybody can know that we run: who stops us at once is heard.
    let stop = signals::stop().context("cannot listen for signals")?;
    let (limiter, restored) = keeping::limiter(args)?;
    let listener = TcpListener::bind(address).await.map_err(|error| unbound(address, &error))?;
    if let Some(restored) = restored {
        say(&format!("tollgate: {restored}\n"));
    }
    say(&greeting(listener.local_addr().unwrap_or(address)));

    let shutdown_timeout = Duration::from_secs(args.shutdown_timeout);
    let mut server = Server::new(limiter.clone()).shutdown_timeout(shutdown_timeout);
    let mut keeping = None;
    // Only now that we listen: who can not start does not touch what another one keeps.
    if let Some(path) = &args.snapshot {
        let snapshots = Snapshots::new();
        server = server.snapshots(&snapshots);
        keeping = Some(Keeping::start(&limiter, path.clone(), args.snapshot_every, &snapshots)?);
    }
    let drained = server.serve(listener, stop).await;
    // After the last request: what it took is kept.
    let saved = keeping.map(Keeping::finish).transpose();
    if let Ok(Some(saved)) = &saved {
        say(&format!("tollgate: {saved}\n"));
    }
    say(&farewell(drained, shutdown_timeout));
    saved.map(drop)
}

fn greeting(address: SocketAddr) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let reachable = SocketAddr::new(reachable(address.ip()), address.port());
    format!(
        "tollgate {version}: listening on http://{address} (memory store)\n\
         \n\
         try:  curl -i http://{reachable}/v1/throttle -d '{{\"key\":\"user:42\",\"quota\":\"5/min\"}}'\n\
         \x20     (the sixth within a minute is refused)\n"
    )
}

/// "Every address" cannot be asked everywhere; this machine's own can.
fn reachable(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    }
}

fn farewell(drained: Drained, shutdown_timeout: Duration) -> String {
    match drained {
        Drained::All => "tollgate: stopped; every request was answered\n".to_owned(),
        Drained::Cut { connections } => format!(
            "tollgate: stopped; {connections} {} not done after {}s and {} cut\n",
            if connections == 1 { "connection was" } else { "connections were" },
            shutdown_timeout.as_secs(),
            if connections == 1 { "was" } else { "were" },
        ),
    }
}

/// A server whose output nobody reads any more serves on.
fn say(text: &str) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Why an address cannot be listened on, and what to do about it.
fn unbound(address: SocketAddr, error: &io::Error) -> anyhow::Error {
    let any_port = SocketAddr::new(address.ip(), 0);
    let (found, hint) = match error.kind() {
        ErrorKind::AddrInUse => (
            "address already in use".to_owned(),
            format!("stop what listens there, or use --http {any_port} for any free port"),
        ),
        ErrorKind::PermissionDenied => (
            "permission denied".to_owned(),
            "use a port from 1024 on, as in --http 127.0.0.1:7070".to_owned(),
        ),
        ErrorKind::AddrNotAvailable => (
            "this machine does not have that address".to_owned(),
            format!("use --http 0.0.0.0:{} for all it has", address.port()),
        ),
        _ => (error.to_string(), "see --help for what --http may be".to_owned()),
    };
    anyhow!("cannot listen on {address}: {found}\nhint: {hint}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_to_try_names_an_address_that_can_be_asked() {
        for (listening, asked) in [
            ("127.0.0.1:7070", "http://127.0.0.1:7070/"),
            ("0.0.0.0:80", "http://127.0.0.1:80/"),
            ("[::]:7070", "http://[::1]:7070/"),
            ("[::1]:7070", "http://[::1]:7070/"),
        ] {
            let greeting = greeting(listening.parse().unwrap());
            assert!(greeting.contains(&format!("listening on http://{listening} ")));
            assert!(greeting.contains(&format!("curl -i {asked}v1/throttle ")), "{greeting}");
        }
    }

    #[test]
    fn the_last_line_says_what_was_cut() {
        let after = Duration::from_secs(10);
        let cut = |connections| farewell(Drained::Cut { connections }, after);
        assert_eq!(cut(1), "tollgate: stopped; 1 connection was not done after 10s and was cut\n");
        assert_eq!(
            cut(2),
            "tollgate: stopped; 2 connections were not done after 10s and were cut\n"
        );
    }
}
