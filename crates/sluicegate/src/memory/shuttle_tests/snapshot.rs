//! A snapshot taken while other threads decide.

use super::harness::Harness;
use super::keys::{is_stuck_in_front, keys, name, residents};
use super::limits::{BUCKET, LOG};
use super::runner::explore;
use super::step::{Step, take};
use crate::clock::ManualClock;
use crate::memory::MemoryOptions;

#[test]
fn earlier_charges_are_saved() {
    let residents = residents(&BUCKET);
    let [first, second] = keys(&BUCKET, is_stuck_in_front);
    let [log, another] = keys(&LOG, |_| true);
    explore(move || {
        let harness = Harness::with_pages(8);
        harness.run(&[take(&LOG, log)]);
        harness.run(&residents.iter().map(|key| take(&BUCKET, *key)).collect::<Vec<Step>>());
        harness.store.table.slab.page(0).set_crowded();
        let mut file = Vec::new();
        let save = || {
            harness.store.save_to(&mut file).unwrap();
        };
        let threads = [
            vec![take(&BUCKET, first), take(&LOG, log)],
            vec![take(&BUCKET, second).and(take(&BUCKET, residents[0])), take(&LOG, another)],
        ];
        harness.play_beside(threads, save);
        harness.assert_sound();
        harness.assert_explained();
        let options = MemoryOptions::new().max_bytes(1 << 20);
        let (store, restored) = options.restore_from(ManualClock::default(), &file[..]).unwrap();
        assert!(restored.is_as_expected(), "{restored}");
        for key in &residents {
            assert!(store.table.find(name(&BUCKET, *key)).is_some(), "{key:?} is lost");
        }
        assert!(store.table.find(name(&LOG, log)).is_some(), "the log is lost");
    });
}
