//! Tests of sets whose checks return to a page after another one.

use sluicegate::Memory;
use sluicegate_conformance::{ManualClockStore, Subject};
use sluicegate_core::{ChargeId, Check, Cost, Limit, Set, State, Time};
use sluicegate_testkit::Server;

use super::pages::{SECOND, at, bucket};
use super::steps::{ScriptServer, ScriptVariant, connect};
use crate::script::KeySpace;
use crate::script::cells::StoredCell;

const KEYS: [&str; 3] = ["user", "address", "endpoint"];
/// Other counters that have recovered; with those of a set they reach the size that is pruned.
const STRANGERS: usize = 29;

/// A server and a memory store, and the state that each counter must have on the server.
struct Comparison<'a> {
    server: ScriptServer,
    memory: ManualClockStore<Memory<sluicegate::ManualClock>>,
    expected: Vec<(Check<'a>, State)>,
    id: u128,
}

impl<'a> Comparison<'a> {
    fn new(server: ScriptServer) -> Self {
        let memory = ManualClockStore::new(Memory::with_clock);
        Self { server, memory, expected: Vec::new(), id: 0 }
    }

    /// Decides a set in both stores and compares the answers.
    fn apply(&mut self, now: Time, checks: &[Check<'a>]) {
        self.id += 1 << 8;
        let set = Set::all(checks, ChargeId::from_bits(self.id));
        let mut answer = self.server.apply(now, &set);
        let found = ScriptServer::explained(&set, &mut answer);
        let context = || {
            let pairs =
                checks.iter().map(|check| (check.limit().name(), check.key().escape_ascii()));
            pairs.map(|(limit, key)| format!("{limit} {key}")).collect::<Vec<_>>()
        };
        assert_eq!(found, self.memory.apply(now, &set), "{:?}", context());
        for (check, state) in checks.iter().zip(&answer.states) {
            let same = |known: &&mut (Check<'a>, State)| {
                known.0.limit().name() == check.limit().name() && known.0.key() == check.key()
            };
            match self.expected.iter_mut().find(same) {
                Some((_, known)) => *known = state.clone(),
                None => self.expected.push((*check, state.clone())),
            }
        }
    }

    /// Compares the contents of the server.
    fn compare(&mut self, now: Time) {
        for (check, expected) in &self.expected {
            let stored = self.server.stored(&StoredCell::Counter(check));
            // A counter that has recovered may be pruned.
            let recovered = check.limit().recovered_at(expected) <= now;
            let name = (check.limit().name(), check.key().escape_ascii().to_string());
            assert!(
                stored == *expected || recovered && stored == State::Vacant,
                "{name:?} is {stored:?} instead of {expected:?}"
            );
        }
    }
}

/// Every sequence of `count` keys.
fn orders(count: u32) -> impl Iterator<Item = Vec<usize>> {
    (0..3_usize.pow(count))
        .map(move |number| (0..count).map(|place| number / 3_usize.pow(place) % 3).collect())
}

fn limits() -> Vec<Limit> {
    let quotas = ["5/min", "3/min", "1000/day", "1/s burst 4", "20/hour", "6/min"];
    let names = ["a", "b", "c", "d", "e", "f"];
    names.into_iter().zip(quotas).map(|(name, quota)| bucket(name, quota)).collect()
}

#[test]
fn every_order_of_keys_equals_the_memory_store() {
    let redis = Server::redis();
    let (limits, quick) = (limits(), bucket("quick", "1000/s"));
    let strangers: Vec<String> = (0..STRANGERS).map(|number| format!("s{number}")).collect();
    for through in ScriptVariant::ALL {
        let mut connection = Some(connect(&redis));
        // One page for all, two pages, and a page for each key.
        for bits in [0, 1, 16] {
            for (number, order) in (3..=6).flat_map(orders).enumerate() {
                // Long sequences mostly repeat short ones, so the other scripts run a part of them.
                if order.len() > 4
                    && (bits == 0 || through != ScriptVariant::Quick)
                    && number % 11 != 0
                {
                    continue;
                }
                let mut server = ScriptServer::new(connection.take().unwrap(), "t:", bits);
                server.through = through;
                server.key_space =
                    KeySpace::new(&format!("{bits}.{number}.{through:?}:"), [7; 32], bits);
                let mut comparison = Comparison::new(server);
                if bits < 16 {
                    let recovering: Vec<_> =
                        strangers.iter().map(|key| Check::new(&quick, key)).collect();
                    comparison.apply(at(0), &recovering);
                    // Reading all of them would take most of the time.
                    comparison.expected.truncate(2);
                }
                let exhausted = Check::new(&limits[1], "stranger").cost(Cost::from(3));
                comparison.apply(at(SECOND), &[exhausted]);
                let pairs = limits.iter().zip(&order);
                let checks: Vec<_> =
                    pairs.map(|(limit, key)| Check::new(limit, KEYS[*key])).collect();
                for step in 0..5 {
                    comparison.apply(at((2 + 4 * step) * SECOND), &checks);
                }
                comparison.compare(at(18 * SECOND));
                comparison.apply(at(20 * SECOND), &[exhausted]);
                connection = Some(comparison.server.connection);
            }
        }
    }
}
