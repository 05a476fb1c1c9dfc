//! Keeps the map of a cluster: asks for it when something is not as it was thought.

use std::sync::Arc;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::Cluster;
use super::survey::Survey;
use crate::address::Address;
use crate::connection::{Connector, in_time};
use crate::event::Event;
use crate::failure::Failure;

/// Between two questions, at least.
const PAUSE: Duration = Duration::from_secs(1);
/// Between two attempts while nothing is known at all.
const AT_FIRST: Duration = Duration::from_millis(500);
/// Between two questions while all is well: a cluster that grew says so by itself, when it is asked.
const SELDOM: Duration = Duration::from_secs(10);

/// Keeps the map of a cluster.
pub(super) struct Surveyor {
    pub(super) cluster: Arc<Cluster>,
    pub(super) connector: Arc<Connector>,
    pub(super) seeds: Vec<Address>,
}

/// Whom to ask.
#[derive(Default)]
struct Asked {
    connection: Option<(Address, MultiplexedConnection)>,
    /// Servers that were named before.
    known: Vec<Address>,
    unserved: usize,
    turn: usize,
}

impl Surveyor {
    /// Until the store is dropped.
    pub(super) async fn survey(self) {
        let mut asked = Asked::default();
        loop {
            let began = Instant::now();
            let pause = match self.ask(&mut asked).await {
                Ok(survey) => {
                    self.cluster.common.counters.map_refreshes.one();
                    self.draw(&survey, &mut asked);
                    PAUSE
                }
                Err(failure) => {
                    self.cluster.common.count(&failure);
                    self.cluster.not_surveyed(&failure);
                    if self.cluster.is_surveyed() { PAUSE } else { AT_FIRST }
                }
            };
            sleep_until(began + pause).await;
            if self.cluster.is_whole() {
                // Whoever was told that something has changed is heard now, or as soon as it is.
                let _ = timeout_at(began + SELDOM, self.cluster.common.doubted.notified()).await;
            }
        }
    }

    /// Asks one server after the other, whoever answers first.
    async fn ask(&self, asked: &mut Asked) -> Result<Survey, Failure> {
        if !self.cluster.is_whole() {
            asked.connection = None;
        }
        if let Some((address, connection)) = &mut asked.connection {
            match in_time(Survey::of(connection, address)).await {
                Ok(survey) if !survey.ranges.is_empty() => return Ok(survey),
                _ => asked.connection = None,
            }
        }
        let mut failure = None;
        let mut addresses = self.cluster.addresses();
        addresses.extend(asked.known.iter().chain(&self.seeds).cloned());
        // Each time another one first: one that is cut off from the others goes on telling an old map.
        asked.turn = asked.turn.wrapping_add(1);
        let first = asked.turn % addresses.len().max(1);
        addresses.rotate_left(first);
        for address in &addresses {
            match self.ask_at(address, &mut asked.connection).await {
                Ok(survey) if !survey.ranges.is_empty() => return Ok(survey),
                Ok(_) => {
                    let why = format!("{address} serves no slots and knows nobody who does");
                    failure = Some(Failure::new(crate::failure::Class::ClusterDown, why));
                }
                Err(found) => failure = Some(found),
            }
            asked.connection = None;
        }
        let nobody = || Failure::new(crate::failure::Class::Connection, "nobody could be asked");
        Err(failure.unwrap_or_else(nobody))
    }

    async fn ask_at(
        &self,
        address: &Address,
        kept: &mut Option<(Address, MultiplexedConnection)>,
    ) -> Result<Survey, Failure> {
        let mut connection = self.connector.connect_deaf(address).await?;
        let survey = in_time(Survey::of(&mut connection, address)).await?;
        *kept = Some((address.clone(), connection));
        Ok(survey)
    }

    /// Brings the map up to date.
    fn draw(&self, survey: &Survey, asked: &mut Asked) {
        let unserved = self.cluster.draw(survey, &asked.known);
        if unserved != asked.unserved {
            self.cluster.common.tell(&Event::SlotsUnserved { slots: unserved });
        }
        asked.unserved = unserved;
        asked.known.clear();
        for range in &survey.ranges {
            for address in range.replicas.iter().chain([&range.primary]) {
                if !asked.known.contains(address) {
                    asked.known.push(address.clone());
                }
            }
        }
    }
}
