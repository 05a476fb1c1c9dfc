//! Asserts that any bytes can be restored as a snapshot.
//!
//! The result is a store, a one-line report, and content that can be saved and restored again.
//!
//! Random bytes rarely have the right checksums, so the same bytes are also read as blocks, to
//! which the right ones are added.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sluicegate::{Clock, ManualClock, MemoryOptions};
use sluicegate_fuzz::Bytes;

const MAGIC: &[u8] = b"SLUICEGATE";

fuzz_target!(|data: &[u8]| {
    restore(data);
    if !data.starts_with(MAGIC) {
        restore(&sealed(data));
    }
});

fn restore(file: &[u8]) {
    let clock = ManualClock::default();
    let options = MemoryOptions::new().max_bytes(MemoryOptions::MIN_BYTES);
    let (store, restored) = options.clone().restore_from(clock.clone(), file).unwrap();
    assert!(!restored.to_string().contains('\n'), "{restored}");
    assert!(store.len() as u64 <= restored.counters(), "{restored}");

    let mut bytes = Vec::new();
    let saved = store.save_to(&mut bytes).unwrap();
    let (again, restored) = options.restore_from(clock, &bytes[..]).unwrap();
    assert!(restored.fault().is_none(), "{restored}");
    assert_eq!(saved.counters, restored.counters());
    if store.forgotten() == 0 {
        assert_eq!((saved.counters, again.len()), (store.len() as u64, store.len()));
    }
}

/// A file of which only the checksums are certainly right.
fn sealed(data: &[u8]) -> Vec<u8> {
    let mut bytes = Bytes::new(data);
    let now = ManualClock::default().now().as_micros();
    let mut file = MAGIC.to_vec();
    file.extend(1_u32.to_le_bytes());
    // Epochs in the distant past to the distant future, times before and after ours.
    let (epoch, taken) = (now ^ bytes.number(u64::MAX), now ^ bytes.number(u64::MAX));
    for number in [1, 2, epoch, taken, u64::from(bytes.byte())] {
        file.extend(number.to_le_bytes());
    }
    file.extend(crc32fast::hash(&file).to_le_bytes());
    while !bytes.is_empty() {
        let (kind, entries, length) = (bytes.choice(4), bytes.choice(8), bytes.byte());
        let content: Vec<u8> = (0..length).map(|_| bytes.byte()).collect();
        let mut block = Vec::new();
        for number in [kind as u32, entries as u32, u32::from(length)] {
            block.extend(number.to_le_bytes());
        }
        let checksum = crc32fast::hash(&[&block[..], &content].concat());
        file.extend(block);
        file.extend(checksum.to_le_bytes());
        file.extend(content);
    }
    file
}
