//! The store that nodes share: how it is reached, and what is said about it.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use sluicegate::MemoryOptions;
use sluicegate_redis::{Event, Health, Options, Part, Redis};
use sluicegate_rules::{RedisSettings, SentinelAccess};
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
    let said = said(&address, settings.url.primary(), &store.health());
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
        options = options.password(password_in("the store's password", path)?);
    } else if let Some(password) = password {
        options = options.password(password.clone());
    }
    if settings.url.is_sentinel() {
        options = to_sentinels(options, &settings.sentinel)?;
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

/// Who we are to the sentinels: nobody in particular, unless it was said.
fn to_sentinels(options: Options, access: &SentinelAccess) -> Result<Options> {
    let SentinelAccess { username, password, password_file } = access;
    let password = match password_file {
        Some(path) => Some(password_in("the sentinels' password", path)?),
        None => password.clone(),
    };
    if username.is_none() && password.is_none() {
        return Ok(options);
    }
    // A user who needs no password is let in with any.
    Ok(options.sentinel_access(username.as_deref(), password.unwrap_or_default()))
}

/// The password in a file: what stands there, without the end of its line.
fn password_in(what: &str, path: &Path) -> Result<String> {
    let text = fs::read_to_string(path).with_context(|| unread(what, path))?;
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

fn unusable(settings: &RedisSettings, error: &sluicegate_redis::OptionsError) -> anyhow::Error {
    anyhow!("cannot use the store {}: {error}", settings.url)
}

/// What becomes of the store goes into the log, once for each change.
fn log(event: &Event) {
    match event {
        Event::Reached { .. } | Event::SlotsUnserved { slots: 0 } => info!("{event}"),
        Event::Degraded { .. } | Event::FailedOver { .. } | Event::PassedOver { .. } => {
            warn!("{event}");
        }
        _ => error!("{event}"),
    }
}

/// What was reached, in one line; `primary` is what sentinels were asked for.
fn said(address: &str, primary: Option<&str>, health: &Health) -> String {
    let degraded = "starting degraded, rules go by their on_store_error";
    let primaries = primaries(&health.parts);
    if !health.up {
        let why = health.why.as_deref().unwrap_or("it has not answered yet");
        return match primaries {
            Some(primaries) => {
                format!("store: redis at {address}, {primaries} ({why}): {degraded}")
            }
            None => format!("store: redis at {address} is not there ({why}): {degraded}"),
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

/// How many primaries of a cluster were reached, if it is one that is known.
fn primaries(parts: &[Part]) -> Option<String> {
    parts.first()?.slots?;
    let up = parts.iter().filter(|part| part.up).count();
    let all = parts.len();
    Some(format!("a cluster, {up} of {all} primaries reached"))
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
            parts: Vec::new(),
        }
    }

    #[test]
    fn what_was_reached_is_said_in_a_line() {
        let say = |health: &Health| said("127.0.0.1:6379", None, health);
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

    fn part(address: &str, why: Option<&str>, slots: Option<usize>) -> Part {
        Part {
            address: address.to_owned(),
            up: why.is_none(),
            since: Duration::from_secs(1),
            why: why.map(str::to_owned),
            server: None,
            slots,
        }
    }

    #[test]
    fn of_sentinels_the_primary_is_said_that_they_name() {
        let say = |health: &Health| said("a:26379,b:26379/main", Some("main"), health);
        let reached = Health { parts: vec![part("10.0.0.5:6379", None, None)], ..health() };
        assert_eq!(
            say(&reached),
            "store: redis at 10.0.0.5:6379, the primary of main, its clock 0.3 ms ahead, 2 nodes"
        );
        let why = "no sentinel names a primary: connection refused";
        let parts = vec![part("main", Some(why), None)];
        let gone = Health { up: false, why: Some(why.to_owned()), parts, ..health() };
        assert_eq!(
            say(&gone),
            format!(
                "store: redis at a:26379,b:26379/main is not there ({why}): starting degraded, rules \
                 go by their on_store_error"
            )
        );
    }

    #[test]
    fn of_a_cluster_it_is_said_how_many_were_reached() {
        let say = |health: &Health| said("a:1,b:2", None, health);
        let parts = vec![part("a:1", None, Some(8_192)), part("b:2", None, Some(8_192))];
        assert_eq!(
            say(&Health { parts, ..health() }),
            "store: redis at a:1,b:2, a cluster, 2 of 2 primaries reached, its clock 0.3 ms ahead, \
             2 nodes"
        );
        let why = "connection refused";
        let parts = vec![part("a:1", None, Some(8_192)), part("b:2", Some(why), Some(8_192))];
        let why = Some(format!("b:2: {why}"));
        assert_eq!(
            say(&Health { up: false, why, parts, ..health() }),
            "store: redis at a:1,b:2, a cluster, 1 of 2 primaries reached (b:2: connection refused): \
             starting degraded, rules go by their on_store_error"
        );
        let why = Some(String::from("its map is not known yet"));
        let unknown = say(&Health { up: false, why, ..health() });
        assert!(unknown.contains("at a:1,b:2 is not there (its map is not known yet): "));
    }
}
