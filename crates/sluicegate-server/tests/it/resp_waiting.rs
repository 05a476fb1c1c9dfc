//! Tests of RESP on an asynchronous store: the same replies in the same order.

use sluicegate::{Batch, Check, CheckError, ManualClock, Memory, Store};
use sluicegate_server::{Server, StoreSize, StoreStats};
use tokio::task::yield_now;

use super::resp_client::{RespReply, words};
use super::test_server::{TestServer, by_rules};

/// A store that is never ready at once, and fails for one key.
struct SlowStore(Memory<ManualClock>);

impl Store for SlowStore {
    type Clock = ManualClock;

    fn clock(&self) -> &ManualClock {
        self.0.clock()
    }

    async fn apply(&self, batch: &mut Batch<'_>) -> Result<(), CheckError> {
        while let Some((set, decisions)) = batch.next_set() {
            yield_now().await;
            if set.checks().iter().any(|check| check.key() == b"none") {
                return Err(CheckError::StoreUnreachable { why: "it is asleep".into() });
            }
            let applied = self.0.decide(set, decisions);
            batch.push(applied);
        }
        Ok(())
    }

    fn apply_detached(&self, check: Check<'_>) {
        self.0.apply_detached(check);
    }
}

impl StoreStats for SlowStore {
    fn size(&self) -> StoreSize {
        self.0.size()
    }
}

#[tokio::test]
async fn waiting_commands_are_answered_in_order() {
    let clock = ManualClock::default();
    let store = SlowStore(Memory::with_clock(clock.clone()));
    let rules = "rules: [{ name: per-user, key: user, limit: 90/min }]";
    let gate = TestServer::open_with(Server::new(by_rules(store, rules)), clock).await;
    let mut client = gate.resp().await;
    let round = [
        "CL.THROTTLE k 99 1 1",
        "CL.THROTTLE k 99 1 1 2",
        "PING",
        "SLUICEGATE.CHECK user 1",
        "SLUICEGATE.CHECK user 1 COST 2",
        "CL.THROTTLE k 99 1 1 x",
        "CL.THROTTLE k 99 1 1",
        "SLUICEGATE.CHECK user",
        "SLUICEGATE.CHECK user 1",
        "CL.THROTTLE k 99 1 1 -1",
        "ECHO hi",
    ];
    client.send(round.map(words).concat().repeat(10)).await;
    client.send("*1\r\n$x").await;
    for done in 0..10 {
        let (used, checked) = (done * 3, 90 - done * 4);
        let numbers = |used: i64| RespReply::numbers([0, 100, 100 - used, -1, used]);
        assert_eq!(client.answer().await, numbers(used + 1));
        assert_eq!(client.answer().await, numbers(used + 3));
        assert_eq!(client.answer().await, RespReply::Simple("PONG".to_owned()));
        for cost in [1, 3] {
            let remaining = RespReply::Integer(checked - cost);
            assert_eq!(*client.answer().await.get("remaining"), remaining);
        }
        let RespReply::Error(error) = client.answer().await else { panic!("no error") };
        assert!(error.ends_with("integer: x"), "{error}");
        assert_eq!(client.answer().await, numbers(used + 4));
        assert!(matches!(client.answer().await, RespReply::Error(_)));
        assert_eq!(*client.answer().await.get("remaining"), RespReply::Integer(checked - 4));
        assert_eq!(client.answer().await, numbers(used + 3));
        assert_eq!(client.answer().await, RespReply::text("hi"));
    }
    assert_eq!(client.answer().await, RespReply::error("ERR Protocol error: invalid bulk length"));
    assert_eq!(client.try_answer().await, None);
}

/// More quotas than the cache has slots, so that some have to wait for others.
#[tokio::test]
async fn many_waiting_quotas_are_kept_apart() {
    let clock = ManualClock::default();
    let store = SlowStore(Memory::with_clock(clock.clone()));
    let gate = TestServer::open_with(Server::new(by_rules(store, "rules: []")), clock).await;
    let mut client = gate.resp().await;
    let sent = (1..300).map(|burst| words(&format!("CL.THROTTLE k{burst} {burst} 1 10")));
    client.send(sent.collect::<Vec<_>>().concat()).await;
    for burst in 1..300 {
        assert_eq!(client.answer().await, RespReply::numbers([0, burst + 1, burst, -1, 10]));
    }
}

#[tokio::test]
async fn store_errors_are_reported_and_the_connection_continues() {
    let clock = ManualClock::default();
    let store = SlowStore(Memory::with_clock(clock.clone()));
    let gate = TestServer::open_with(Server::new(by_rules(store, "rules: []")), clock).await;
    let mut client = gate.resp().await;
    let error = "Cell error: cannot change what the store keeps: it is asleep; what was taken comes \
                 back by itself in time, or ask again";
    assert_eq!(client.ask("CL.THROTTLE none 1 1 1").await, RespReply::error(error));
    assert_eq!(client.ask("CL.THROTTLE some 1 1 1").await, RespReply::numbers([0, 2, 1, -1, 1]));
}
