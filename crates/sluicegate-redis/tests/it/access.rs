//! The smallest user that works: no permission can be taken from it.

use std::time::Duration;

use sluicegate::{By, Limiter};
use sluicegate_core::{Ask, Check, Cost, Limit, Slices, Span};
use sluicegate_redis::{Event, Options, Redis};
use sluicegate_testkit::{Kind, PATIENCE, retry_if_stalled, wait_until};

use crate::asking::{ask, try_ask};
use crate::stage::{PASSWORD, PERMISSIONS, Stage, USER, options, setup};

fn permit(stage: &Stage, permissions: &str) {
    let words = ["ACL", "SETUSER", USER, "reset", "on", &format!(">{PASSWORD}")].map(str::to_owned);
    let permissions = permissions.split_whitespace().map(str::to_owned);
    let words: Vec<String> = words.into_iter().chain(permissions).collect();
    assert_eq!(stage.server.command(&words).text(), "OK");
}

/// Everything that a node does; what of it did not work.
fn exercise(stage: &Stage) -> Result<(), String> {
    let options = stage.apart();
    let [one, other] = [0, 1].map(|_| stage.begin(options.clone()));
    for node in [&one, &other] {
        wait_until("the node is let in or not", PATIENCE, || {
            node.health().up || node.counts().refused > 0
        });
        if !node.health().up {
            return Err(format!("it is not reached: {:?}", node.health().why));
        }
    }
    if one.health().server.is_none_or(|server| server.version.is_empty()) {
        return Err("it does not say its version".to_owned());
    }
    for limit in limits() {
        for key in ["ann", "bob", "ann", "ann"] {
            let (applied, decision) = stage.block_on(ask(&one, Check::new(&limit, key)));
            let receipt = decision.receipt().copied();
            if applied.by != By::Store {
                return Err(format!("{} is not decided: {:?}", limit.name(), one.health().why));
            }
            if let Some(receipt) = receipt.filter(|_| key == "bob") {
                let give_back = Ask::Settle { receipt, actual: Cost::ZERO };
                let check = Check::new(&limit, key).ask(give_back);
                answered(stage, &one, check)?;
            }
        }
        answered(stage, &one, Check::new(&limit, "ann").ask(Ask::Reset))?;
    }
    hears(stage, &one, &other)?;
    Ok(())
}

/// Whether the server answers a check.
fn answered(stage: &Stage, store: &Redis, check: Check<'_>) -> Result<(), String> {
    match stage.block_on(try_ask(store, check)) {
        Ok((applied, _)) if applied.by == By::Store => Ok(()),
        Ok((applied, _)) => Err(format!("it is answered by {:?}", applied.by)),
        Err(error) => Err(error.to_string()),
    }
}

fn limits() -> Vec<Limit> {
    let quota = |text: &str| text.parse().unwrap();
    vec![
        Limit::token_bucket("token", quota("6/min burst 4")).unwrap(),
        Limit::fixed_window("fixed", quota("4/min")).unwrap(),
        Limit::sliding_window("strict", quota("4/min"), Slices::Strict(10)).unwrap(),
        Limit::sliding_log("log", quota("4/min")).unwrap(),
        Limit::concurrency("slots", 4, Span::from_secs(60)).unwrap(),
    ]
}

/// Whether one node hears what another gives back.
fn hears(stage: &Stage, one: &Redis, other: &Redis) -> Result<(), String> {
    let limit = Limit::token_bucket("heard", "1/min burst 1".parse().unwrap()).unwrap();
    let take = || stage.block_on(ask(one, Check::new(&limit, "caller"))).1;
    let receipt = *take().receipt().ok_or("nothing was taken")?;
    take();
    let give_back = Ask::Settle { receipt, actual: Cost::ZERO };
    answered(stage, other, Check::new(&limit, "caller").ask(give_back))?;
    let mut heard = false;
    for _ in 0..200 {
        heard = heard || take().is_allowed();
        crate::trial::let_pass(Duration::from_millis(if heard { 0 } else { 2 }));
    }
    heard.then_some(()).ok_or_else(|| "it does not hear what is given back".to_owned())
}

fn smallest(kind: Kind) {
    let stage = Stage::on(kind);
    permit(&stage, PERMISSIONS);
    assert_eq!(exercise(&stage), Ok(()), "all of it is enough");
    let given = PERMISSIONS.split_whitespace().filter(|word| word.starts_with(['+', '~', '&']));
    for taken in given {
        let fewer: Vec<&str> =
            PERMISSIONS.split_whitespace().filter(|word| *word != taken).collect();
        permit(&stage, &fewer.join(" "));
        let found = exercise(&stage);
        eprintln!("without {taken}: {found:?}");
        assert!(found.is_err(), "it works without {taken}");
    }
}

#[test]
fn the_smallest_user_of_redis_is_the_smallest() {
    retry_if_stalled(|| smallest(Kind::Redis));
}

#[test]
fn the_smallest_user_of_valkey_is_the_smallest() {
    retry_if_stalled(|| smallest(Kind::Valkey));
}

#[test]
fn everything_works_over_tls() {
    retry_if_stalled(|| {
        let stage = Stage::with(setup(Kind::Redis).tls().start());
        let secure = |pem: &str| -> Options {
            options(&stage.server.tls_url()).ca_pem(pem.as_bytes().to_vec())
        };
        let store =
            stage.start(secure(stage.server.ca_pem()).deadline(Duration::from_secs(1)).unwrap());
        let limit = Limit::token_bucket("api", "1/min burst 3".parse().unwrap()).unwrap();
        let limiter = Limiter::new(store);
        for admitted in [true, true, true, false] {
            let decided = stage.block_on(limiter.check(Check::new(&limit, "caller")).into_future());
            assert_eq!(decided.unwrap().is_allowed(), admitted);
        }
        assert_eq!(
            limiter.store().counts().denied_by_policy + limiter.store().counts().by_share,
            0
        );
        // Somebody else's authority vouches for nobody here.
        let other = Stage::with(setup(Kind::Redis).tls().start());
        let stranger = stage.begin(secure(other.server.ca_pem()));
        wait_until("it says that the certificate is not trusted", PATIENCE, || {
            let why = stranger.health().why.unwrap_or_default();
            why.to_lowercase().contains("certificate")
        });
        assert!(!stranger.health().up);
    });
}

#[test]
fn who_is_not_let_in_says_so_and_is_let_in_later() {
    let stage = Stage::on(Kind::Redis);
    let told = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let telling = std::sync::Arc::clone(&told);
    let store = stage.start(stage.options().on_event(move |event| {
        telling.lock().unwrap().push(event.clone());
    }));
    let refused =
        || told.lock().unwrap().iter().any(|event| matches!(event, Event::Refused { .. }));
    stage.server.command(&["ACL", "SETUSER", USER, "off"]);
    stage.server.command(&["CLIENT", "KILL", "USER", USER]);
    wait_until("it says that it is refused", PATIENCE, refused);
    assert!(store.counts().refused > 0, "{:?}", store.counts());
    assert!(!store.health().up);
    stage.server.command(&["ACL", "SETUSER", USER, "on"]);
    wait_until("it is let in again", PATIENCE, || store.health().up);
}
