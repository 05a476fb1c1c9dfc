//! The core from outside: the vectors, the oracle's walks, and the bounds it promises.

mod it {
    mod contract;
}
