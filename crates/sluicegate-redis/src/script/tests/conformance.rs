//! Tests that the scripts match the vectors and the oracle, for each script.

use sluicegate_conformance::{replay, walk};
use sluicegate_testkit::{Server, ServerKind};

use super::steps::{ScriptServer, ScriptVariant, connect};

/// Steps of the random walks; `SLUICEGATE_STEPS=1000000` runs long ones.
fn steps() -> usize {
    let chosen = std::env::var("SLUICEGATE_STEPS").ok().and_then(|steps| steps.parse().ok());
    chosen.unwrap_or(4_000)
}

/// Creates subjects on one server, each with a prefix of its own.
///
/// They have one page: traces contain the same change of tier for several keys, which a server only
/// notices within a page.
fn subjects(server: &Server, through: ScriptVariant) -> impl FnMut() -> ScriptServer + use<'_> {
    let mut made = 0;
    move || {
        made += 1;
        let mut server = ScriptServer::new(connect(server), &format!("t{made}:"), 0);
        server.through = through;
        server
    }
}

#[test]
fn the_scripts_match_the_vectors() {
    for kind in ServerKind::ALL {
        for through in ScriptVariant::ALL {
            let server = Server::setup(kind).start();
            replay::vectors(subjects(&server, through));
        }
    }
}

#[test]
fn the_scripts_agree_with_the_oracle_on_redis() {
    walk::differential(subjects(&Server::redis(), ScriptVariant::Quick), 2_000_000, steps());
}

#[test]
fn the_scripts_agree_with_the_oracle_on_valkey() {
    walk::differential(subjects(&Server::valkey(), ScriptVariant::CrossSlot), 3_000_000, steps());
}
