//! Tests that truncated, modified and random tokens are refused without a panic.

use super::*;
use sluicegate_testkit::Rng;

fn each_algorithm() -> Vec<(Verifier, String)> {
    all_algorithms()
        .into_iter()
        .map(|(algorithm, source)| {
            let verifier = verifier(&[algorithm], &[source]).expect("a key that fits");
            (verifier, token(algorithm, &json!({"sub": "ada"})))
        })
        .collect()
}

#[test]
fn refuses_a_token_cut_at_any_byte() {
    for (verifier, token) in each_algorithm() {
        for length in 0..token.len() {
            let (head, tail) = token.split_at(length);
            assert!(subject(&verifier, head).is_err(), "first {length} of {token}");
            if length > 0 {
                assert!(subject(&verifier, tail).is_err(), "without the first {length}");
            }
        }
        assert!(subject(&verifier, &token).is_ok());
    }
}

#[test]
fn refuses_a_token_with_any_bit_flipped() {
    for (verifier, token) in each_algorithm() {
        let mut bytes = token.into_bytes();
        for at in 0..bytes.len() {
            for bit in 0..8 {
                bytes[at] ^= 1 << bit;
                assert!(subject(&verifier, &bytes).is_err(), "bit {bit} of byte {at}");
                bytes[at] ^= 1 << bit;
            }
        }
        assert!(subject(&verifier, &bytes).is_ok());
    }
}

#[test]
fn refuses_a_token_with_any_byte_put_in_its_place() {
    let token = token(Algorithm::HS256, &json!({"sub": "ada"})).into_bytes();
    let verifier = hs256();
    for at in 0..token.len() {
        for byte in 0..=u8::MAX {
            let mut changed = token.clone();
            changed[at] = byte;
            assert_eq!(subject(&verifier, &changed).is_ok(), changed == token, "{byte} at {at}");
        }
    }
}

#[test]
fn refuses_other_spellings_of_a_good_token() {
    let token = token(Algorithm::HS256, &json!({"sub": "ada"}));
    let (message, signature) = token.rsplit_once('.').expect("a token");
    // 32 bytes are 43 letters, of whose last only four bits count.
    let (start, last) = signature.split_at(42);
    for other in ('A'..='Z').chain('a'..='z').chain('0'..='9').chain(['-', '_']) {
        let expected = last == other.to_string();
        let spelled = format!("{message}.{start}{other}");
        assert_eq!(subject(&hs256(), spelled).is_ok(), expected, "{other}");
    }
    assert!(subject(&hs256(), format!("{token}=")).is_err(), "padding");
    assert!(subject(&hs256(), format!("{message}.{start}\n{last}")).is_err(), "a line break");
}

#[test]
fn reads_tokens_of_up_to_sixteen_kibibytes() {
    let unverified = Verifier::unverified();
    // An unverified signature can have any length.
    let start = format!("x.{}.", encode(br#"{"sub":"ada"}"#));
    let of_length = |length: usize| format!("{start}{}", "x".repeat(length - start.len()));
    for scheme in ["", "Bearer   "] {
        let at_the_limit = format!("{scheme}{}", of_length(16_384));
        assert_eq!(subject(&unverified, at_the_limit).as_deref(), Ok("ada"));
        for length in [16_385, 1 << 20] {
            let beyond = format!("{scheme}{}", of_length(length));
            assert_eq!(subject(&unverified, beyond), Err(TokenRejection::Malformed), "{length}");
        }
    }
    let long = token(Algorithm::HS256, &json!({"sub": "ada", "filler": "x".repeat(12_000)}));
    assert_eq!(subject(&hs256(), long).as_deref(), Ok("ada"), "long, but signed");
}

#[test]
fn random_bytes_never_panic() {
    let verifiers: Vec<_> = each_algorithm().into_iter().map(|(verifier, _)| verifier).collect();
    let alphabet = b"Bearer eyJ.{}\"alg:HS256,\xff\0=-_ \t";
    let mut rng = Rng::new(1);
    for round in 0..3_000_usize {
        let made_up: Vec<u8> = (0..round % 40).map(|_| *rng.pick(alphabet)).collect();
        for verifier in &verifiers {
            assert!(subject(verifier, &made_up).is_err());
        }
        let _ = subject(&Verifier::unverified(), &made_up);
    }
}
