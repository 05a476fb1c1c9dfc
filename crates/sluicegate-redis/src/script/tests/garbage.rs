//! Tests that malformed replies are errors.

use redis::Value;
use sluicegate_core::{ChargeId, Check, Limit, Ruling, Set, State, StateError, Time};

use crate::script::explain::Disagreement;
use crate::script::reply::{MalformedReply, ScriptRuling, SetReply};
use crate::script::{EncodedSet, KeySpace, ScriptCall, explain};
use sluicegate_testkit::Rng;

const TAG: u64 = 77;

/// A call of two sets with one cell each.
fn call() -> ScriptCall {
    let limit = Limit::token_bucket("a", "5/min".parse().unwrap()).unwrap();
    let check = Check::new(&limit, "x");
    let encoded = EncodedSet::new(
        &Set::one(&check, ChargeId::from_bits(1)),
        &KeySpace::new("t:", [0; 32], 16),
    );
    ScriptCall::of([&encoded, &encoded])
}

fn bytes(bytes: &[u8]) -> Value {
    Value::BulkString(bytes.to_vec())
}

fn good() -> Vec<Value> {
    vec![
        bytes(b"77"),
        Value::Int(1_767_225_600_000_000),
        Value::Int(1),
        Value::Int(1_767_225_660_000_000),
        Value::Int(0),
        // A settlement record, until 300.
        bytes(&[0x92, 8, 0xcd, 1, 44]),
    ]
}

#[test]
fn a_valid_reply_is_parsed() {
    let answers = call().read(TAG, Value::Array(good())).unwrap();
    let now = Time::from_micros(1_767_225_600_000_000);
    assert_eq!(answers[0].now, now);
    assert_eq!(answers[0].ruling, ScriptRuling::Decided(Ruling::Admitted));
    let full_at = Time::from_micros(1_767_225_660_000_000);
    assert_eq!(answers[0].states[..], [State::whole_bucket(full_at)]);
    assert_eq!(answers[1].ruling, ScriptRuling::Decided(Ruling::Refused));
    assert_eq!(answers[1].states[..], [State::Settled { until: Time::from_micros(300) }]);
}

#[test]
fn malformed_replies_are_errors() {
    let with = |index: usize, value: Value| {
        let mut values = good();
        values[index] = value;
        Value::Array(values)
    };
    let shape = |expected, found| MalformedReply::Shape { expected, found };
    let state = |bytes: &[u8]| with(5, self::bytes(bytes));
    let cases = [
        (Value::Nil, shape("a list", "nothing")),
        (Value::Okay, shape("a list", "a text")),
        (Value::Array(Vec::new()), shape("the tag of a call", "the end")),
        (Value::Array(good()[..5].to_vec()), shape("a state", "the end")),
        (Value::Array([good(), vec![Value::Nil]].concat()), shape("the end", "nothing")),
        (with(0, bytes(b"78")), MalformedReply::OfAnotherCall),
        (with(0, Value::Int(77)), shape("the tag of a call", "a number")),
        (with(1, Value::Int(-1)), shape("a time", "a negative number")),
        (with(1, bytes(b"1")), shape("a time", "bytes")),
        (with(2, Value::Int(4)), shape("a ruling", "a number")),
        (with(3, Value::Int(-5)), shape("a state", "a negative number")),
        (with(3, Value::Array(Vec::new())), shape("a state", "a list")),
        (state(b""), MalformedReply::State(StateError::Incomplete)),
        (state(b"x"), shape("a state", "something else")),
        (state(&[0x90]), MalformedReply::State(StateError::Incomplete)),
        (state(&[0x91, 11]), MalformedReply::State(StateError::UnknownTag { found: 11 })),
        (state(&[0x94, 9, 1, 2, 0]), MalformedReply::State(StateError::Misspelled)),
        (state(&[0x94, 9, 1, 2, 1]), MalformedReply::State(StateError::Incomplete)),
        (state(&[0x92, 8, 0xc0]), shape("a whole number in a state", "something else")),
        (state(&[0x92, 8, 1, 1]), shape("the end of a state", "more")),
        (state(&[0x93, 8, 1, 1]), shape("the end of a state", "more")),
        (state(&[0x95, 5, 7, 1, 6, 1]), shape("times in order", "an earlier one")),
        (state(&[0x94, 6, 7, 1, 1]), shape("an id", "something else")),
        (state(&[0xdd, 255, 255, 255, 255, 5]), MalformedReply::State(StateError::Incomplete)),
    ];
    for (reply, expected) in cases {
        assert_eq!(call().read(TAG, reply.clone()), Err(expected), "{reply:?}");
    }
}

#[test]
fn errors_name_the_finding_and_the_fix() {
    let texts = [
        (MalformedReply::OfAnotherCall, "it belongs to another call"),
        (
            MalformedReply::Shape { expected: "a time", found: "bytes" },
            "found bytes, expected a time",
        ),
        (
            MalformedReply::State(StateError::Incomplete),
            "cannot read a state: the bytes end too soon; \
             if something else writes keys with this prefix, choose another prefix",
        ),
    ];
    for (error, text) in texts {
        assert_eq!(error.to_string(), format!("cannot parse the answer of the store: {text}"));
    }
    let disagreement = Disagreement {
        script: ScriptRuling::Decided(Ruling::Admitted),
        core: Some(Ruling::Refused),
    };
    assert_eq!(
        disagreement.to_string(),
        "the store admitted a set that this node refused, given the same states; \
         make sure that all nodes run the same version"
    );
}

#[test]
fn no_bytes_make_parsing_panic() {
    let mut rng = Rng::new(5);
    let samples: [&[u8]; 6] = [
        &[0x94, 2, 9, 1, 3],
        &[0x96, 4, 10, 3, 1, 0, 2],
        &[0x95, 5, 7, 1, 9, 2],
        &[0x94, 6, 7, 1, 0xb0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16],
        &[0x95, 7, 9, 1, 5, 2],
        &[0x98, 9, 9, 1, 1, 4, 1, 5, 2],
    ];
    let mut read = 0;
    for _ in 0..100_000 {
        let mut state = rng.pick(&samples).to_vec();
        for _ in 0..rng.below(4) {
            let index = usize::try_from(rng.below(state.len() as u64)).unwrap();
            state[index] = u8::try_from(rng.below(256)).unwrap();
        }
        state.truncate(usize::try_from(1 + rng.below(24)).unwrap());
        let mut values = good();
        values[5] = Value::BulkString(state);
        read += usize::from(call().read(TAG, Value::Array(values)).is_ok());
    }
    assert!(read > 1_000, "some of them are states: {read}");
}

#[test]
fn a_different_ruling_is_an_error() {
    let limit = Limit::token_bucket("a", "5/min".parse().unwrap()).unwrap();
    let check = Check::new(&limit, "x");
    let set = Set::one(&check, ChargeId::from_bits(1));
    let answer = |ruling, cells: usize| SetReply {
        now: Time::from_micros(1),
        ruling,
        states: std::iter::repeat_n(State::Vacant, cells).collect(),
    };
    let refused = ScriptRuling::Decided(Ruling::Refused);
    let explained =
        |ruling, cells| explain(&set, &mut answer(ruling, cells), &mut [None]).map(|_| ());
    assert_eq!(explained(ScriptRuling::Decided(Ruling::Admitted), 1), Ok(()));
    let wrong = Disagreement { script: refused, core: Some(Ruling::Admitted) };
    assert_eq!(explained(refused, 1), Err(wrong));
    assert_eq!(explained(refused, 2), Err(Disagreement { script: refused, core: None }));
    assert!(explained(ScriptRuling::NotPlain, 1).is_err());
}
