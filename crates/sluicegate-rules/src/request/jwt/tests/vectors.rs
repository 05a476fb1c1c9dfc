//! Tests with the signed example tokens of RFC 7515 and RFC 8037.

use super::*;

/// `{"iss":"joe", "exp":1300819380, "http://example.com/is_root":true}`, as the RFC spaces it.
const PAYLOAD: &str = concat!(
    "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFt",
    "cGxlLmNvbS9pc19yb290Ijp0cnVlfQ",
);

fn check(algorithm: Algorithm, key: &Value, header: &str, signature: &str) {
    let set = json!({"keys": [key]}).to_string();
    let key = NamedKey::from(KeySource::Jwks(set.as_bytes()));
    let verifier =
        Verifier::new(&[algorithm], &[key], Some("joe".to_owned()), Vec::new(), Span::ZERO)
            .expect("the key of the RFC");
    let token = format!("Bearer {header}.{PAYLOAD}.{signature}");
    let expiry = 1_300_819_380_000_000;
    let claims = verifier.claims(token.as_bytes(), Time::from_micros(expiry - 1)).expect("valid");
    assert_eq!(claims.text("http://example.com/is_root").as_deref(), Some("true"));
    assert_eq!(claims.text("exp").as_deref(), Some("1300819380"));
    let late = verifier.claims(token.as_bytes(), Time::from_micros(expiry));
    assert_eq!(late.err(), Some(TokenRejection::Expired));
}

#[test]
fn believes_rfc_7515_appendix_a1_signed_with_hs256() {
    let secret =
        "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow";
    let key = json!({"kty": "oct", "k": secret});
    let header = "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9";
    check(Algorithm::HS256, &key, header, "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk");
}

#[test]
fn believes_rfc_7515_appendix_a2_signed_with_rs256() {
    let modulus = concat!(
        "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt",
        "0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSX",
        "ndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5",
        "IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ",
    );
    let signature = concat!(
        "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W",
        "2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkS",
        "jtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnv",
        "Wh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw",
    );
    let key = json!({"kty": "RSA", "n": modulus, "e": "AQAB"});
    check(Algorithm::RS256, &key, "eyJhbGciOiJSUzI1NiJ9", signature);
}

#[test]
fn believes_rfc_7515_appendix_a3_signed_with_es256() {
    let key = json!({
        "kty": "EC",
        "crv": "P-256",
        "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
        "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
    });
    let signature =
        "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";
    check(Algorithm::ES256, &key, "eyJhbGciOiJFUzI1NiJ9", signature);
}

#[test]
fn takes_the_signature_of_rfc_8037_appendix_a4_though_its_payload_holds_no_claims() {
    let key = json!({
        "kty": "OKP",
        "crv": "Ed25519",
        "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
    });
    let set = json!({"keys": [key]}).to_string();
    let verifier =
        verifier(&[Algorithm::EdDSA], &[KeySource::Jwks(set.as_bytes())]).expect("the RFC's key");
    let message = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc";
    let signature =
        "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg";
    let outcome = subject(&verifier, format!("{message}.{signature}"));
    assert_eq!(outcome, Err(TokenRejection::Malformed), "which is only seen past the signature");
    let wrong = signature.replacen('h', "i", 1);
    assert_eq!(subject(&verifier, format!("{message}.{wrong}")), Err(TokenRejection::Signature));
}
