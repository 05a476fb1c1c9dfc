//! A server's time of day, and shifting it.

use std::fs;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::poll::wait_until;
use crate::process::Process;
use crate::server::builder::clock_file;
use crate::server::{Server, locked};

impl Server {
    /// Shifts the time of day that the server sees to this many milliseconds after the real one, or
    /// before it. For a server with a [movable clock](crate::ServerBuilder::movable_clock).
    ///
    /// The shift is effective when this returns, unless the server is paused or not running: then
    /// it becomes effective when that ends.
    pub fn shift_clock(&self, milliseconds: i64) {
        assert!(self.setup.clock, "the server was not set up with a movable clock");
        let sign = if milliseconds < 0 { '-' } else { '+' };
        let distance = milliseconds.unsigned_abs();
        let shift = format!("{sign}{}.{:03}\n", distance / 1000, distance % 1000);
        // Renamed into place, so that it is never read half written.
        let written = self.folder.path().join("clock.new");
        fs::write(&written, shift)
            .and_then(|()| fs::rename(&written, clock_file(self.folder.path())))
            .expect("the server's folder can be written to");
        if locked(&self.process).as_ref().is_some_and(|process| !Process::is_paused(process)) {
            // Valkey reads the time of day only from time to time, and counts on from there in
            // between.
            wait_until("the server's clock has moved", Duration::from_secs(10), || {
                let before = now();
                let shown = self.time() - milliseconds;
                // Fractions of a millisecond are truncated on both sides.
                (before - 1..=now() + 1).contains(&shown)
            });
        }
    }

    /// The server's time, in milliseconds since 1970.
    fn time(&self) -> i64 {
        let answer = self.command(&["TIME"]);
        let part = |part: usize| answer.items()[part].text().parse::<i64>();
        let seconds = part(0).expect("seconds are a number");
        seconds * 1000 + part(1).expect("microseconds are a number") / 1000
    }
}

#[allow(clippy::disallowed_methods, reason = "compared with another process's clock")]
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970");
    i64::try_from(since.as_millis()).expect("it is before the year 292 million")
}
