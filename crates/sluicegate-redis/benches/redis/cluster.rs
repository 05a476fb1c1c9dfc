//! The client's cost of a decision on a cluster, beside one server: sets of one slot, by rounds.

use sluicegate_testkit::ServerKind;

use crate::Scale;
use crate::callers::CALLERS;
use crate::load::{BenchOperation, MeasuredCost};
use crate::setup::BenchServers;
use crate::table::{head, median, micros, row, times};

const TASKS: [usize; 3] = [1, 50, 256];

pub(crate) fn compare(kind: ServerKind, scale: Scale) {
    let (one, three) = (BenchServers::new(kind, 2), BenchServers::cluster(kind, 2));
    one.fill(BenchOperation::one(), 256, CALLERS);
    three.fill(BenchOperation::one(), 256, CALLERS);
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
        let (mut single, mut cluster): (Vec<MeasuredCost>, Vec<MeasuredCost>) =
            (Vec::new(), Vec::new());
        for _ in 0..scale.rounds {
            single.push(one.load(BenchOperation::one(), tasks, decisions));
            cluster.push(three.load(BenchOperation::one(), tasks, decisions));
        }
        let ratio = |figure: fn(&MeasuredCost) -> f64| {
            median(
                cluster
                    .iter()
                    .zip(&single)
                    .map(|(cluster, single)| figure(cluster) / figure(single)),
            )
        };
        let middle = |taken: &[MeasuredCost], figure: fn(&MeasuredCost) -> f64| {
            median(taken.iter().map(figure))
        };
        row(&[
            tasks.to_string(),
            micros(middle(&single, MeasuredCost::own_micros)),
            micros(middle(&cluster, MeasuredCost::own_micros)),
            times(ratio(MeasuredCost::own_micros)),
            "1.2×".into(),
            times(ratio(MeasuredCost::server_micros)),
            format!("{:.3}", middle(&single, MeasuredCost::trips)),
            format!("{:.3}", middle(&cluster, MeasuredCost::trips)),
            format!("{:.0}", middle(&cluster, MeasuredCost::per_second)),
        ]);
    }
}
