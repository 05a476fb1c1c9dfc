//! The TSC clock on a simulated machine, whose ticks pass only when they are read.

use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use std::thread;

use super::*;

/// A machine of 1 GHz, so that a tick is a nanosecond.
struct SimulatedMachine {
    ticks: AtomicU64,
    /// Ticks between two reads.
    step: u64,
    sound: bool,
    /// Far enough back that the first segment is discarded.
    broken: AtomicBool,
}

impl SimulatedMachine {
    fn new(step: u64) -> Self {
        let (ticks, broken) = (AtomicU64::new(1 << 40), AtomicBool::new(false));
        Self { ticks, step, sound: true, broken }
    }

    fn pass(&self, ticks: u64) -> u64 {
        self.ticks.fetch_add(ticks, Relaxed) + ticks
    }
}

impl TimeSource for SimulatedMachine {
    fn has_sound_ticks(&self) -> bool {
        self.sound
    }

    fn ticks(&self) -> u64 {
        assert!(self.sound, "ticks that are not sound are not even read");
        let ticks = self.pass(self.step);
        if self.broken.load(Relaxed) { ticks - (1 << 39) } else { ticks }
    }

    fn ticks_in_order(&self) -> u64 {
        self.ticks()
    }

    /// Drifts up to 40 ppm around the ticks.
    fn nanos(&self) -> u64 {
        let ticks = self.ticks.load(Relaxed);
        let wave = (ticks >> 20) % 2_000;
        ticks + wave.min(2_000 - wave) * 40
    }
}

fn measured(step: u64) -> TscClock<SimulatedMachine> {
    let clock = TscClock::new(SimulatedMachine::new(step));
    clock.nanos();
    clock.source.pass(MEASURED_TICKS);
    clock.nanos();
    assert_eq!(clock.sequence.0.load(Relaxed), 1, "measured long enough");
    clock
}

fn off_by(clock: &TscClock<SimulatedMachine>) -> u64 {
    let before = clock.source.nanos();
    clock.nanos().abs_diff(before)
}

#[test]
fn uses_the_os_clock_until_the_rate_is_measured() {
    let clock = TscClock::new(SimulatedMachine::new(50));
    for _ in 0..1_000 {
        assert!(off_by(&clock) <= 1_000);
        assert_eq!(clock.sequence.0.load(Relaxed), 0);
    }
    clock.source.pass(MEASURED_TICKS);
    assert!(off_by(&clock) <= 5_000);
    assert_eq!(clock.sequence.0.load(Relaxed), 1);
}

#[test]
fn segments_follow_each_other_without_a_gap_or_a_step() {
    let clock = measured(1 << 14);
    let (mut last, mut sequence) = (clock.nanos(), 1);
    while sequence < 50 {
        let nanos = clock.nanos();
        assert!(nanos >= last, "{nanos} after {last}");
        assert!(nanos - last < 1 << 20, "{nanos} after {last}");
        last = nanos;
        sequence = clock.sequence.0.load(Relaxed);
        let slot = clock.slot(sequence);
        let (previous, current) = (slot.previous.load(), slot.current.load());
        if sequence > 1 {
            assert_eq!(current.start, previous.end());
        }
    }
}

#[test]
fn readers_never_wait_for_the_next_segment() {
    let clock = measured(100);
    let drawing = clock.phase.lock().unwrap();
    let start = clock.slot(1).current.load().start;
    // Within the last part of the segment, where the next one should be computed.
    let left = start + Segment::FRESH + 1 - clock.source.ticks.load(Relaxed);
    clock.source.pass(left);
    assert!(off_by(&clock) < 10_000);
    assert_eq!(clock.sequence.0.load(Relaxed), 1, "another thread computes the segment");
    drop(drawing);
    assert!(off_by(&clock) < 10_000);
    assert_eq!(clock.sequence.0.load(Relaxed), 2);
    assert!(off_by(&clock) < 10_000, "the previous segment is used until the next one starts");
}

#[test]
fn a_pause_is_as_long_as_the_clock_says() {
    let clock = measured(100);
    for pause in [Segment::LENGTH, 3_600_000_000_000, 30 * 86_400_000_000_000] {
        clock.source.pass(pause);
        assert!(off_by(&clock) < 5_000, "after {pause} ticks");
    }
}

#[test]
fn unsound_ticks_are_never_read() {
    let clock = TscClock::new(SimulatedMachine { sound: false, ..SimulatedMachine::new(100) });
    for _ in 0..100 {
        assert_eq!(off_by(&clock), 0);
        clock.source.pass(Segment::LENGTH);
    }
}

#[test]
fn clocks_that_cannot_be_read_together_are_not_compared() {
    let clock = TscClock::new(SimulatedMachine::new(1 << 20));
    clock.nanos();
    assert_eq!(clock.os_until.load(Relaxed), FOR_GOOD);
    assert_eq!(off_by(&clock), 0);
}

#[test]
fn ticks_that_go_back_are_never_trusted_again() {
    let clock = measured(100);
    clock.source.pass(Segment::LENGTH / 2);
    let before = clock.nanos();
    clock.source.broken.store(true, Relaxed);
    let mut last = before;
    for _ in 0..100 {
        let nanos = clock.nanos();
        assert!(nanos >= last, "{nanos} after {last}");
        last = nanos;
        clock.source.pass(1_000);
    }
    assert_eq!(clock.os_until.load(Relaxed), FOR_GOOD);
    assert_eq!(clock.sequence.0.load(Relaxed), 2, "readers of the segment see that it is over");
    clock.source.broken.store(false, Relaxed);
    clock.source.pass(Segment::LENGTH);
    assert!(clock.nanos() >= last + Segment::LENGTH, "and time goes on");
    assert!(clock.nanos() - before < 4 * Segment::LENGTH, "from about where it was");
}

/// A machine on which another segment is published while the ticks are read.
struct Interrupted {
    clock: OnceLock<&'static TscClock<Self>>,
    segment: Segment,
}

impl TimeSource for Interrupted {
    fn has_sound_ticks(&self) -> bool {
        true
    }

    fn ticks(&self) -> u64 {
        if let Some(clock) = self.clock.get().filter(|clock| clock.sequence.0.load(Relaxed) == 1) {
            clock.publish(2, self.segment, Segment { nanos: 7_000_000_000, ..self.segment });
        }
        self.segment.start
    }

    fn ticks_in_order(&self) -> u64 {
        self.ticks()
    }

    fn nanos(&self) -> u64 {
        0
    }
}

#[test]
fn a_line_that_changes_while_it_is_read_is_read_again() {
    let segment = Segment { start: 1 << 40, nanos: 5_000_000_000, rate: 1 << 32 };
    let source = Interrupted { clock: OnceLock::new(), segment };
    let clock: &TscClock<_> = Box::leak(Box::new(TscClock::new(source)));
    clock.os_until.store(1, Relaxed);
    clock.publish(1, segment, segment);
    assert!(clock.source.clock.set(clock).is_ok());
    assert_eq!(clock.nanos(), 7_000_000_000);
}

#[test]
fn time_never_goes_back_for_any_thread_or_between_them() {
    let clock = TscClock::new(SimulatedMachine::new(1 << 13));
    let latest = Mutex::new(0);
    thread::scope(|scope| {
        for thread in 0..4 {
            let (clock, latest) = (&clock, &latest);
            scope.spawn(move || {
                let mut last = 0;
                for reading in 0..100_000 {
                    let nanos = if reading % 2 == 0 {
                        let mut latest = latest.lock().unwrap();
                        let nanos = clock.nanos();
                        assert!(nanos >= *latest, "{nanos} after another thread's {latest}");
                        *latest = nanos;
                        nanos
                    } else {
                        clock.nanos()
                    };
                    assert!(nanos >= last, "{nanos} after {last}");
                    last = nanos;
                    // Some pauses are so long that no reader computes the next segment in time.
                    if thread == 0 && reading % 1_000 == 0 {
                        clock.source.pass(Segment::LENGTH * 3);
                    }
                }
            });
        }
    });
    assert!(clock.sequence.0.load(Relaxed) > 100, "lines were drawn meanwhile");
}
