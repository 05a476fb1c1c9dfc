//! The library from outside: the conformance suite on the plain store, and the limiter.

mod it {
    mod conformance;
}
