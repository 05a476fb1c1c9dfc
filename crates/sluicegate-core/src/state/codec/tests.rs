use super::*;
use crate::receipt::ChargeId;

fn at(micros: u64) -> Time {
    Time::computed(micros)
}

fn stamps(stamps: &[(u64, u64)]) -> Vec<Stamp> {
    stamps.iter().map(|(micros, units)| Stamp { at: at(*micros), units: *units }).collect()
}

fn holders(list: &[(u128, u64, u64)]) -> State {
    let holder = |(id, expires, units): &(u128, u64, u64)| Holder {
        id: ChargeId::from_bits(*id),
        expires: at(*expires),
        units: *units,
    };
    let units = list.iter().map(|(_, _, units)| units).sum();
    State::Holders(Box::new(Holders { list: list.iter().map(holder).collect(), units }))
}

fn trying(failures: &[(u64, u64)], attempts: &[(u64, u64)]) -> State {
    let (failures, attempts) = (stamps(failures), stamps(attempts));
    State::Cooling(Box::new(Cooling { failures, blocked_until: at(7), streak: 1, attempts }))
}

fn cooling(failures: &[(u64, u64)], blocked_until: u64, streak: u32) -> State {
    let (failures, blocked_until) = (stamps(failures), at(blocked_until));
    State::Cooling(Box::new(Cooling { failures, blocked_until, streak, attempts: Vec::new() }))
}

fn blocks(length: u64, newest: u64, counts: &[u64]) -> State {
    State::Blocks(Box::new(Blocks { length, newest, counts: counts.into() }))
}

fn bucket(micros: u64, fraction: u64, parts: u64) -> State {
    State::Bucket { full_at: ExactTime { micros, parts: fraction }, parts }
}

fn encoded(state: &State) -> Vec<u8> {
    let mut bytes = Vec::new();
    state.encode(&mut bytes);
    bytes
}

/// Existing files contain these bytes: if this fails, the code is wrong and not the test.
#[test]
fn the_encoding_of_states_is_stable() {
    let id = 0x0102_0304_0506_0708_090a_0b0c_0d0e_0f10;
    let known: [(State, &[u8]); 16] = [
        (State::Vacant, &[0]),
        (State::whole_bucket(at(0)), &[1, 0]),
        // 2026-01-01T00:00:00Z
        (
            State::whole_bucket(at(1_767_225_600_000_000)),
            &[1, 0x80, 0x80, 0x81, 0xb1, 0x84, 0xe9, 0x91, 0x03],
        ),
        (bucket(300, 6, 7), &[2, 0xac, 0x02, 7, 6]),
        (bucket(300, 0, 7), &[2, 0xac, 0x02, 7, 0]),
        (State::Window { start: at(60), end: at(120), count: 5 }, &[3, 60, 60, 5]),
        (blocks(10, 300, &[1, 0, 200]), &[4, 10, 0xac, 0x02, 3, 1, 0, 0xc8, 0x01]),
        (State::Log(stamps(&[])), &[5, 0]),
        (State::Log(stamps(&[(100, 1), (105, 130)])), &[5, 2, 100, 1, 5, 0x82, 0x01]),
        (
            holders(&[(id, 100, 3), (1, 100, 1)]),
            &[
                6, 2, 100, 3, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 0, 1, 0, 0, 0,
                0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1,
            ],
        ),
        (cooling(&[], 100, 3), &[7, 0, 100, 3]),
        (cooling(&[(100, 2)], 0, 0), &[7, 1, 100, 2, 0, 0]),
        (cooling(&[(0, 2)], 0, 300), &[7, 1, 0, 2, 0, 0xac, 0x02]),
        (State::Settled { until: at(77) }, &[8, 77]),
        (trying(&[(100, 2)], &[(90, 1), (95, 3)]), &[9, 1, 100, 2, 7, 1, 2, 90, 1, 5, 3]),
        (trying(&[], &[(90, 1)]), &[9, 0, 7, 1, 1, 90, 1]),
    ];
    for (state, bytes) in known {
        assert_eq!(encoded(&state), bytes, "{state:?}");
        let mut left = bytes;
        assert_eq!(State::decode(&mut left), Ok(state));
        assert!(left.is_empty());
    }
}

#[test]
fn the_largest_states_are_read() {
    let counts = [vec![1], vec![0; 59], vec![MOST_UNITS - 1]].concat();
    let large = [
        State::whole_bucket(at(LATEST)),
        bucket(LATEST, Quota::MAX_AMOUNT - 1, Quota::MAX_AMOUNT),
        State::Window { start: at(LATEST - 9), end: at(LATEST), count: MOST_UNITS },
        blocks(Span::MAX.as_micros(), LATEST / Span::MAX.as_micros(), &[MOST_UNITS, 0]),
        blocks(1, LATEST, &counts),
        State::Log((0..2_000).map(|micros| Stamp { at: at(micros), units: 1 }).collect()),
        State::Log(stamps(&[(LATEST, 2_000)])),
        holders(&[(u128::MAX, LATEST, MOST_UNITS)]),
        cooling(&[(LATEST, 2_000)], LATEST, u32::MAX),
        State::Settled { until: at(LATEST) },
        trying(&[(LATEST, 2_000)], &[(LATEST, 2_000)]),
    ];
    for state in large {
        assert_eq!(State::decode(&mut &encoded(&state)[..]), Ok(state));
    }
}

#[test]
fn states_that_no_limit_leaves_behind_are_rejected() {
    let wrong: [(State, &str, u64); 22] = [
        (State::whole_bucket(at(LATEST + 1)), "time of a bucket", LATEST + 1),
        (State::Bucket { full_at: ExactTime::default(), parts: 0 }, "parts to a microsecond", 0),
        (bucket(1, 0, Quota::MAX_AMOUNT + 1), "parts to a microsecond", Quota::MAX_AMOUNT + 1),
        (bucket(1, 7, 7), "parts of a microsecond", 7),
        (State::Window { start: at(5), end: at(5), count: 1 }, "length of a window", 0),
        (
            State::Window { start: at(5), end: at(LATEST + 1), count: 1 },
            "length of a window",
            LATEST - 4,
        ),
        (State::Window { start: at(5), end: at(6), count: 0 }, "count of a window", 0),
        (
            State::Window { start: at(5), end: at(6), count: MOST_UNITS + 1 },
            "count of a window",
            MOST_UNITS + 1,
        ),
        (blocks(0, 5, &[1, 0]), "length of a block", 0),
        (blocks((1 << 50) + 1, 0, &[1, 0]), "length of a block", (1 << 50) + 1),
        (blocks(1 << 50, 8, &[1, 0]), "index of the newest block", 8),
        (blocks(1, 5, &[1]), "number of blocks", 1),
        (blocks(1, 100, &[1; 62]), "number of blocks", 62),
        (blocks(1, 5, &[0, 1]), "count of a block", 0),
        (blocks(1, 5, &[1, MOST_UNITS]), "count of a block", MOST_UNITS),
        (blocks(1, 0, &[1, 1]), "count of a block", 1),
        (State::Log(stamps(&[(5, 0)])), "units of a stamp", 0),
        (State::Log(stamps(&[(5, 1), (5, 1)])), "time of a stamp", 0),
        (State::Log(stamps(&[(LATEST, 1), (LATEST + 1, 1)])), "time of a stamp", 1),
        (State::Log(stamps(&[(5, 1), (6, 2_000)])), "units of a stamp", 2_000),
        (holders(&[(1, 5, 0)]), "units of a holder", 0),
        (holders(&[(1, 5, 1), (2, 5, MOST_UNITS)]), "units of a holder", MOST_UNITS),
    ];
    for (state, expected, number) in wrong {
        let bytes = encoded(&state);
        let mut left = &bytes[..];
        match State::decode(&mut left) {
            Err(StateError::OutOfRange { part, found, .. }) => {
                assert_eq!((part, found), (expected, number), "{state:?}");
            }
            other => panic!("{other:?} of {state:?}"),
        }
        assert_eq!(left, bytes, "nothing is taken off");
    }
    assert_eq!(State::decode(&mut &[10, 0][..]), Err(StateError::UnknownTag { found: 10 }));
    let no_attempts = State::decode(&mut &[9, 0, 7, 1, 0][..]);
    assert_eq!(no_attempts, Err(StateError::Misspelled), "that is another tag");
    let streak = [7, 0, 0, 0x80, 0x80, 0x80, 0x80, 0x10];
    assert!(State::decode(&mut &streak[..]).is_err(), "2^32 blocks in a row");
}

#[test]
fn a_length_is_limited_by_the_bytes_available() {
    for (tag, room) in [(HOLDERS, 18), (LOG, 2)] {
        let mut bytes = vec![tag];
        varint::put(&mut bytes, if tag == LOG { 1_999 } else { 1 << 60 });
        bytes.extend(vec![1; room]);
        assert_eq!(State::decode(&mut &bytes[..]), Err(StateError::Incomplete), "{tag}");
    }
}

#[test]
fn states_follow_each_other() {
    let states = [State::Vacant, bucket(5, 1, 2), State::Log(stamps(&[(5, 1)])), State::Vacant];
    let mut bytes = Vec::new();
    for state in &states {
        state.encode(&mut bytes);
    }
    let mut left = &bytes[..];
    for state in states {
        assert_eq!(State::decode(&mut left), Ok(state));
    }
    assert_eq!(State::decode(&mut left), Err(StateError::Incomplete));
}

#[test]
fn errors_contain_the_value() {
    let said = |bytes: &[u8]| State::decode(&mut &*bytes).unwrap_err().to_string();
    assert_eq!(said(&[]), "cannot read a state: the bytes end too soon");
    assert_eq!(said(&[10]), "cannot read a state: no kind of state has the tag 10");
    assert_eq!(
        said(&[1, 0x80, 0]),
        "cannot read a state: a number is not written in the one way it can be"
    );
    assert_eq!(
        said(&[2, 5, 7, 7]),
        "cannot read a state: parts of a microsecond: found 7, expected 0 to 6"
    );
}
