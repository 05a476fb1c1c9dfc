//! A snapshot taken while other threads decide.

use super::harness::Harness;
use super::keys::{initial_keys, is_stuck_in_front, keys, name};
use super::limits::{BUCKET, LOG};
use super::runner::explore;
use super::step::{Step, take};
use crate::clock::ManualClock;
use crate::memory::MemoryOptions;

#[test]
fn earlier_charges_are_saved() {
    let initial_keys = initial_keys(&BUCKET);
    let [first, second] = keys(&BUCKET, is_stuck_in_front);
    let [log, another] = keys(&LOG, |_| true);
    explore(move || {
        let harness = Harness::with_pages(8);
        harness.run(&[take(&LOG, log)]);
        harness.run(&initial_keys.iter().map(|key| take(&BUCKET, *key)).collect::<Vec<Step>>());
        harness.store.table.slab.page(0).set_crowded();
        let mut file = Vec::new();
        let save = || {
            harness.store.save_to(&mut file).unwrap();
        };
        let threads = [
            vec![take(&BUCKET, first), take(&LOG, log)],
            vec![take(&BUCKET, second).and(take(&BUCKET, initial_keys[0])), take(&LOG, another)],
        ];
        harness.run_beside(threads, save);
        harness.assert_sound();
        harness.assert_explained();
        let options = MemoryOptions::new().max_bytes(1 << 20);
        let (store, restored) = options.restore_from(ManualClock::default(), &file[..]).unwrap();
        assert!(restored.is_as_expected(), "{restored}");
        for key in &initial_keys {
            assert!(store.table.find(name(&BUCKET, *key)).is_some(), "{key:?} is lost");
        }
        assert!(store.table.find(name(&LOG, log)).is_some(), "the log is lost");
    });
}
