//! EC2: credits that are saved up and spent.

use std::time::Duration;

use sluicegate_rules::{AttributeValue, Request};

use super::policy_test::PolicyTest;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);

fn working(credits: i64) -> [(&'static str, AttributeValue<'static>); 2] {
    [("instance", AttributeValue::Text("i-0abc")), ("credits", AttributeValue::Whole(credits))]
}

#[test]
fn works_at_full_speed_until_the_credits_are_spent_and_then_at_the_baseline() {
    let policy = PolicyTest::of("ec2-burst-credits");
    let both = working(2);
    let minute_of_both = Request::new().attributes(&both);
    // Two credits a minute are spent, 0.6 are earned: 864 last for 616 minutes, over ten hours.
    for minute in 0..616 {
        assert!(policy.ask(&minute_of_both).allowed, "minute {minute}");
        policy.wait(MINUTE);
    }
    // 864 + 616 × 0.6 − 616 × 2 = 1.6: the missing 0.4 are earned in 40 seconds.
    let refused = policy.refuse("cpu-credits", &minute_of_both);
    assert_eq!((refused.remaining, refused.retry_after), (1, Some(Duration::from_secs(40))));
    assert_eq!(policy.come_back("cpu-credits", &minute_of_both), Duration::from_secs(40));

    // From here on 36 credits an hour: 30 % of 2 × 60.
    let one = working(1);
    let minute_of_one = Request::new().attributes(&one);
    for _ in 0..3 {
        policy.wait(HOUR);
        assert_eq!(policy.burst(&minute_of_one), 36);
    }
}

#[test]
fn saves_a_day_of_credits_and_no_more() {
    let policy = PolicyTest::of("ec2-burst-credits");
    let (all, one) = (working(864), working(1));
    let (everything, little) = (Request::new().attributes(&all), Request::new().attributes(&one));
    assert_eq!(policy.admit(1, &everything).remaining, 0);
    assert_eq!(policy.refuse("cpu-credits", &little).retry_after, Some(Duration::from_secs(100)));
    policy.wait(23 * HOUR);
    let wait = policy.refuse("cpu-credits", &everything).retry_after;
    assert_eq!(wait, Some(HOUR), "24 hours' worth take 24 hours");
    policy.wait(7 * 24 * HOUR);
    assert_eq!(policy.admit(1, &everything).remaining, 0, "a week saves no more than a day");
    let more = working(865);
    assert_eq!(policy.refuse("cpu-credits", &Request::new().attributes(&more)).retry_after, None);
}

#[test]
fn gives_each_instance_its_own_account() {
    let policy = PolicyTest::of("ec2-burst-credits");
    let all = working(864);
    let other =
        [("instance", AttributeValue::Text("i-0def")), ("credits", AttributeValue::Whole(864))];
    policy.admit(1, &Request::new().attributes(&all));
    policy.admit(1, &Request::new().attributes(&other));
    let nobody = [("credits", AttributeValue::Whole(1))];
    policy.refuse("cpu-credits", &Request::new().attributes(&nobody));
}
