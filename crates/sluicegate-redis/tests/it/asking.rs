//! Asks a store one thing, and says who answered.

use sluicegate::{Applied, CheckError, Clock, Store, fresh_id, period_at};
use sluicegate_core::{Ask, Check, Cost, Decision, Limit, Receipt, Ruling, Set};
use sluicegate_redis::Redis;

/// What one check was answered, and by whom.
pub(crate) async fn ask(store: &Redis, check: Check<'_>) -> (Applied, Decision) {
    try_ask(store, check).await.expect("it can be decided")
}

/// The same where nobody may know the answer.
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
        let applied = store.apply(&Set::one(&check, fresh_id()), &mut decisions).await?;
        match decisions {
            // Its calendar window has ended meanwhile.
            _ if applied.ruling == Ruling::Stale => time = applied.now,
            [decision] => return Ok((applied, decision.expect("a lone check is answered"))),
        }
    }
}

/// Corrects a charge, however often that takes.
pub(crate) async fn settle_stubbornly(
    store: &Redis,
    limit: &Limit,
    key: &str,
    (receipt, actual): (Receipt, Cost),
) {
    loop {
        let check = Check::new(limit, key).ask(Ask::Settle { receipt, actual });
        match try_ask(store, check).await {
            Ok(_) => return,
            // It may have been done; it is done again, and must not count again.
            Err(_) => tokio::time::sleep(std::time::Duration::from_millis(20)).await,
        }
    }
}
