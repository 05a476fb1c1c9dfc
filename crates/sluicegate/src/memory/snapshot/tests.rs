use sluicegate_core::{Check, Limit, Span, State};

use super::format::{SnapshotHeader, VERSION};
use super::writer::Writer;
use super::*;
use crate::clock::ManualClock;
use crate::limiter::Limiter;
use crate::memory::fingerprint::{Fingerprint, HashKey};
use crate::memory::overflow::OverflowState;
use crate::memory::word::{Epoch, LimitTag, Word};
use crate::memory::{MemoryOptions, SnapshotReadError};

const KEY: HashKey = HashKey { first: 0x0123_4567_89ab_cdef, second: 0xfedc_ba98_7654_3210 };

fn header() -> SnapshotHeader {
    let time = ManualClock::default().now();
    SnapshotHeader { key: KEY, epoch: time, taken: time, about: 2 }
}

fn restored(bytes: &[u8]) -> (Memory<ManualClock>, RestoreReport) {
    MemoryOptions::new().restore_from(ManualClock::default(), bytes).unwrap()
}

/// A file in the frozen format: four taken from a bucket and four from a log.
///
/// Each field separately. Its checksums were computed independently of the code.
const GOLDEN: [&str; 6] = [
    // Magic, version, hash key, epoch, time, approximate count, checksum.
    "534c554943454754 01000000 efcdab8967452301 1032547698badcfe 0040204648470600 \
     40822f4648470600 0200000000000000 bc82e239",
    // One record of 35 bytes: fingerprint, tag, share, recovery time, length, state.
    "02000000 01000000 23000000 1055ea3a",
    "916da1cfa7103858 bf02 6666 4026c31c49470600 0b000000 0501c084beb184e9910304",
    // One word of 16 bytes: fingerprint, and the word with its time and its tag.
    "01000000 01000000 10000000 b2e60746",
    "6e959d915ff64af3 40eae3550000 bf03",
    // The end: two in total.
    "03000000 00000000 08000000 c4a755e4 0200000000000000",
];

#[test]
fn the_format_is_stable() {
    let clock = ManualClock::default();
    let limiter = Limiter::new(MemoryOptions::new().build_keyed(clock.clone(), KEY));
    let bucket = Limit::token_bucket("api", "10/hour".parse().unwrap()).unwrap();
    let log = Limit::sliding_log("log", "10/hour".parse().unwrap()).unwrap();
    clock.advance(std::time::Duration::from_secs(1));
    for limit in [&bucket, &log] {
        for _ in 0..4 {
            assert!(limiter.check(Check::new(limit, "user:42")).now().unwrap().is_allowed());
        }
    }
    let mut bytes = Vec::new();
    limiter.store().save_to(&mut bytes).unwrap();
    let golden = GOLDEN.concat().replace(' ', "");
    let digits = golden.as_bytes().chunks(2).map(|two| str::from_utf8(two).unwrap());
    let golden: Vec<u8> = digits.map(|two| u8::from_str_radix(two, 16).unwrap()).collect();
    assert_eq!(bytes, golden);

    let (store, restored) = MemoryOptions::new().restore_from(clock, &bytes[..]).unwrap();
    assert_eq!((VERSION, restored.counters()), (1, 2), "{restored}");
    let limiter = Limiter::new(store);
    for limit in [&bucket, &log] {
        assert_eq!(limiter.peek(limit, "user:42").now().unwrap().remaining(), 6);
    }
}

#[test]
fn later_entries_take_precedence() {
    let header = header();
    let epoch = Epoch::new(header.epoch);
    let (name, limit) =
        (Fingerprint::new(7), Limit::token_bucket("api", "10/hour".parse().unwrap()).unwrap());
    let limit_tag = LimitTag::of(&limit);
    let bucket = |secs| State::whole_bucket(header.epoch + Span::from_secs(secs));
    let word =
        |secs| Word::EMPTY.with_limit_tag(limit_tag).with_state(&bucket(secs), epoch).unwrap();
    let record = |count| OverflowState {
        owner: Some(name),
        state: State::Window { start: header.epoch, end: header.epoch + Span::from_secs(9), count },
        recovered_at: header.epoch + Span::from_secs(9),
        share: 5,
    };
    // A word, then a record, then another, then a word again: each replaces the one before.
    let mut states = Vec::new();
    for last in 1..=4 {
        let mut bytes = Vec::new();
        let mut writer = Writer::begin(&mut bytes, &header).unwrap();
        for place in 1..=last {
            match place {
                1 => writer.word(name, word(20)),
                2 => writer.record(name, limit_tag, &record(2)),
                3 => writer.record(name, limit_tag, &record(3)),
                _ => writer.word(name, word(10)),
            }
            writer.flush().unwrap();
        }
        writer.end().unwrap();
        let (store, restored) = restored(&bytes);
        assert!(restored.fault().is_none(), "{restored}");
        assert_eq!((restored.counters(), store.len()), (1, 1));
        let word = store.table.find(name).unwrap().word;
        states.push(match word.record() {
            Some(record) => store.records.read(record, |record| record.state.clone()).unwrap(),
            None => word.state(store.epoch),
        });
        assert_eq!(word.limit_tag(), limit_tag);
    }
    assert_eq!(states, [bucket(20), record(2).state, record(3).state, bucket(10)]);
}

/// The checksums are valid, but no store ever writes this.
#[test]
fn impossible_entries_are_rejected() {
    let name = Fingerprint::new(7);
    let bad_words = [
        Word::EMPTY,
        Word::EMPTY.with_record(1),
        Word::from_bits(3 << 61 | 5),
        Word::from_bits(0x3FF << 48),
    ];
    for word in bad_words {
        let mut bytes = Vec::new();
        let mut writer = Writer::begin(&mut bytes, &header()).unwrap();
        writer.word(name, word);
        writer.end().unwrap();
        let (store, restored) = restored(&bytes);
        assert!(
            matches!(restored.fault(), Some(SnapshotReadError::Damaged)),
            "{word:?}: {restored}"
        );
        assert!(store.is_empty());
    }
}

#[test]
fn a_word_that_does_not_fit_any_more_is_a_record() {
    // Nine years ahead of an old epoch: decades ahead of ours, which is only possible in theory.
    let header = SnapshotHeader { epoch: Time::from_micros(3 << 50), ..header() };
    let word = Word::from_bits((1 << 48) - 1);
    let mut bytes = Vec::new();
    let mut writer = Writer::begin(&mut bytes, &header).unwrap();
    writer.word(Fingerprint::new(7), word);
    writer.end().unwrap();
    let (store, restored) = restored(&bytes);
    assert_eq!(restored.counters(), 1, "{restored}");
    let kept = store.table.find(Fingerprint::new(7)).unwrap().word.record().unwrap();
    let state = store.records.read(kept, |record| record.state.clone());
    assert_eq!(state, Some(word.state(Epoch::new(header.epoch))));
}

/// A file whose clock was an hour ahead of the one it is read under.
#[test]
fn shifted_counters_recover_earlier_and_calendar_windows_do_not() {
    let hour = Span::from_secs(3_600);
    let header = SnapshotHeader { taken: header().taken + hour, ..header() };
    let at = |secs| header.taken + Span::from_secs(secs);
    let window = State::Window { start: header.taken, end: at(9), count: 1 };
    let fraction = State::decode(&mut &fraction(at(9))[..]).unwrap();
    let mut bytes = Vec::new();
    let mut writer = Writer::begin(&mut bytes, &header).unwrap();
    for (name, state) in [(7, &window), (8, &fraction)] {
        let name = Fingerprint::new(name);
        let record = OverflowState {
            owner: Some(name),
            state: state.clone(),
            recovered_at: at(9),
            share: 1,
        };
        writer.record(name, LimitTag::from_bits(0), &record);
    }
    writer.end().unwrap();
    let (store, restored) = restored(&bytes);
    assert_eq!((restored.counters(), restored.ahead()), (2, hour));
    let recovered_at = |name| {
        let word = store.table.find(Fingerprint::new(name)).unwrap().word;
        store.records.read(word.record().unwrap(), |record| record.recovered_at).unwrap()
    };
    assert_eq!(recovered_at(7), at(9));
    assert_eq!(recovered_at(8) + hour, at(9));
}

/// A bucket that is full a third of a microsecond after a time, as bytes.
fn fraction(time: Time) -> Vec<u8> {
    let mut bytes = Vec::new();
    State::whole_bucket(time).encode(&mut bytes);
    bytes[0] = 2;
    bytes.extend([3, 1]);
    bytes
}

/// A writer that runs a callback after each write.
struct Interrupted<F> {
    bytes: Vec<u8>,
    after_each: F,
}

impl<F: FnMut()> Write for Interrupted<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.extend(bytes);
        (self.after_each)();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn taken_by(limiter: &Limiter<Memory<ManualClock>>, limit: &Limit, keys: std::ops::Range<u32>) {
    for key in keys {
        let key = key.to_le_bytes();
        assert!(limiter.check(Check::new(limit, &key)).now().unwrap().is_allowed());
    }
}

#[test]
fn no_key_is_missed_when_its_page_is_split_during_a_save() {
    const KEYS: u32 = 10_000;
    let limiter = Limiter::new(Memory::with_clock(ManualClock::default()));
    let limit = Limit::token_bucket("api", "10/hour".parse().unwrap()).unwrap();
    taken_by(&limiter, &limit, 0..KEYS);
    let mut new_keys = KEYS;
    // Pages not copied yet are split, which moves half of their keys to new pages.
    let after_each = || {
        let more = if new_keys < 20 * KEYS { KEYS } else { 0 };
        taken_by(&limiter, &limit, new_keys..new_keys + more);
        new_keys += more;
    };
    let mut out = Interrupted { bytes: Vec::new(), after_each };
    limiter.store().save_to(&mut out).unwrap();
    let (store, restored) = restored(&out.bytes);
    assert!(restored.fault().is_none(), "{restored}");
    for key in 0..KEYS {
        let key = key.to_le_bytes();
        let name = store.key.counter(&Check::new(&limit, &key));
        assert!(store.table.find(name).is_some(), "{key:?}");
    }
}

#[test]
fn a_locked_counter_is_waited_for() {
    let limiter = Limiter::new(Memory::with_clock(ManualClock::default()));
    let store = limiter.store();
    let bucket = Limit::token_bucket("api", "10/hour".parse().unwrap()).unwrap();
    let log = Limit::sliding_log("log", "10/hour".parse().unwrap()).unwrap();
    let checks = [Check::new(&bucket, "user:42"), Check::new(&log, "user:42")];
    for check in checks {
        assert!(limiter.check(check).now().unwrap().is_allowed());
    }
    let locked = checks.map(|check| store.table.find(store.key.counter(&check)).unwrap());
    let record = locked[1].word.record().unwrap();
    assert!(locked.iter().all(|found| found.cell.lock(found.word)));
    let state = store.records.take(record);
    let (sender, signs) = std::sync::mpsc::channel();
    let bytes = std::thread::scope(|scope| {
        let saving = scope.spawn(move || {
            let after_each = || sender.send(()).unwrap_or_default();
            let mut out = Interrupted { bytes: Vec::new(), after_each };
            store.save_to(&mut out).unwrap();
            out.bytes
        });
        // The save has begun; after a few yields it is where it has to wait.
        signs.recv().unwrap();
        (0..10_000).for_each(|_| std::thread::yield_now());
        let share = u16::MAX / 10;
        let recovered_at = log.recovered_at(&state);
        let owner = Some(store.key.counter(&checks[1]));
        store.records.put(record, OverflowState { owner, state, recovered_at, share });
        for found in locked {
            found.cell.unlock(found.word);
        }
        saving.join().unwrap()
    });
    let (store, restored) = restored(&bytes);
    assert_eq!(restored.counters(), 2, "{restored}");
    let limiter = Limiter::new(store);
    for limit in [&bucket, &log] {
        assert_eq!(limiter.peek(limit, "user:42").now().unwrap().remaining(), 9);
    }
}

#[test]
fn a_smaller_store_keeps_as_many_of_the_first_as_of_the_last() {
    let limiter = Limiter::new(Memory::with_clock(ManualClock::default()));
    let limit = Limit::token_bucket("api", "10/hour".parse().unwrap()).unwrap();
    taken_by(&limiter, &limit, 0..200_000);
    let mut bytes = Vec::new();
    limiter.store().save_to(&mut bytes).unwrap();
    let options = MemoryOptions::new().max_bytes(2 << 20);
    let (store, _) = options.restore_from(ManualClock::default(), &bytes[..]).unwrap();
    let mut kept = [0; 4];
    for key in 0..200_000_u32 {
        let name = store.key.counter(&Check::new(&limit, &key.to_le_bytes()));
        if store.table.find(name).is_some() {
            kept[usize::try_from(name.bits() >> 62).unwrap()] += 1;
        }
    }
    let (least, most) = (kept.iter().min().unwrap(), kept.iter().max().unwrap());
    assert!(least * 3 > most * 2, "{kept:?}");
}
