//! The store that nodes share: how it is reached, and what is said about it.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use tollgate::MemoryOptions;
use tollgate_redis::{Event, Health, Options, Redis};
use tollgate_rules::RedisSettings;
use tracing::{error, info, warn};

use crate::counted::counted;

/// How long the first contact is waited for.
const PATIENCE: Duration = Duration::from_secs(1);

/// Reaches the store, or begins to try; and a line about that.
pub(super) async fn reach(
    settings: &RedisSettings,
    memory: MemoryOptions,
    secret: [u8; 32],
) -> Result<(Redis, String)> {
    let options = options(settings)?.memory(memory).secret(secret).on_event(log);
    let address = options.address();
    let store = Redis::start(options).map_err(|error| unusable(settings, &error))?;
    store.reached(PATIENCE).await;
    let said = said(&address, &store.health());
    Ok((store, said))
}

/// How the server is to be used. Files are read here, at the start: to check rules nobody needs them.
fn options(settings: &RedisSettings) -> Result<Options> {
    let RedisSettings { url, username, password, password_file, ca_file, .. } = settings;
    let mut options = Options::new(url.reveal()).map_err(|error| unusable(settings, &error))?;
    if let Some(username) = username {
        options = options.username(username);
    }
    if let Some(path) = password_file {
        options = options.password(password_in(path)?);
    } else if let Some(password) = password {
        options = options.password(password.clone());
    }
    if let Some(path) = ca_file {
        let pem = fs::read(path).with_context(|| unread("the certificates to trust", path))?;
        options = options.ca_pem(pem);
    }
    if let Some(prefix) = &settings.prefix {
        options = options.prefix(prefix)?;
    }
    if let Some(pages) = settings.pages {
        options = options.pages(pages)?;
    }
    if let Some(deadline) = settings.deadline {
        options = options.deadline(deadline.into())?;
    }
    if let Some(nodes) = settings.nodes {
        options = options.nodes(nodes);
    }
    Ok(options.deny_cache(settings.deny_cache.unwrap_or(true)))
}

/// The password in a file: what stands there, without the end of its line.
fn password_in(path: &Path) -> Result<String> {
    let text = fs::read_to_string(path).with_context(|| unread("the store's password", path))?;
    let password = text.trim_end_matches(['\r', '\n']);
    if password.is_empty() {
        let path = path.display();
        return Err(anyhow!(
            "there is no password in {path}\nhint: write it there, or leave the file out"
        ));
    }
    Ok(password.to_owned())
}

fn unread(what: &str, path: &Path) -> String {
    format!("cannot read {what} from {}", path.display())
}

fn unusable(settings: &RedisSettings, error: &tollgate_redis::OptionsError) -> anyhow::Error {
    anyhow!("cannot use the store {}: {error}", settings.url)
}

/// What becomes of the store goes into the log, once for each change.
fn log(event: &Event) {
    match event {
        Event::Reached(_) => info!("{event}"),
        Event::Degraded { .. } => warn!("{event}"),
        _ => error!("{event}"),
    }
}

/// What was reached, in one line.
fn said(address: &str, health: &Health) -> String {
    if !health.up {
        let why = health.why.as_deref().unwrap_or("it has not answered yet");
        return format!(
            "store: redis at {address} is not there ({why}): starting degraded, rules go by their \
             on_store_error"
        );
    }
    let server = health.server.as_ref().map_or_else(|| "redis".to_owned(), ToString::to_string);
    let clock = health.clock_offset_micros.map(clock).unwrap_or_default();
    format!("store: {server} at {address}{clock}, {}", counted(health.nodes, "node"))
}

/// How the server's clock goes, to a tenth of a millisecond.
fn clock(offset_micros: i64) -> String {
    let tenths = offset_micros.unsigned_abs().saturating_add(50) / 100;
    let (whole, tenth) = (tenths / 10, tenths % 10);
    match (tenths, offset_micros.is_positive()) {
        (0, _) => ", its clock as ours".to_owned(),
        (_, true) => format!(", its clock {whole}.{tenth} ms ahead"),
        (_, false) => format!(", its clock {whole}.{tenth} ms behind"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn health() -> Health {
        Health {
            up: true,
            since: Duration::from_secs(1),
            why: None,
            server: None,
            clock_offset_micros: Some(310),
            nodes: 2,
        }
    }

    #[test]
    fn what_was_reached_is_said_in_a_line() {
        let say = |health: &Health| said("127.0.0.1:6379", health);
        assert_eq!(
            say(&health()),
            "store: redis at 127.0.0.1:6379, its clock 0.3 ms ahead, 2 nodes"
        );
        let one = Health { nodes: 1, clock_offset_micros: Some(-12_345), ..health() };
        assert_eq!(say(&one), "store: redis at 127.0.0.1:6379, its clock 12.3 ms behind, 1 node");
        let near = Health { clock_offset_micros: Some(-49), ..health() };
        assert!(say(&near).contains(", its clock as ours, "));
        let gone = Health { up: false, why: Some("connection refused".to_owned()), ..health() };
        assert_eq!(
            say(&gone),
            "store: redis at 127.0.0.1:6379 is not there (connection refused): starting degraded, \
             rules go by their on_store_error"
        );
    }
}
