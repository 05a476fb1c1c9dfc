//! A dial on an invented machine, whose ticks pass only when somebody looks at them.

use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use std::thread;

use super::*;

/// A machine of 1 GHz, so that a tick is a nanosecond.
struct Invented {
    ticks: AtomicU64,
    /// Ticks between two looks.
    pace: u64,
    sound: bool,
    /// Far enough back that the first line is broken off.
    broken: AtomicBool,
}

impl Invented {
    fn new(pace: u64) -> Self {
        let (ticks, broken) = (AtomicU64::new(1 << 40), AtomicBool::new(false));
        Self { ticks, pace, sound: true, broken }
    }

    fn pass(&self, ticks: u64) -> u64 {
        self.ticks.fetch_add(ticks, Relaxed) + ticks
    }
}

impl Machine for Invented {
    fn has_sound_ticks(&self) -> bool {
        self.sound
    }

    fn ticks(&self) -> u64 {
        assert!(self.sound, "ticks that are not sound are not even read");
        let ticks = self.pass(self.pace);
        if self.broken.load(Relaxed) { ticks - (1 << 39) } else { ticks }
    }

    fn ticks_in_order(&self) -> u64 {
        self.ticks()
    }

    /// Wanders up to 40 ppm around the ticks.
    fn nanos(&self) -> u64 {
        let ticks = self.ticks.load(Relaxed);
        let wave = (ticks >> 20) % 2_000;
        ticks + wave.min(2_000 - wave) * 40
    }
}

fn watched(pace: u64) -> Dial<Invented> {
    let dial = Dial::new(Invented::new(pace));
    dial.nanos();
    dial.machine.pass(WATCHED);
    dial.nanos();
    assert_eq!(dial.turn.0.load(Relaxed), 1, "watched long enough");
    dial
}

fn off_by(dial: &Dial<Invented>) -> u64 {
    let before = dial.machine.nanos();
    dial.nanos().abs_diff(before)
}

#[test]
fn tells_the_clock_s_time_until_the_ticks_have_been_watched() {
    let dial = Dial::new(Invented::new(50));
    for _ in 0..1_000 {
        assert!(off_by(&dial) <= 1_000);
        assert_eq!(dial.turn.0.load(Relaxed), 0);
    }
    dial.machine.pass(WATCHED);
    assert!(off_by(&dial) <= 5_000);
    assert_eq!(dial.turn.0.load(Relaxed), 1);
}

#[test]
fn draws_line_after_line_without_a_gap_or_a_step() {
    let dial = watched(1 << 14);
    let (mut last, mut turn) = (dial.nanos(), 1);
    while turn < 50 {
        let nanos = dial.nanos();
        assert!(nanos >= last, "{nanos} after {last}");
        assert!(nanos - last < 1 << 20, "{nanos} after {last}");
        last = nanos;
        turn = dial.turn.0.load(Relaxed);
        let slot = dial.slot(turn);
        let (previous, current) = (slot.previous.load(), slot.current.load());
        if turn > 1 {
            assert_eq!(current.start, previous.end());
        }
    }
}

#[test]
fn nobody_waits_while_somebody_else_draws() {
    let dial = watched(100);
    let drawing = dial.stage.lock().unwrap();
    let start = dial.slot(1).current.load().start;
    // In the last stretch, which is when the next line should be drawn.
    let left = start + Line::FRESH + 1 - dial.machine.ticks.load(Relaxed);
    dial.machine.pass(left);
    assert!(off_by(&dial) < 10_000);
    assert_eq!(dial.turn.0.load(Relaxed), 1, "somebody else is at it");
    drop(drawing);
    assert!(off_by(&dial) < 10_000);
    assert_eq!(dial.turn.0.load(Relaxed), 2);
    assert!(off_by(&dial) < 10_000, "the line before is told until the next one starts");
}

#[test]
fn a_pause_is_as_long_as_the_clock_says() {
    let dial = watched(100);
    for pause in [Line::LENGTH, 3_600_000_000_000, 30 * 86_400_000_000_000] {
        dial.machine.pass(pause);
        assert!(off_by(&dial) < 5_000, "after {pause} ticks");
    }
}

#[test]
fn unsound_ticks_are_never_read() {
    let dial = Dial::new(Invented { sound: false, ..Invented::new(100) });
    for _ in 0..100 {
        assert_eq!(off_by(&dial), 0);
        dial.machine.pass(Line::LENGTH);
    }
}

#[test]
fn clocks_that_cannot_be_read_together_are_not_compared() {
    let dial = Dial::new(Invented::new(1 << 20));
    dial.nanos();
    assert_eq!(dial.os_until.load(Relaxed), FOR_GOOD);
    assert_eq!(off_by(&dial), 0);
}

#[test]
fn ticks_that_go_back_are_never_trusted_again() {
    let dial = watched(100);
    dial.machine.pass(Line::LENGTH / 2);
    let before = dial.nanos();
    dial.machine.broken.store(true, Relaxed);
    let mut last = before;
    for _ in 0..100 {
        let nanos = dial.nanos();
        assert!(nanos >= last, "{nanos} after {last}");
        last = nanos;
        dial.machine.pass(1_000);
    }
    assert_eq!(dial.os_until.load(Relaxed), FOR_GOOD);
    assert_eq!(dial.turn.0.load(Relaxed), 2, "readers of the line are told that it is over");
    dial.machine.broken.store(false, Relaxed);
    dial.machine.pass(Line::LENGTH);
    assert!(dial.nanos() >= last + Line::LENGTH, "and time goes on");
    assert!(dial.nanos() - before < 4 * Line::LENGTH, "from about where it was");
}

/// A machine on which, while somebody reads the ticks, somebody else publishes another line.
struct Interrupted {
    dial: OnceLock<&'static Dial<Self>>,
    line: Line,
}

impl Machine for Interrupted {
    fn has_sound_ticks(&self) -> bool {
        true
    }

    fn ticks(&self) -> u64 {
        if let Some(dial) = self.dial.get().filter(|dial| dial.turn.0.load(Relaxed) == 1) {
            dial.publish(2, self.line, Line { nanos: 7_000_000_000, ..self.line });
        }
        self.line.start
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
    let line = Line { start: 1 << 40, nanos: 5_000_000_000, rate: 1 << 32 };
    let machine = Interrupted { dial: OnceLock::new(), line };
    let dial: &Dial<_> = Box::leak(Box::new(Dial::new(machine)));
    dial.os_until.store(1, Relaxed);
    dial.publish(1, line, line);
    assert!(dial.machine.dial.set(dial).is_ok());
    assert_eq!(dial.nanos(), 7_000_000_000);
}

#[test]
fn time_never_goes_back_for_any_thread_or_between_them() {
    let dial = Dial::new(Invented::new(1 << 13));
    let latest = Mutex::new(0);
    thread::scope(|scope| {
        for thread in 0..4 {
            let (dial, latest) = (&dial, &latest);
            scope.spawn(move || {
                let mut last = 0;
                for reading in 0..100_000 {
                    let nanos = if reading % 2 == 0 {
                        let mut latest = latest.lock().unwrap();
                        let nanos = dial.nanos();
                        assert!(nanos >= *latest, "{nanos} after another thread's {latest}");
                        *latest = nanos;
                        nanos
                    } else {
                        dial.nanos()
                    };
                    assert!(nanos >= last, "{nanos} after {last}");
                    last = nanos;
                    // Some pauses long enough that nobody draws the next line in time.
                    if thread == 0 && reading % 1_000 == 0 {
                        dial.machine.pass(Line::LENGTH * 3);
                    }
                }
            });
        }
    });
    assert!(dial.turn.0.load(Relaxed) > 100, "lines were drawn meanwhile");
}
