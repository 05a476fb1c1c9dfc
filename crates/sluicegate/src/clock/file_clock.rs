//! A clock that a test sets from outside the process.
//!
//! Only in builds with the feature `test-clock`.
//!
//! The variable `SLUICEGATE_TEST_CLOCK` names a file of eight bytes: microseconds since 1970,
//! little endian. Every reading of the clock reads the file, so that all processes that a test
//! starts see a new time as soon as it is written, and none of them moves by itself.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;

use sluicegate_core::Time;

/// Returns the time that a test has set for this process, if any.
pub(crate) fn time() -> Option<Time> {
    static FILE: OnceLock<Option<File>> = OnceLock::new();
    let file = FILE.get_or_init(|| File::open(std::env::var_os("SLUICEGATE_TEST_CLOCK")?).ok());
    let mut micros = [0; 8];
    file.as_ref()?.read_exact_at(&mut micros, 0).ok()?;
    Some(Time::from_micros(u64::from_le_bytes(micros)))
}
