//! The time for all threads: the line that is told now, where every reader finds it.
//!
//! Reading takes a few loads, the ticks and a multiplication. Lines are published under a turn
//! that readers look at before and after: if it is the same, so was the line. The next line is
//! drawn while the last one is still good, by whoever comes by and finds nobody at it; others
//! go on meanwhile. Only if nobody came by in time do those who come together wait for the one
//! who draws.
//!
//! A line is told for its ticks and for no others. So it does not matter who learns of a line
//! when: at one tick all are told the same, and time never goes back.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU64, fence};
use std::sync::{Mutex, PoisonError, TryLockError};

use super::follower::Follower;
use super::line::Line;
use super::machine::{Machine, Reading};

/// What a machine's time is read off.
#[derive(Debug)]
pub(super) struct Dial<M> {
    machine: M,
    turn: Turn,
    /// The lines of the last two turns.
    slots: [Slot; 2],
    /// Up to this tick the operating system's clock tells the time.
    os_until: AtomicU64,
    /// By how much we then are ahead of it.
    ahead: AtomicU64,
    stage: Mutex<Stage>,
}

/// How many lines have been published. Read by everybody, so it has a cache line of its own, as
/// each slot has.
#[derive(Debug)]
#[repr(align(64))]
struct Turn(AtomicU64);

#[derive(Debug)]
#[repr(align(64))]
struct Slot {
    current: SharedLine,
    /// The one before: a line is published before it starts.
    previous: SharedLine,
}

#[derive(Debug)]
struct SharedLine {
    start: AtomicU64,
    nanos: AtomicU64,
    rate: AtomicU64,
}

/// How far we have come in telling time by ticks.
#[derive(Debug)]
enum Stage {
    New,
    /// Long enough to tell how long ticks last.
    Watching(Reading),
    Following(Follower),
    /// Ticks cannot be trusted.
    Without,
}

/// Nobody has asked for the time yet.
const NEVER_ASKED: u64 = 0;
/// The operating system's clock tells the time for good.
const FOR_GOOD: u64 = u64::MAX;
/// So many ticks are watched first, 13 ms at 5 GHz; nobody waits for it.
const WATCHED: u64 = 1 << 26;

impl<M: Machine> Dial<M> {
    pub(super) const fn new(machine: M) -> Self {
        Self {
            machine,
            turn: Turn(AtomicU64::new(0)),
            slots: [const { Slot::new() }; 2],
            os_until: AtomicU64::new(NEVER_ASKED),
            ahead: AtomicU64::new(0),
            stage: Mutex::new(Stage::New),
        }
    }

    /// The time in nanoseconds since some moment of this process.
    #[inline]
    pub(super) fn nanos(&self) -> u64 {
        let turn = self.turn.0.load(Acquire);
        let line = self.slot(turn).current.load();
        // Without a line, ticks may not even be readable.
        if line.rate != 0 {
            let ticks = self.machine.ticks().wrapping_sub(line.start);
            if ticks < Line::FRESH && self.is_still(turn) {
                return line.after(ticks);
            }
        }
        self.nanos_slowly()
    }

    #[inline]
    const fn slot(&self, turn: u64) -> &Slot {
        &self.slots[(turn & 1) as usize]
    }

    /// Whether what was loaded since `turn` was has not been written meanwhile.
    #[inline]
    fn is_still(&self, turn: u64) -> bool {
        fence(Acquire);
        self.turn.0.load(Relaxed) == turn
    }

    #[cold]
    #[inline(never)]
    fn nanos_slowly(&self) -> u64 {
        loop {
            let turn = self.turn.0.load(Acquire);
            if let Some(nanos) = self.nanos_by_the_os(turn) {
                return nanos;
            }
            let slot = self.slot(turn);
            let (current, previous) = (slot.current.load(), slot.previous.load());
            if !self.is_still(turn) {
                continue;
            }
            let ticks = self.machine.ticks_in_order();
            if current.rate == 0 || ticks >= current.end() {
                self.draw(turn);
            } else if ticks >= current.start {
                if ticks - current.start >= Line::FRESH {
                    self.draw_unless_busy(turn);
                }
                return current.at(ticks);
            } else if ticks >= previous.end() {
                // Between two lines nobody was told a time, so the later one's start will do.
                return current.nanos;
            } else if ticks >= previous.start {
                return previous.at(ticks);
            } else {
                self.stop_trusting_ticks(turn);
            }
        }
    }

    /// The time by the operating system's clock; `None` once lines tell it.
    fn nanos_by_the_os(&self, turn: u64) -> Option<u64> {
        let mut until = self.os_until.load(Acquire);
        if until == NEVER_ASKED {
            self.begin();
            until = self.os_until.load(Acquire);
        }
        if until == FOR_GOOD {
            return Some(self.machine.nanos() + self.ahead.load(Relaxed));
        }
        if turn > 0 {
            return None;
        }
        let nanos = self.machine.nanos();
        // Asked afterwards, so that nobody brings along a time from after the first line began.
        (self.machine.ticks_in_order() < until).then_some(nanos)
    }

    fn begin(&self) {
        let mut stage = self.stage.lock().unwrap_or_else(PoisonError::into_inner);
        if !matches!(*stage, Stage::New) {
            return;
        }
        let sound = self.machine.has_sound_ticks();
        match sound.then(|| Reading::take(&self.machine)).flatten() {
            Some(first) => {
                *stage = Stage::Watching(first);
                self.os_until.store(first.ticks + WATCHED, Release);
            }
            None => self.go_without(&mut stage),
        }
    }

    /// Draws the line after that of `turn`, or waits for whoever is at it.
    fn draw(&self, turn: u64) {
        let mut stage = self.stage.lock().unwrap_or_else(PoisonError::into_inner);
        self.draw_in(&mut stage, turn);
    }

    fn draw_unless_busy(&self, turn: u64) {
        match self.stage.try_lock() {
            Ok(mut stage) => self.draw_in(&mut stage, turn),
            Err(TryLockError::Poisoned(stage)) => self.draw_in(&mut stage.into_inner(), turn),
            Err(TryLockError::WouldBlock) => {}
        }
    }

    fn draw_in(&self, stage: &mut Stage, turn: u64) {
        if self.turn.0.load(Relaxed) != turn {
            return;
        }
        let Some(now) = Reading::take(&self.machine) else { return self.go_without(stage) };
        let lines = match stage {
            Stage::Watching(first) => {
                let watched = *first;
                Follower::begin(watched, now).map(|follower| {
                    let current = follower.line();
                    // Nothing was told by ticks before, so nothing is told before its start.
                    let previous = Line { start: watched.ticks, nanos: current.nanos, rate: 0 };
                    *stage = Stage::Following(follower);
                    (previous, current)
                })
            }
            Stage::Following(follower) => {
                let previous = follower.line();
                follower.follow(now).map(|current| (previous, current))
            }
            Stage::New | Stage::Without => return,
        };
        match lines {
            Some((previous, current)) => self.publish(turn + 1, previous, current),
            None => self.go_without(stage),
        }
    }

    fn stop_trusting_ticks(&self, turn: u64) {
        let mut stage = self.stage.lock().unwrap_or_else(PoisonError::into_inner);
        if self.turn.0.load(Relaxed) == turn {
            self.go_without(&mut stage);
        }
    }

    /// Goes on by the operating system's clock for good, from the later of the two times.
    fn go_without(&self, stage: &mut Stage) {
        if let Stage::Following(follower) = stage {
            self.ahead.store(follower.ahead_of(self.machine.nanos()), Relaxed);
            let turn = self.turn.0.load(Relaxed);
            self.publish(turn + 1, Line::default(), Line::default());
        }
        *stage = Stage::Without;
        self.os_until.store(FOR_GOOD, Release);
    }

    /// Only whoever has the stage locked publishes.
    fn publish(&self, turn: u64, previous: Line, current: Line) {
        // Whoever sees any of this being written will see that the turn is another.
        fence(Release);
        let slot = self.slot(turn);
        slot.previous.store(previous);
        slot.current.store(current);
        self.turn.0.store(turn, Release);
    }
}

impl Slot {
    const fn new() -> Self {
        Self { current: SharedLine::new(), previous: SharedLine::new() }
    }
}

impl SharedLine {
    const fn new() -> Self {
        Self { start: AtomicU64::new(0), nanos: AtomicU64::new(0), rate: AtomicU64::new(0) }
    }

    #[inline]
    fn load(&self) -> Line {
        Line {
            start: self.start.load(Relaxed),
            nanos: self.nanos.load(Relaxed),
            rate: self.rate.load(Relaxed),
        }
    }

    fn store(&self, line: Line) {
        self.start.store(line.start, Relaxed);
        self.nanos.store(line.nanos, Relaxed);
        self.rate.store(line.rate, Relaxed);
    }
}

#[cfg(test)]
mod tests;
