//! What a decision costs the server and us, beside the floor: all cases in turn, round by round.

use std::sync::Arc;

use tokio::runtime::Runtime;
use tollgate::Limiter;
use tollgate_redis::Redis;
use tollgate_testbed::{Kind, Server};

use crate::callers::{CALLERS, keys};
use crate::floor::Floor;
use crate::ground::{node, runtime};
use crate::load::{Asked, Load, Taken};
use crate::pipeline::Pipeline;
use crate::recording::Recorder;
use crate::table::{head, median, micros, row, times};

/// How much is enough.
#[derive(Clone, Copy)]
pub(crate) struct Scale {
    pub(crate) rounds: usize,
    /// Decisions of each case in a round.
    pub(crate) decisions: usize,
}

/// What the store sends for each caller when it asks for one set at a time.
pub(crate) struct Calls {
    one: Vec<Vec<u8>>,
    four: Vec<Vec<u8>>,
}

impl Calls {
    /// Asks about every caller, alone, and writes down what that is on the way. The names of
    /// counters do not depend on the server, so one recording does for all of them.
    pub(crate) fn record() -> Self {
        let (server, runtime, keys) = (Server::redis(), runtime(), Arc::new(keys(CALLERS)));
        let recorder = Recorder::before(server.address());
        // A node with two tasks has at most two calls under way, each with one set.
        let nodes: Vec<_> = (0..16).map(|_| node(&runtime, &recorder.url())).collect();
        for asked in [Asked::One, Asked::Four] {
            let load = Load {
                runtime: &runtime,
                server: &server,
                nodes: &nodes,
                keys: &keys,
                asked,
                tasks: nodes.len() * 2,
            };
            load.fill();
        }
        let (one, four) = (recorder.calls_with("per-user"), recorder.calls_with("four-a"));
        for calls in [&one, &four] {
            // Each node told the server the script in full once.
            assert!(calls.len() > CALLERS - 1_000, "{} calls recorded", calls.len());
        }
        Self { one, four }
    }
}

/// The cases that go straight to a server …
const RAW: [&str; 4] =
    ["floor, redis-benchmark", "floor, our driver", "one set a call", "one set of 4 a call"];
/// … and those that go through two nodes.
const LOADED: [(&str, Asked, usize); 5] = [
    ("2 nodes × 1", Asked::One, 1),
    ("2 nodes × 50", Asked::One, 50),
    ("2 nodes × 256", Asked::One, 256),
    ("2 nodes × 50, sets of 4", Asked::Four, 50),
    ("2 nodes × 50, no question", Asked::Nothing, 50),
];

/// All of it on one server.
pub(crate) fn compare(kind: Kind, calls: &Calls, scale: Scale) {
    let only = std::env::var("ONLY").unwrap_or_default();
    let (server, runtime, keys) =
        (Server::setup(kind).start(), runtime(), Arc::new(keys(CALLERS)));
    let nodes: Vec<_> = (0..2).map(|_| node(&runtime, &server.url())).collect();
    let load = |asked, tasks| Load {
        runtime: &runtime,
        server: &server,
        nodes: &nodes,
        keys: &keys,
        asked,
        tasks,
    };
    load(Asked::One, 256).fill();
    load(Asked::Four, 256).fill();
    let floor = Floor::on(&server);
    let floor_commands = floor.commands();
    let mut pipeline = Pipeline::to(&server);
    pipeline.send_each(&floor_commands);

    let mut raw = [const { Vec::new() }; RAW.len()];
    let mut loaded = [const { Vec::new() }; LOADED.len()];
    let sent = Pipeline::sent(scale.decisions);
    let each = |time: std::time::Duration, count: usize| time.as_secs_f64() * 1e6 / count as f64;
    for _ in 0..scale.rounds {
        if "raw0".contains(&only) { raw[0].push(each(floor.benchmark(scale.decisions), scale.decisions)); }
        if "raw1".contains(&only) {raw[1].push(each(pipeline.send(&floor_commands, scale.decisions), sent));}
        if "raw2".contains(&only) {raw[2].push(each(pipeline.send(&calls.one, scale.decisions), sent));}
        if "raw3".contains(&only) {raw[3].push(each(pipeline.send(&calls.four, scale.decisions), sent));}
        for ((name, asked, tasks), taken) in LOADED.iter().zip(&mut loaded) {
            if !name.contains(&only) { continue; }
            // One at a time takes its time.
            let decisions = if *tasks == 1 { scale.decisions / 10 } else { scale.decisions };
            taken.push(load(*asked, *tasks).run(decisions));
        }
    }
    if !only.is_empty() { println!("{kind:?} {:?} {:?}", raw, loaded.map(|l| l.iter().map(Taken::server_micros).collect::<Vec<_>>())); return; }
    show(kind, &raw.map(median), &loaded);
}

fn show(kind: Kind, raw: &[f64; RAW.len()], loaded: &[Vec<Taken>; LOADED.len()]) {
    let floor = raw[0];
    head(
        &format!("{kind:?}, {CALLERS} callers, µs of processor time a decision"),
        &["case", "server", "÷ floor", "aim", "ours", "calls a decision", "decisions a second"],
    );
    let dash = || String::from("–");
    let aims = ["", "", "1.2×", "2× one set"];
    for ((name, server), aim) in RAW.iter().zip(raw).zip(aims) {
        let cells = [micros(*server), times(server / floor), aim.to_owned(), dash(), dash(), dash()];
        row(&[vec![(*name).to_owned()], cells.to_vec()].concat());
    }
    let aims = ["", "0.65×", "0.65×", "2× one set", ""];
    for (((name, ..), taken), aim) in LOADED.iter().zip(loaded).zip(aims) {
        let middle = |figure: fn(&Taken) -> f64| median(taken.iter().map(figure));
        let server = middle(Taken::server_micros);
        row(&[
            (*name).to_owned(),
            micros(server),
            times(server / floor),
            aim.to_owned(),
            micros(middle(Taken::own_micros)),
            format!("{:.3}", middle(Taken::trips)),
            format!("{:.0}", middle(Taken::per_second)),
        ]);
    }
    println!("\nA set of 4 ÷ a set of 1: {} one set a call", times(raw[3] / raw[2]));
}

/// Two nodes and a runtime; for what is measured elsewhere.
pub(crate) fn two_nodes(runtime: &Runtime, server: &Server) -> Vec<Limiter<Redis>> {
    (0..2).map(|_| node(runtime, &server.url())).collect()
}
