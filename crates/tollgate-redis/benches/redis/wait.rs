//! How long a decision is waited for at half the highest rate.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use tollgate_testbed::Kind;

use crate::Scale;
use crate::callers::{CALLERS, Draws};
use crate::ground::Ground;
use crate::load::{Asked, Taken};
use crate::table::{head, median, row};

/// How often requests arrive: some at a time, as they come from a network.
const EVERY: Duration = Duration::from_micros(250);

pub(crate) fn measure(kind: Kind, scale: Scale) {
    let ground = Ground::new(kind, 2);
    ground.fill(Asked::one(), 256, CALLERS);
    let highest = (0..scale.rounds).map(|_| ground.load(Asked::one(), 256, scale.decisions));
    let rate = median(highest.map(|taken| Taken::per_second(&taken))) / 2.0;
    head(
        &format!("{kind:?}: the wait for a decision in ms, at {rate:.0} a second"),
        &["round", "median", "99 %", "99.9 %", "longest", "aim for 99 %"],
    );
    for round in 0..scale.rounds {
        let mut waits = paced(&ground, rate, scale.decisions);
        waits.sort();
        let millis = |wait: Duration| format!("{:.2}", wait.as_secs_f64() * 1e3);
        let share = |share: usize| millis(waits[waits.len() * share / 1_000]);
        let longest = millis(waits[waits.len() - 1]);
        row(&[round.to_string(), share(500), share(990), share(999), longest, "5".into()]);
    }
}

/// Requests that arrive at this rate, whether or not those before them have been answered; each
/// wait counts from when the request was to arrive.
fn paced(ground: &Ground, rate: f64, requests: usize) -> Vec<Duration> {
    let waits = Arc::new(Mutex::new(Vec::with_capacity(requests)));
    let mut draws = Draws::new(requests);
    let start = Instant::now();
    let mut arrived = 0;
    while arrived < requests {
        let due = start + Duration::from_secs_f64(arrived as f64 / rate);
        thread::sleep(due.max(start + EVERY).saturating_duration_since(Instant::now()).max(EVERY));
        let now = start.elapsed().as_secs_f64();
        while arrived < requests && (arrived as f64) < now * rate {
            let due = start + Duration::from_secs_f64(arrived as f64 / rate);
            let node = ground.nodes[arrived % ground.nodes.len()].clone();
            let (caller, waits) = (draws.below(CALLERS), Arc::clone(&waits));
            ground.runtime.spawn(async move {
                Asked::one().about(&node, caller).await;
                waits.lock().unwrap().push(due.elapsed());
            });
            arrived += 1;
        }
    }
    while waits.lock().unwrap().len() < requests {
        thread::sleep(EVERY);
    }
    std::mem::take(&mut *waits.lock().unwrap())
}
