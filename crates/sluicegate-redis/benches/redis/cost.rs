//! What a decision costs the server and us, beside the floor: all cases in turn, round by round.

use sluicegate_testkit::{Kind, Server};

use crate::Scale;
use crate::callers::CALLERS;
use crate::cores;
use crate::floor::Floor;
use crate::ground::Ground;
use crate::load::{Asked, Taken, micros_each};
use crate::pipeline::Pipeline;
use crate::recording::Recorder;
use crate::table::{head, median, micros, row, times};

/// What the store sends for each caller when it asks for one set at a time.
pub(crate) struct Calls {
    one: Vec<Vec<u8>>,
    four: Vec<Vec<u8>>,
}

impl Calls {
    /// Asks about every caller, alone, and writes down what that is on the way. The names of
    /// counters do not depend on the server, so one recording does for all.
    pub(crate) fn record() -> Self {
        let server = Server::redis();
        cores::keep_to_its_own(&server);
        let recorder = Recorder::before(server.address());
        let ground = Ground::behind(server, &recorder.url(), 16);
        // A node with one task has one set under way.
        let [one, four] = [Asked::one(), Asked::Four].map(|asked| {
            ground.fill(asked, 1, CALLERS);
            recorder.take_calls()
        });
        for calls in [&one, &four] {
            // Some are missing: whoever came first told the server all of the script.
            assert!(calls.len() > CALLERS * 99 / 100, "recorded {} calls", calls.len());
        }
        Self { one, four }
    }
}

/// The cases that are sent straight to the server …
const SENT: [(&str, &str); 4] = [
    ("*floor*, by `redis-benchmark`", ""),
    ("*floor*, by our driver", ""),
    ("one set a call", "1.2×"),
    ("one set of 4 a call", ""),
];
/// … and those of nodes with so many tasks each.
const LOADED: [(&str, &str, usize); 6] = [
    ("2 nodes, 1 task each", "", 1),
    ("2 nodes, 50 tasks each", "0.65×", 50),
    ("2 nodes, 256 tasks each", "0.65×", 256),
    ("sets of 4, 50 tasks each", "", 50),
    ("sets of 4, 256 tasks each", "", 256),
    ("nothing asked, 50 tasks each", "", 50),
];

pub(crate) fn compare(kind: Kind, calls: &Calls, scale: Scale) {
    let ground = Ground::new(kind, 2);
    let asked = |name: &str| match name {
        name if name.starts_with("sets") => Asked::Four,
        name if name.starts_with("nothing") => Asked::Nothing,
        _ => Asked::one(),
    };
    ground.fill(Asked::one(), 256, CALLERS);
    ground.fill(Asked::Four, 256, CALLERS);
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
            // One at a time takes its time.
            let decisions = if *tasks == 1 { scale.decisions / 5 } else { scale.decisions };
            taken.push(ground.load(asked(name), *tasks, decisions));
        }
    }
    show(kind, &sent, &loaded);
}

fn show(kind: Kind, sent: &[Vec<f64>; SENT.len()], loaded: &[Vec<Taken>; LOADED.len()]) {
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
    let servers = loaded.each_ref().map(|taken| figures(taken, Taken::server_micros));
    for (((name, aim, _), taken), server) in LOADED.iter().zip(loaded).zip(&servers) {
        row(&[
            (*name).into(),
            micros(middle(server)),
            times(ratio(server, &sent[0])),
            (*aim).into(),
            micros(middle(&figures(taken, Taken::own_micros))),
            format!("{:.3}", middle(&figures(taken, Taken::trips))),
            format!("{:.0}", middle(&figures(taken, Taken::per_second))),
        ]);
    }
    let fours = [(&sent[3], &sent[2]), (&servers[3], &servers[1]), (&servers[4], &servers[2])];
    let [alone, some, many] = fours.map(|(four, one)| times(ratio(four, one)));
    println!(
        "\nA set of 4 ÷ a set of 1 (aim: 2×): {alone} one a call, {some} with 50 tasks, {many} with 256."
    );
}

fn figures(taken: &[Taken], figure: fn(&Taken) -> f64) -> Vec<f64> {
    taken.iter().map(figure).collect()
}

fn middle(figures: &[f64]) -> f64 {
    median(figures.iter().copied())
}

/// Round by round: what disturbs the machine for a while disturbs both.
fn ratio(figures: &[f64], others: &[f64]) -> f64 {
    median(figures.iter().zip(others).map(|(figure, other)| figure / other))
}
