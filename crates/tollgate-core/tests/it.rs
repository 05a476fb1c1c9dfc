//! The core from outside: the vectors, the oracle's walks, and the bounds it promises.

mod it {
    mod bucket_bounds;
    mod concurrency_bounds;
    mod contract;
    mod counter;
    mod honesty;
    mod keys;
    mod quotas;
    mod set_bounds;
    mod window_bounds;
}
