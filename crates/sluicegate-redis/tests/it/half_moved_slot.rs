//! Tests of a slot whose migration stops half way.

use sluicegate::DecidedBy;
use sluicegate_core::{Check, Limit};
use sluicegate_testkit::{Cluster, ServerKind, retry_if_stalled};

use crate::decided_by::ask;
use crate::harness::{TestBed, cluster};

/// The slot that keys were written to, and its server.
fn slot_in_use(cluster: &Cluster) -> (u16, usize) {
    let found = cluster.primaries().into_iter().find_map(|index| {
        let used = |slot: &u16| cluster.keys_in_slot(*slot, index) > 0;
        let keys = cluster.servers()[index].keys();
        // The list of nodes is in one of them, under another name.
        let own = keys.iter().any(|key| !key.ends_with(b"nodes"));
        let slots = if own { cluster.slots_of(index) } else { Vec::new() };
        let met = |slot: &u16| {
            let words = [
                "CLUSTER".to_owned(),
                "GETKEYSINSLOT".to_owned(),
                slot.to_string(),
                "9".to_owned(),
            ];
            let keys = cluster.servers()[index].command(&words);
            keys.items().iter().all(|key| key.text().ends_with("nodes"))
        };
        slots.into_iter().filter(used).find(|slot| !met(slot)).map(|slot| (slot, index))
    });
    found.expect("something was written")
}

#[test]
fn callers_stay_counted_on_both_sides_of_a_half_moved_slot() {
    retry_if_stalled(|| {
        for kind in [ServerKind::Redis, ServerKind::Valkey] {
            let stage = TestBed::with(cluster(kind, 0));
            let store = stage.start(stage.options().deny_cache(false));
            let bucket = Limit::token_bucket("calls", "1/day burst 100".parse().unwrap()).unwrap();
            let window = Limit::fixed_window("hits", "100/day".parse().unwrap()).unwrap();
            let remaining = |limit: &Limit| {
                let (applied, decision) = stage.block_on(ask(&store, Check::new(limit, "alice")));
                assert_eq!(applied.by, DecidedBy::Store, "{kind:?}: {:?}", store.counts());
                decision.remaining()
            };
            assert_eq!((remaining(&bucket), remaining(&window)), (99, 99));
            let (slot, from) = slot_in_use(&stage.server);
            let to = stage.server.primaries().into_iter().find(|index| *index != from).unwrap();
            stage.server.begin_migration(slot, from, to);
            assert_eq!((remaining(&bucket), remaining(&window)), (98, 98), "still there");
            // Other callers are new in a page that exists, and in pages that do not.
            for caller in 0..50 {
                let key = format!("caller {caller}");
                let (applied, _) = stage.block_on(ask(&store, Check::new(&bucket, &key)));
                assert_eq!(applied.by, DecidedBy::Store);
            }
            stage.server.move_keys(slot, from, to, 1);
            assert_eq!((remaining(&bucket), remaining(&window)), (97, 97), "here and there");
            stage.server.move_keys(slot, from, to, 100);
            assert_eq!((remaining(&bucket), remaining(&window)), (96, 96), "all there");
            assert!(store.counts().redirects > 0);
            stage.server.finish_moving(slot, from, to);
            assert_eq!((remaining(&bucket), remaining(&window)), (95, 95), "it is theirs");
            assert_eq!((remaining(&bucket), remaining(&window)), (94, 94), "which is known now");
        }
    });
}
