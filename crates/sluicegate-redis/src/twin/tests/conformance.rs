//! The twins obey the vectors and agree with the oracle, whichever script is asked.

use sluicegate_conformance::{replay, walk};
use sluicegate_testkit::{Kind, Server};

use super::twin::{Through, Twin, connect};

/// Steps of the random walks; `SLUICEGATE_STEPS=1000000` takes the long way.
fn steps() -> usize {
    let chosen = std::env::var("SLUICEGATE_STEPS").ok().and_then(|steps| steps.parse().ok());
    chosen.unwrap_or(4_000)
}

/// Makes subjects on one server, each with a prefix of its own.
///
/// They have one page: traces say the same change of tier of several keys, which a server only
/// notices within a page.
fn subjects(server: &Server, through: Through) -> impl FnMut() -> Twin + use<'_> {
    let mut made = 0;
    move || {
        made += 1;
        let mut twin = Twin::new(connect(server), &format!("t{made}:"), 0);
        twin.through = through;
        twin
    }
}

#[test]
fn the_scripts_obey_the_vectors() {
    for kind in Kind::ALL {
        for through in Through::ALL {
            let server = Server::setup(kind).start();
            replay::vectors(subjects(&server, through));
        }
    }
}

#[test]
fn the_scripts_agree_with_the_oracle_on_redis() {
    walk::differential(subjects(&Server::redis(), Through::Quick), 2_000_000, steps());
}

#[test]
fn the_scripts_agree_with_the_oracle_on_valkey() {
    walk::differential(subjects(&Server::valkey(), Through::Scattered), 3_000_000, steps());
}
