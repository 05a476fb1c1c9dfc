//! What a connection needs while it is busy. A thread keeps a few, so that one that has nothing to
//! do costs next to nothing.

use std::cell::RefCell;

use super::Resp;
use super::arguments::Arguments;
use super::check::Checks;
use super::command::Command;
use super::parsing::{self, Argument, LONGEST_COMMAND, Parsed, Violation};
use super::replies::Replies;
use super::session::{self, Session, Then};
use super::throttle::{NotAdded, Throttles};
use crate::measured::Measured;

/// How much is read at a time.
pub(super) const READ: usize = 64 * 1_024;
/// With so many bytes of answers they are sent before anything else is done.
const SENT: usize = 64 * 1_024;
/// How many each thread keeps.
const KEPT: usize = 4;

thread_local! {
    #[allow(clippy::vec_box, reason = "they are handed about, and are too large for that")]
    static IDLE: RefCell<Vec<Box<Bench>>> = const { RefCell::new(Vec::new()) };
}

/// What a connection needs while it is busy.
#[derive(Debug)]
pub(super) struct Bench {
    /// What was read stands at its start.
    input: Vec<u8>,
    filled: usize,
    /// What comes next: everything before has been read as commands.
    at: usize,
    /// The arguments of commands that wait, and of the one at hand.
    arguments: Vec<Argument>,
    /// Where the arguments of a command begin that has been read and nothing else.
    at_hand: Option<usize>,
    throttles: Throttles,
    checks: Checks,
    pub(super) replies: Replies,
}

/// What has to be done next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Wait for the store.
    Ask,
    /// Send the answers, and go on.
    Send,
    /// Send the answers, and read: the rest is no whole command before there is so much of it.
    Read { needs: usize },
    /// Send the answers, and close.
    Close,
}

impl Bench {
    fn new() -> Self {
        Self {
            input: vec![0; READ],
            filled: 0,
            at: 0,
            arguments: Vec::new(),
            at_hand: None,
            throttles: Throttles::default(),
            checks: Checks::default(),
            replies: Replies::default(),
        }
    }

    /// One that is this connection's for now.
    pub(super) fn take() -> Box<Self> {
        let idle = IDLE.try_with(|idle| idle.borrow_mut().pop()).ok().flatten();
        idle.unwrap_or_else(|| Box::new(Self::new()))
    }

    /// Leaves it to others. Everything has been answered and sent.
    pub(super) fn leave(mut self: Box<Self>) {
        (self.filled, self.at) = (0, 0);
        self.arguments.clear();
        self.replies.bytes.clear();
        // One that had to grow is not kept at that size.
        if self.input.len() > READ || self.replies.bytes.capacity() > 4 * SENT {
            return;
        }
        // A thread that ends keeps nothing.
        let _ = IDLE.try_with(|idle| {
            let mut idle = idle.borrow_mut();
            if idle.len() < KEPT {
                idle.push(self);
            }
        });
    }

    /// Where to put what is read behind so many bytes.
    pub(super) fn room(&mut self, behind: usize) -> &mut [u8] {
        if self.input.len() < behind + READ / 2 {
            self.input.resize(LONGEST_COMMAND + READ, 0);
        }
        self.input.get_mut(behind..).unwrap_or_default()
    }

    /// So many bytes were read behind these, which had been read before.
    pub(super) fn fill(&mut self, before: &[u8], read: usize) {
        if let Some(start) = self.input.get_mut(..before.len()) {
            start.copy_from_slice(before);
        }
        (self.filled, self.at) = (before.len() + read, 0);
    }

    /// What has been read and is no whole command yet.
    pub(super) fn rest(&self) -> &[u8] {
        self.input.get(self.at..self.filled).unwrap_or_default()
    }

    /// Answers commands until something has to be waited for.
    pub(super) fn advance<S: Measured>(&mut self, session: &mut Session, resp: &Resp<S>) -> Next {
        loop {
            let first = match self.at_hand.take() {
                Some(first) => first,
                None if self.replies.bytes.len() >= SENT => return Next::Send,
                None => {
                    let first = self.arguments.len();
                    let bytes = self.input.get_mut(..self.filled).unwrap_or_default();
                    match parsing::parse(bytes, self.at, &mut self.arguments) {
                        Ok(Parsed::Whole { length }) => self.at += length,
                        Ok(Parsed::Short { needs }) if self.settle(resp) => {
                            return Next::Read { needs };
                        }
                        Err(violation) if self.settle(resp) => return self.refuse(violation, resp),
                        // It is read again when the others have been answered.
                        Ok(Parsed::Short { .. }) | Err(_) => return Next::Ask,
                    }
                    // A command of nothing asks for nothing.
                    if first == self.arguments.len() {
                        continue;
                    }
                    first
                }
            };
            match self.answer(first, session, resp) {
                Ok(Then::GoOn) => {}
                Ok(Then::Close) => return Next::Close,
                Err(NotNow) => {
                    self.at_hand = Some(first);
                    return Next::Ask;
                }
            }
        }
    }

    /// Waits for the store to decide what waits.
    pub(super) async fn ask<S: Measured>(&mut self, session: &Session, resp: &Resp<S>) {
        let (gate, metrics) = (&*resp.context.gate, &resp.context.metrics);
        let bytes = self.input.get(..self.filled).unwrap_or_default();
        if !self.throttles.is_empty() {
            self.throttles.decide(gate.limiter(), metrics, bytes, &mut self.replies).await;
        }
        if !self.checks.is_empty() {
            let all = Arguments { bytes, places: &self.arguments };
            let replies = (&mut self.replies, session.version);
            self.checks.decide(gate, metrics, all, replies).await;
        }
        // Only the command at hand is left.
        let first = self.at_hand.map(|_| 0);
        let behind = self.at_hand.unwrap_or(self.arguments.len());
        self.arguments.drain(..behind);
        self.at_hand = first;
    }

    /// Answers one command, or finds that others have to be answered first.
    #[inline]
    fn answer<S: Measured>(
        &mut self,
        first: usize,
        session: &mut Session,
        resp: &Resp<S>,
    ) -> Result<Then, NotNow> {
        let bytes = self.input.get(..self.filled).unwrap_or_default();
        let places = self.arguments.get(first..).unwrap_or_default();
        let arguments = Arguments { bytes, places };
        let command = Command::named(arguments.name());
        let mistake = match command {
            _ if !session.is_trusted => None,
            Some(Command::Throttle) if self.checks.is_empty() => {
                match self.throttles.add(arguments) {
                    Ok(()) => {
                        self.arguments.truncate(first);
                        return Ok(Then::GoOn);
                    }
                    Err(NotAdded::Full) => return self.again(first, session, resp),
                    Err(NotAdded::Wrong(mistake)) => Some(mistake.to_string()),
                }
            }
            Some(Command::Check) if self.throttles.is_empty() && arguments.len() > 2 => {
                match self.checks.add(first, arguments) {
                    Ok(()) => return Ok(Then::GoOn),
                    Err(mistake) => Some(mistake.to_string()),
                }
            }
            Some(Command::Throttle) => return Err(NotNow),
            Some(Command::Check) if !self.throttles.is_empty() => {
                return self.again(first, session, resp);
            }
            _ => None,
        };
        // Whatever comes next is answered at once: those before it have to be.
        if !self.settle(resp) {
            return Err(NotNow);
        }
        let then = match mistake {
            Some(mistake) => {
                resp.context.metrics.resp().mistaken(command == Some(Command::Throttle));
                self.replies.error(mistake);
                Then::GoOn
            }
            None => self.answer_alone(command, first, session, resp),
        };
        self.arguments.truncate(first);
        Ok(then)
    }

    /// Answers a command for which those before it are in the way.
    #[cold]
    fn again<S: Measured>(
        &mut self,
        first: usize,
        session: &mut Session,
        resp: &Resp<S>,
    ) -> Result<Then, NotNow> {
        if self.settle(resp) { self.answer(first, session, resp) } else { Err(NotNow) }
    }

    /// Answers a command that is about nobody's limits, or none.
    fn answer_alone<S: Measured>(
        &mut self,
        command: Option<Command>,
        first: usize,
        session: &mut Session,
        resp: &Resp<S>,
    ) -> Then {
        let metrics = resp.context.metrics.resp();
        let bytes = self.input.get(..self.filled).unwrap_or_default();
        let places = self.arguments.get(first..).unwrap_or_default();
        let arguments = Arguments { bytes, places };
        let replies = &mut self.replies;
        let Some(command) = command else {
            metrics.unknown();
            let violation = session::unknown(arguments, replies).err();
            if let Some(violation) = violation {
                self.refuse(violation, resp);
            }
            return if violation.is_some() { Then::Close } else { Then::GoOn };
        };
        metrics.other();
        if !session.is_trusted && !command.is_for_everybody() {
            Session::demand_password(replies);
            return Then::GoOn;
        }
        session.answer(command, arguments, resp, replies)
    }

    /// Says what cannot be read. Nothing behind it can be, either.
    fn refuse<S: Measured>(&mut self, violation: Violation, resp: &Resp<S>) -> Next {
        resp.context.metrics.resp().protocol_error();
        self.replies.error(violation);
        Next::Close
    }

    /// Decides what waits, as far as the store does not have to be waited for; whether that is all.
    fn settle<S: Measured>(&mut self, resp: &Resp<S>) -> bool {
        if !self.throttles.is_empty() {
            let (limiter, metrics) = (resp.context.gate.limiter(), &resp.context.metrics);
            let bytes = self.input.get(..self.filled).unwrap_or_default();
            self.throttles.decide_at_once(limiter, metrics, bytes, &mut self.replies);
        }
        self.throttles.is_empty() && self.checks.is_empty()
    }
}

/// Others have to be answered first, and those have to wait.
struct NotNow;
