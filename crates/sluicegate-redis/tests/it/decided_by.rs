//! Sends checks to a store and reports the source of each decision.

use sluicegate::{Applied, CheckError, Clock, Store, next_set_id, period_at};
use sluicegate_conformance::subject::apply_set;
use sluicegate_core::{Check, Cost, Decision, Limit, Operation, Receipt, Ruling, Set};
use sluicegate_redis::Redis;

/// The decision of one check, and its source.
pub(crate) async fn ask(store: &Redis, check: Check<'_>) -> (Applied, Decision) {
    try_ask(store, check).await.expect("it can be decided")
}

/// The same, where the outcome may be in doubt.
pub(crate) async fn try_ask(
    store: &Redis,
    check: Check<'_>,
) -> Result<(Applied, Decision), CheckError> {
    let mut time = store.clock().now();
    loop {
        let check = match check.limit().calendar() {
            Some(per) => check.within(period_at(per, time)),
            None => check,
        };
        let mut decisions = [None];
        let applied = apply_set(store, &Set::one(&check, next_set_id()), &mut decisions).await?;
        match decisions {
            // Its calendar window has ended meanwhile.
            _ if applied.ruling == Ruling::Stale => time = applied.now,
            [decision] => return Ok((applied, decision.expect("a lone check is answered"))),
        }
    }
}

/// Settles a charge, retrying as often as necessary.
pub(crate) async fn settle_with_retries(
    store: &Redis,
    limit: &Limit,
    key: &str,
    (receipt, actual): (Receipt, Cost),
) {
    loop {
        let check = Check::new(limit, key).with_operation(Operation::Settle { receipt, actual });
        match try_ask(store, check).await {
            Ok(_) => return,
            // It may have been executed; the retry must not count again.
            Err(_) => tokio::time::sleep(std::time::Duration::from_millis(20)).await,
        }
    }
}
