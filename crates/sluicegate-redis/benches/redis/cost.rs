//! The cost of a decision for server and client, beside the floor: all cases in turn, by rounds.

use sluicegate_testkit::{Server, ServerKind};

use crate::Scale;
use crate::callers::CALLERS;
use crate::cpu_affinity;
use crate::floor::Floor;
use crate::load::{BenchOperation, MeasuredCost, micros_each};
use crate::pipeline::Pipeline;
use crate::recorded_commands::Recorder;
use crate::setup::BenchServers;
use crate::table::{head, median, micros, row, times};

/// The commands of the store for each caller when it sends one set at a time.
pub(crate) struct Calls {
    one: Vec<Vec<u8>>,
    four: Vec<Vec<u8>>,
}

impl Calls {
    /// Sends a check of every caller, alone, and records the commands. The names of counters do not
    /// depend on the server, so one recording suffices.
    pub(crate) fn record() -> Self {
        let server = Server::redis();
        cpu_affinity::keep_to_its_own(&server);
        let recorder = Recorder::before(server.address());
        let ground = BenchServers::behind(server, &recorder.url(), 16);
        // A node with one task has one set in flight.
        let [one, four] = [BenchOperation::one(), BenchOperation::Four].map(|workload| {
            ground.fill(workload, 1, CALLERS);
            recorder.take_calls()
        });
        for calls in [&one, &four] {
            // Some are missing: the first call sent the whole script.
            assert!(calls.len() > CALLERS * 99 / 100, "recorded {} calls", calls.len());
        }
        Self { one, four }
    }
}

/// The cases that are sent straight to the server.
const SENT: [(&str, &str); 4] = [
    ("*floor*, by `redis-benchmark`", ""),
    ("*floor*, by our driver", ""),
    ("one set a call", "1.2×"),
    ("one set of 4 a call", ""),
];
/// The cases of nodes with these numbers of tasks.
const LOADED: [(&str, &str, usize); 6] = [
    ("2 nodes, 1 task each", "", 1),
    ("2 nodes, 50 tasks each", "0.65×", 50),
    ("2 nodes, 256 tasks each", "0.65×", 256),
    ("sets of 4, 50 tasks each", "", 50),
    ("sets of 4, 256 tasks each", "", 256),
    ("no request, 50 tasks each", "", 50),
];

pub(crate) fn compare(kind: ServerKind, calls: &Calls, scale: Scale) {
    let ground = BenchServers::new(kind, 2);
    let workload = |name: &str| match name {
        name if name.starts_with("sets") => BenchOperation::Four,
        name if name.starts_with("no request") => BenchOperation::Nothing,
        _ => BenchOperation::one(),
    };
    ground.fill(BenchOperation::one(), 256, CALLERS);
    ground.fill(BenchOperation::Four, 256, CALLERS);
    let floor = Floor::on(&ground.server);
    let floor_calls = floor.calls();
    let mut pipeline = Pipeline::to(&ground.server);
    pipeline.send_each(&floor_calls);

    let mut sent = [const { Vec::new() }; SENT.len()];
    let mut loaded = [const { Vec::new() }; LOADED.len()];
    for _ in 0..scale.rounds {
        sent[0].push(micros_each(floor.benchmark(scale.decisions), scale.decisions));
        for (case, calls) in [&floor_calls, &calls.one, &calls.four].into_iter().enumerate() {
            let (time, count) = pipeline.send(calls, scale.decisions);
            sent[case + 1].push(micros_each(time, count));
        }
        for ((name, _, tasks), taken) in LOADED.iter().zip(&mut loaded) {
            // Sequential decisions are slow.
            let decisions = if *tasks == 1 { scale.decisions / 5 } else { scale.decisions };
            taken.push(ground.load(workload(name), *tasks, decisions));
        }
    }
    show(kind, &sent, &loaded);
}

fn show(
    kind: ServerKind,
    sent: &[Vec<f64>; SENT.len()],
    loaded: &[Vec<MeasuredCost>; LOADED.len()],
) {
    head(
        &format!("{kind:?}: processor time of a decision in µs, {CALLERS} callers"),
        &["", "server", "÷ floor", "aim", "ours", "calls a decision", "decisions a second"],
    );
    for ((name, aim), server) in SENT.iter().zip(sent) {
        let ratio = times(ratio(server, &sent[0]));
        let nothing = [const { String::new() }; 3];
        let cells = [(*name).into(), micros(middle(server)), ratio, (*aim).into()];
        row(cells.iter().chain(&nothing));
    }
    let servers = loaded.each_ref().map(|taken| figures(taken, MeasuredCost::server_micros));
    for (((name, aim, _), taken), server) in LOADED.iter().zip(loaded).zip(&servers) {
        row(&[
            (*name).into(),
            micros(middle(server)),
            times(ratio(server, &sent[0])),
            (*aim).into(),
            micros(middle(&figures(taken, MeasuredCost::own_micros))),
            format!("{:.3}", middle(&figures(taken, MeasuredCost::trips))),
            format!("{:.0}", middle(&figures(taken, MeasuredCost::per_second))),
        ]);
    }
    let fours = [(&sent[3], &sent[2]), (&servers[3], &servers[1]), (&servers[4], &servers[2])];
    let [alone, some, many] = fours.map(|(four, one)| times(ratio(four, one)));
    println!(
        "\nA set of 4 ÷ a set of 1 (aim: 2×): {alone} one a call, {some} with 50 tasks, {many} with \
         256."
    );
}

fn figures(taken: &[MeasuredCost], figure: fn(&MeasuredCost) -> f64) -> Vec<f64> {
    taken.iter().map(figure).collect()
}

fn middle(figures: &[f64]) -> f64 {
    median(figures.iter().copied())
}

/// By rounds, so that a temporary disturbance of the machine affects both.
fn ratio(figures: &[f64], others: &[f64]) -> f64 {
    median(figures.iter().zip(others).map(|(figure, other)| figure / other))
}
