//! The client's cost of a decision on a cluster, beside one server: sets of one slot, by rounds.

use sluicegate_testkit::ServerKind;

use crate::Scale;
use crate::callers::CALLERS;
use crate::load::{Asked, Taken};
use crate::setup::Ground;
use crate::table::{head, median, micros, row, times};

const TASKS: [usize; 3] = [1, 50, 256];

pub(crate) fn compare(kind: ServerKind, scale: Scale) {
    let (one, three) = (Ground::new(kind, 2), Ground::cluster(kind, 2));
    one.fill(Asked::one(), 256, CALLERS);
    three.fill(Asked::one(), 256, CALLERS);
    head(
        &format!("{kind:?}: three primaries of a cluster beside one server, 2 nodes, in µs"),
        &[
            "tasks each",
            "ours, one",
            "ours, cluster",
            "÷ one",
            "aim",
            "servers ÷ one",
            "calls a decision, one",
            "cluster",
            "a second",
        ],
    );
    for tasks in TASKS {
        // Sequential decisions are slow.
        let decisions = if tasks == 1 { scale.decisions / 5 } else { scale.decisions };
        let (mut single, mut cluster): (Vec<Taken>, Vec<Taken>) = (Vec::new(), Vec::new());
        for _ in 0..scale.rounds {
            single.push(one.load(Asked::one(), tasks, decisions));
            cluster.push(three.load(Asked::one(), tasks, decisions));
        }
        let ratio = |figure: fn(&Taken) -> f64| {
            median(
                cluster
                    .iter()
                    .zip(&single)
                    .map(|(cluster, single)| figure(cluster) / figure(single)),
            )
        };
        let middle = |taken: &[Taken], figure: fn(&Taken) -> f64| median(taken.iter().map(figure));
        row(&[
            tasks.to_string(),
            micros(middle(&single, Taken::own_micros)),
            micros(middle(&cluster, Taken::own_micros)),
            times(ratio(Taken::own_micros)),
            "1.2×".into(),
            times(ratio(Taken::server_micros)),
            format!("{:.3}", middle(&single, Taken::trips)),
            format!("{:.3}", middle(&cluster, Taken::trips)),
            format!("{:.0}", middle(&cluster, Taken::per_second)),
        ]);
    }
}
