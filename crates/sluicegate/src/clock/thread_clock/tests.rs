//! The clock of a thread on a simulated machine, whose ticks pass only when it is moved.

use super::*;

/// A machine of 1 GHz with an operating system's clock that drifts.
struct SimulatedMachine {
    ticks: Cell<u64>,
    nanos: Cell<u64>,
    /// Parts per million that the operating system's clock is faster than the ticks.
    drift: Cell<i64>,
    sound: bool,
    /// Ticks between the two readings of a sample.
    interrupted: Cell<u64>,
    os_reads: Cell<u64>,
}

impl SimulatedMachine {
    fn new() -> Self {
        Self {
            ticks: Cell::new(1 << 40),
            nanos: Cell::new(1 << 50),
            drift: Cell::new(0),
            sound: true,
            interrupted: Cell::new(0),
            os_reads: Cell::new(0),
        }
    }

    fn pass(&self, ticks: u64) {
        self.ticks.set(self.ticks.get() + ticks);
        let drift = i64::try_from(ticks).unwrap() * self.drift.get() / 1_000_000;
        self.nanos.set(self.nanos.get() + ticks.strict_add_signed(drift));
    }

    /// Returns the readings of the operating system's clock while `act` runs.
    fn os_reads(&self, act: impl FnOnce()) -> u64 {
        let before = self.os_reads.get();
        act();
        self.os_reads.get() - before
    }
}

impl TimeSource for SimulatedMachine {
    fn has_sound_ticks(&self) -> bool {
        self.sound
    }

    fn ticks(&self) -> u64 {
        assert!(self.sound, "ticks that are not sound are not even read");
        self.ticks.get()
    }

    fn ticks_in_order(&self) -> u64 {
        self.pass(self.interrupted.get());
        self.ticks()
    }

    fn nanos(&self) -> u64 {
        self.os_reads.set(self.os_reads.get() + 1);
        self.nanos.get()
    }
}

/// A clock that uses ticks.
fn calibrated(machine: &SimulatedMachine) -> ThreadClock {
    let clock = ThreadClock::new();
    for _ in 0..3 {
        clock.nanos(machine);
        machine.pass(REFRESH_TICKS);
    }
    clock.nanos(machine);
    let reads = machine.os_reads(|| _ = clock.nanos(machine));
    assert_eq!(reads, 0, "ticks are used after two measurements that agree");
    clock
}

#[test]
fn ticks_follow_a_clock_that_is_adjusted() {
    let machine = SimulatedMachine::new();
    let clock = calibrated(&machine);
    let mut last = 0;
    for step in 0_u64..20_000 {
        // 500 ppm in either direction is the most that a clock is adjusted by.
        machine.drift.set(if step % 200 < 100 { 500 } else { -500 });
        machine.pass(997_001);
        let now = clock.nanos(&machine);
        assert!(now >= last, "never back");
        last = now;
        // The rate of the anchor before, for as long as an anchor lasts: 1000 ppm of 17 ms.
        let error = now.abs_diff(machine.nanos.get());
        assert!(error < 20_000, "step {step}: {error} ns");
    }
}

#[test]
fn a_steady_clock_is_followed_to_the_nanosecond() {
    let machine = SimulatedMachine::new();
    machine.drift.set(37);
    let clock = calibrated(&machine);
    let reads = machine.os_reads(|| {
        for _ in 0..1_000 {
            machine.pass(1_000_000);
            assert!(clock.nanos(&machine).abs_diff(machine.nanos.get()) <= 1);
        }
    });
    assert!(reads < 100, "{reads} readings of the operating system's clock in 1,000");
}

#[test]
fn a_suspended_machine_is_right_at_the_next_anchor() {
    let machine = SimulatedMachine::new();
    let clock = calibrated(&machine);
    // The operating system's clock includes an hour that the ticks do not.
    machine.nanos.set(machine.nanos.get() + 3_600_000_000_000);
    machine.pass(REFRESH_TICKS);
    assert_eq!(clock.nanos(&machine), machine.nanos.get());
    // The rate since the anchor before is wrong, and is not used.
    machine.pass(1_000_000);
    assert_eq!(clock.nanos(&machine), machine.nanos.get());
    for _ in 0..3 {
        machine.pass(REFRESH_TICKS);
        assert_eq!(clock.nanos(&machine), machine.nanos.get());
    }
    let reads = machine.os_reads(|| _ = clock.nanos(&machine));
    assert_eq!(reads, 0, "ticks are used again");
}

#[test]
fn a_machine_with_other_ticks_is_measured_again() {
    let machine = SimulatedMachine::new();
    let clock = calibrated(&machine);
    let before = clock.nanos(&machine);
    // Moved to a machine that has been up for less time, and has a faster clock.
    machine.ticks.set(1 << 30);
    machine.drift.set(250_000);
    for _ in 0..6 {
        assert_eq!(clock.nanos(&machine), machine.nanos.get());
        assert!(clock.nanos(&machine) >= before);
        machine.pass(REFRESH_TICKS);
    }
    machine.pass(1_000);
    clock.nanos(&machine);
    assert_eq!(machine.os_reads(|| _ = clock.nanos(&machine)), 0, "the new rate is used");
}

#[test]
fn time_does_not_go_back_with_the_sources() {
    let machine = SimulatedMachine::new();
    let clock = calibrated(&machine);
    let before = clock.nanos(&machine);
    machine.ticks.set(machine.ticks.get() - 5);
    machine.nanos.set(machine.nanos.get() - 1_000_000);
    assert_eq!(clock.nanos(&machine), before);
    machine.pass(2_000_000);
    assert_eq!(clock.nanos(&machine), machine.nanos.get());
}

#[test]
fn ticks_that_are_not_sound_are_never_read() {
    let machine = SimulatedMachine { sound: false, ..SimulatedMachine::new() };
    let clock = ThreadClock::new();
    for _ in 0..10 {
        machine.nanos.set(machine.nanos.get() + 10_000_000);
        assert_eq!(clock.nanos(&machine), machine.nanos.get());
    }
}

#[test]
fn a_reading_that_is_always_interrupted_leaves_the_clock_of_the_system() {
    let machine = SimulatedMachine::new();
    machine.interrupted.set(1 << 12);
    let clock = ThreadClock::new();
    for _ in 0..10 {
        machine.pass(REFRESH_TICKS);
        assert_eq!(clock.nanos(&machine), machine.nanos.get());
    }
}
