//! The connection to a shared store, and its status line.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use sluicegate::MemoryOptions;
use sluicegate_redis::{Event, Health, Options, Redis, ServerHealth};
use sluicegate_rules::{RedisSettings, SentinelAccess};
use tracing::{error, info, warn};

use crate::plural::counted;

/// The longest wait for the first connection.
const FIRST_CONTACT: Duration = Duration::from_secs(1);

/// Starts the store and waits briefly for its first connection. Returns it with a status line.
pub(super) async fn connect(
    settings: &RedisSettings,
    memory: MemoryOptions,
    secret: [u8; 32],
) -> Result<(Redis, String)> {
    let options = options(settings)?.memory(memory).secret(secret).on_event(log);
    let address = options.address();
    let store = Redis::start(options).map_err(|error| unusable(settings, &error))?;
    store.wait_until_connected(FIRST_CONTACT).await;
    let status = status(&address, settings.url.primary(), &store.health());
    Ok((store, status))
}

/// The options of the store. Files are read only here, because `validate` runs without them.
fn options(settings: &RedisSettings) -> Result<Options> {
    let RedisSettings { url, username, password, password_file, ca_file, .. } = settings;
    let mut options = Options::new(url.reveal()).map_err(|error| unusable(settings, &error))?;
    if let Some(username) = username {
        options = options.username(username);
    }
    if let Some(path) = password_file {
        options = options.password(password_file_text("the store's password", path)?);
    } else if let Some(password) = password {
        options = options.password(password.clone());
    }
    if settings.url.is_sentinel() {
        options = with_sentinel_access(options, &settings.sentinel)?;
    }
    if let Some(path) = ca_file {
        let pem = fs::read(path).with_context(|| cannot_read("the trusted certificates", path))?;
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

/// Sets the credentials for the sentinels, if there are any.
fn with_sentinel_access(options: Options, access: &SentinelAccess) -> Result<Options> {
    let SentinelAccess { username, password, password_file } = access;
    let password = match password_file {
        Some(path) => Some(password_file_text("the sentinels' password", path)?),
        None => password.clone(),
    };
    if username.is_none() && password.is_none() {
        return Ok(options);
    }
    // For a user without a password, sentinels accept any.
    Ok(options.sentinel_access(username.as_deref(), password.unwrap_or_default()))
}

/// The password in a file, without trailing line breaks.
fn password_file_text(what: &str, path: &Path) -> Result<String> {
    let text = fs::read_to_string(path).with_context(|| cannot_read(what, path))?;
    let password = text.trim_end_matches(['\r', '\n']);
    if password.is_empty() {
        let path = path.display();
        return Err(anyhow!(
            "cannot use {what} from {path}: the file is empty\n\
             hint: write the password into it, or remove the setting"
        ));
    }
    Ok(password.to_owned())
}

fn cannot_read(what: &str, path: &Path) -> String {
    format!("cannot read {what} from {}", path.display())
}

fn unusable(settings: &RedisSettings, error: &sluicegate_redis::OptionsError) -> anyhow::Error {
    anyhow!("cannot use the store {}: {error}", settings.url)
}

/// Logs an event of the store.
fn log(event: &Event) {
    match event {
        Event::Reached { .. } | Event::SlotsUnserved { slots: 0 } => info!("{event}"),
        Event::Degraded { .. } | Event::FailedOver { .. } | Event::PassedOver { .. } => {
            warn!("{event}");
        }
        _ => error!("{event}"),
    }
}

/// The status line of the store; `primary` is the name that sentinels resolve.
fn status(address: &str, primary: Option<&str>, health: &Health) -> String {
    let degraded = "starting degraded, each rule applies its on_store_error";
    let primaries = primaries(&health.parts);
    if !health.up {
        let why = health.why.as_deref().unwrap_or("it has not answered yet");
        return match primaries {
            Some(primaries) => {
                format!("store: redis at {address}, {primaries} ({why}): {degraded}")
            }
            None => format!("store: redis at {address} is unreachable ({why}): {degraded}"),
        };
    }
    let server = health.server.as_ref().map_or_else(|| "redis".to_owned(), ToString::to_string);
    let place = match (primaries, primary, &*health.parts) {
        (Some(primaries), ..) => format!("{address}, {primaries}"),
        (None, Some(name), [part]) => format!("{}, the primary of {name}", part.address),
        _ => address.to_owned(),
    };
    let clock = health.clock_offset_micros.map(clock).unwrap_or_default();
    format!("store: {server} at {place}{clock}, {}", counted(health.nodes, "node"))
}

/// The number of reached primaries, if it is a cluster with a known slot map.
fn primaries(parts: &[ServerHealth]) -> Option<String> {
    parts.first()?.slots?;
    let up = parts.iter().filter(|part| part.up).count();
    let all = parts.len();
    Some(format!("a cluster, {up} of {all} primaries reached"))
}

/// The clock offset of the server, to a tenth of a millisecond.
fn clock(offset_micros: i64) -> String {
    let tenths = offset_micros.unsigned_abs().saturating_add(50) / 100;
    let (whole, tenth) = (tenths / 10, tenths % 10);
    match (tenths, offset_micros.is_positive()) {
        (0, _) => ", its clock in step".to_owned(),
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
            parts: Vec::new(),
        }
    }

    #[test]
    fn the_status_line_names_server_clock_and_nodes() {
        let line = |health: &Health| status("127.0.0.1:6379", None, health);
        assert_eq!(
            line(&health()),
            "store: redis at 127.0.0.1:6379, its clock 0.3 ms ahead, 2 nodes"
        );
        let one = Health { nodes: 1, clock_offset_micros: Some(-12_345), ..health() };
        assert_eq!(line(&one), "store: redis at 127.0.0.1:6379, its clock 12.3 ms behind, 1 node");
        let near = Health { clock_offset_micros: Some(-49), ..health() };
        assert!(line(&near).contains(", its clock in step, "));
        let gone = Health { up: false, why: Some("connection refused".to_owned()), ..health() };
        assert_eq!(
            line(&gone),
            "store: redis at 127.0.0.1:6379 is unreachable (connection refused): starting \
             degraded, each rule applies its on_store_error"
        );
    }

    fn part(address: &str, why: Option<&str>, slots: Option<usize>) -> ServerHealth {
        ServerHealth {
            address: address.to_owned(),
            up: why.is_none(),
            since: Duration::from_secs(1),
            why: why.map(str::to_owned),
            server: None,
            slots,
        }
    }

    #[test]
    fn the_status_line_names_the_primary_of_sentinels() {
        let line = |health: &Health| status("a:26379,b:26379/main", Some("main"), health);
        let reached = Health { parts: vec![part("10.0.0.5:6379", None, None)], ..health() };
        assert_eq!(
            line(&reached),
            "store: redis at 10.0.0.5:6379, the primary of main, its clock 0.3 ms ahead, 2 nodes"
        );
        let why = "no sentinel names a primary: connection refused";
        let parts = vec![part("main", Some(why), None)];
        let gone = Health { up: false, why: Some(why.to_owned()), parts, ..health() };
        assert_eq!(
            line(&gone),
            format!(
                "store: redis at a:26379,b:26379/main is unreachable ({why}): starting degraded, \
                 each rule applies its on_store_error"
            )
        );
    }

    #[test]
    fn the_status_line_counts_the_primaries_of_a_cluster() {
        let line = |health: &Health| status("a:1,b:2", None, health);
        let parts = vec![part("a:1", None, Some(8_192)), part("b:2", None, Some(8_192))];
        assert_eq!(
            line(&Health { parts, ..health() }),
            "store: redis at a:1,b:2, a cluster, 2 of 2 primaries reached, its clock 0.3 ms ahead, \
             2 nodes"
        );
        let why = "connection refused";
        let parts = vec![part("a:1", None, Some(8_192)), part("b:2", Some(why), Some(8_192))];
        let why = Some(format!("b:2: {why}"));
        assert_eq!(
            line(&Health { up: false, why, parts, ..health() }),
            "store: redis at a:1,b:2, a cluster, 1 of 2 primaries reached (b:2: connection \
             refused): starting degraded, each rule applies its on_store_error"
        );
        let why = Some(String::from("its map is not known yet"));
        let unknown = line(&Health { up: false, why, ..health() });
        assert!(unknown.contains("at a:1,b:2 is unreachable (its map is not known yet): "));
    }
}
