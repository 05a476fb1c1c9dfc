//! Runs cases for a time, on several workers, and records the ones that differ.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::case::{Action, Case, Fault, Promise, Step, StoreKind};
use crate::generate;
use crate::run::{Difference, Outcome, Seen, run};
use crate::shrink::shrink;
use crate::store::Stores;

/// The first words of a difference that is a timeout of the harness.
const GAVE_UP: &str = "the harness gave up";
/// The most attempts to make a case smaller; each one starts the program.
const ATTEMPTS: usize = 120;
/// How often a difference that threads may have caused has to occur again: a busy machine delays
/// the same thread in the same way more than once.
const REPEATS: usize = 4;

/// Runs cases on one program.
#[derive(Debug, Clone)]
pub struct Harness {
    program: PathBuf,
    /// The folder for files of cases that differ.
    folder: PathBuf,
    workers: usize,
    shrinks: bool,
}

/// A case that differs.
#[derive(Debug, Clone)]
pub struct Finding {
    /// The seed of the case before it was shrunk.
    pub seed: u64,
    /// The index of the first step that differed, before the case was shrunk.
    pub step: usize,
    /// The file that replays it.
    pub file: PathBuf,
    /// The differing fields, one to a line.
    pub what: String,
}

/// The totals of a run.
#[derive(Debug, Clone, Default)]
pub struct Summary {
    /// Cases that were run.
    pub cases: u64,
    /// Their steps.
    pub steps: u64,
    /// Answers that were compared.
    pub answers: u64,
    /// Refusals among them.
    pub refused: u64,
    /// Refusals from deny caches.
    pub by_memory: u64,
    /// Cases that differ.
    pub findings: Vec<Finding>,
    /// Differences that did not repeat, of cases that depend on threads.
    pub unrepeated: Vec<String>,
}

impl Summary {
    fn add(&mut self, seen: Seen) {
        self.cases += 1;
        self.steps += seen.steps;
        self.answers += seen.answers;
        self.refused += seen.refused;
        self.by_memory += seen.by_memory;
    }
}

impl Harness {
    /// A harness for a program that was built with the feature `test-clock`.
    pub fn new(program: impl Into<PathBuf>, folder: impl Into<PathBuf>) -> Self {
        Self { program: program.into(), folder: folder.into(), workers: 3, shrinks: true }
    }

    /// Returns the harness without shrinking.
    #[must_use]
    pub fn without_shrinking(self) -> Self {
        Self { shrinks: false, ..self }
    }

    /// Runs the cases of seeds from `first` on until the time is over or one differs.
    #[allow(clippy::disallowed_methods, reason = "the time that the run may take is real")]
    pub fn explore(&self, first: u64, time: Duration) -> Summary {
        let end = Instant::now() + time;
        let (next, stop) = (AtomicU64::new(first), AtomicBool::new(false));
        let summary = Mutex::new(Summary::default());
        std::thread::scope(|scope| {
            for _ in 0..self.workers {
                scope.spawn(|| {
                    let mut stores = Stores::default();
                    while Instant::now() < end && !stop.load(Ordering::Relaxed) {
                        let seed = next.fetch_add(1, Ordering::Relaxed);
                        let case = generate::case(seed);
                        let Outcome { difference, seen, .. } = self.run(&mut stores, &case);
                        summary.lock().unwrap().add(seen);
                        let Some(difference) = difference else { continue };
                        if depends_on_threads(&case)
                            && !self.repeats(&mut stores, &case, &difference)
                        {
                            let what = described(&case, &difference);
                            summary.lock().unwrap().unrepeated.push(what);
                            continue;
                        }
                        stop.store(true, Ordering::Relaxed);
                        let finding = self.found(&mut stores, case, &difference);
                        summary.lock().unwrap().findings.push(finding);
                    }
                });
            }
        });
        summary.into_inner().unwrap()
    }

    /// Runs a case; a timeout of the harness counts as a difference.
    fn run(&self, stores: &mut Stores, case: &Case) -> Outcome {
        let ran = catch_unwind(AssertUnwindSafe(|| run(&self.program, stores, case)));
        let mut outcome = ran.unwrap_or_else(|panic| {
            let why = panic.downcast_ref::<String>().map_or("a panic", String::as_str);
            *stores = Stores::default();
            let difference = Difference { step: 0, what: vec![format!("{GAVE_UP}: {why}")] };
            Outcome { difference: Some(difference), seen: Seen::default(), broken_envelope: None }
        });
        if outcome.difference.is_none() && keeps_its_quotas(case) {
            let broken = outcome.broken_envelope.take();
            let step = case.steps.len();
            outcome.difference = broken.map(|broken| Difference { step, what: vec![broken] });
        }
        outcome
    }

    fn repeats(&self, stores: &mut Stores, case: &Case, difference: &Difference) -> bool {
        (0..REPEATS).all(|_| {
            let again = self.run(stores, case).difference;
            again.is_some_and(|again| again.kind() == difference.kind())
        })
    }

    /// Shrinks a case that differs and writes it down.
    fn found(&self, stores: &mut Stores, case: Case, first: &Difference) -> Finding {
        let (seed, step) = (case.seed, first.step);
        let mut last = first.clone();
        let gave_up = first.what.iter().any(|line| line.starts_with(GAVE_UP));
        let attempts = if self.shrinks && !gave_up { ATTEMPTS } else { 0 };
        let small = shrink(case, attempts, |candidate| {
            let outcome = self.run(stores, candidate);
            match outcome.difference {
                Some(difference) if difference.kind() == first.kind() => {
                    last = difference;
                    true
                }
                _ => false,
            }
        });
        fs::create_dir_all(&self.folder).expect("the folder for findings can be made");
        let file = self.folder.join(format!("seed-{seed}.json"));
        let text = serde_json::to_string_pretty(&small).expect("a case can be written");
        fs::write(&file, text).expect("the folder for findings can be written to");
        Finding { seed, step, file, what: described(&small, &last) }
    }

    /// Runs the case of a file; returns the difference, or the promise it breaks.
    pub fn replay(&self, file: &Path) -> Result<(), String> {
        let text =
            fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
        let case: Case =
            serde_json::from_str(&text).map_err(|error| format!("{}: {error}", file.display()))?;
        let outcome = run(&self.program, &mut Stores::default(), &case);
        let is_broken = match case.breaks {
            Some(Promise::Envelope) => outcome.broken_envelope.is_some(),
            None => false,
        };
        match outcome.difference {
            Some(difference) => Err(described(&case, &difference)),
            None if is_broken || case.breaks.is_none() => Ok(()),
            None => Err(format!(
                "{}: the case no longer breaks the promise that it was kept for ({}); \
                 remove `breaks` from the file",
                file.display(),
                case.about
            )),
        }
    }
}

/// Whether every counter of a case has one quota and time only moves forward.
fn keeps_its_quotas(case: &Case) -> bool {
    let changes = |step: &Step| step.wait_us < 0 || matches!(step.action, Action::Edit { .. });
    case.breaks.is_none() && case.rules.overrides.is_empty() && !case.steps.iter().any(changes)
}

/// Returns whether the threads of a node determine which calls are in flight when the clock moves.
///
/// Only a difference that repeats counts in such a case; others are reported, and few are
/// accepted.
fn depends_on_threads(case: &Case) -> bool {
    let slow = |step: &Step| matches!(step.action, Action::Fault { fault: Fault::Slow, .. });
    case.store == StoreKind::Cluster && case.steps.iter().any(slow)
}

/// The difference and the step that it was found at.
fn described(case: &Case, difference: &Difference) -> String {
    let step = match case.steps.get(difference.step) {
        Some(step) => serde_json::to_string(step).unwrap_or_default(),
        None => "the state at the end".to_owned(),
    };
    let store = serde_json::to_string(&case.store).unwrap_or_default();
    format!(
        "seed {}, {store}, {} node(s), {} rule(s), step {} of {}: {step}\n  {}",
        case.seed,
        case.nodes,
        case.rules.rules.len(),
        difference.step + 1,
        case.steps.len(),
        difference.what.join("\n  ")
    )
}
