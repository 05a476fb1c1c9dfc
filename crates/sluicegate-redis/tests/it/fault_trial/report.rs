//! The report of a trial.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use sluicegate::DecidedBy;
use sluicegate_audit::{Audit, OutagePolicy, TraceHeader};
use sluicegate_core::{OnStoreError, Per, Span, Time};

use super::record::Record;
use super::rules::Rules;
use super::{NODES, is_long, usual_deadline};

/// The report of a trial.
pub(crate) struct Report {
    pub(crate) records: Vec<Record>,
    began: Time,
    ended: Time,
    /// The longest stall of the machine during the trial.
    pub(crate) stalled: Duration,
}

impl Report {
    pub(super) fn new(
        mut records: Vec<Record>,
        (began, ended): (Time, Time),
        stalled: Duration,
    ) -> Self {
        records.sort_by_key(|record| record.at);
        assert!(!records.is_empty(), "there were checks");
        Self { records, began, ended, stalled }
    }

    /// The period of decisions without the store. The store may have received their checks before.
    pub(crate) fn away(&self) -> Option<(Time, Time)> {
        let away = || self.records.iter().filter(|record| !record.is_shared());
        Some((away().map(|record| record.sent).min()?, away().map(Record::answered).max()?))
    }

    /// A header for the trace: the outage that the trial caused, or the longer one that a busy
    /// machine made of it.
    pub(crate) fn header(&self, outage: Option<(Time, Time)>) -> TraceHeader {
        let header = Rules::header().nodes(u32::try_from(NODES).unwrap());
        match self.with_away(outage) {
            Some((from, until)) => {
                header.outage(from.as_micros(), until.as_micros(), OutagePolicy::Local)
            }
            None => header,
        }
    }

    fn with_away(&self, outage: Option<(Time, Time)>) -> Option<(Time, Time)> {
        let spans = [outage, self.away()].into_iter().flatten();
        spans.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)))
    }

    /// By then all decisions of the store have arrived, however late.
    const ANSWERED_WITHIN_US: u64 = 250_000;

    /// Asserts all bounds, under these circumstances.
    ///
    /// Answers are compared before an outage, and once no effect of it can be left: in between the
    /// arrival of calls in doubt and of replayed charges is unknown.
    pub(crate) fn audit(&self, header: &TraceHeader) {
        let Some(outage) = header.outages.first() else {
            self.audit_part(header.clone(), |_| true);
            return;
        };
        let ended = header.outages.iter().map(|outage| outage.until_us).max().unwrap();
        let expected =
            TraceHeader { outages: Vec::new(), state_losses: Vec::new(), ..header.clone() };
        self.audit_expected(&expected, (outage.from_us, ended));
        self.audit_part(TraceHeader { clock_error_us: 1, ..header.clone() }, |_| true);
    }

    /// Answers were right before this, and once no effect of it can be left; in between there was
    /// more than one store, and the test has to state the bounds.
    pub(crate) fn audit_around(&self, several: (Time, Time)) {
        let expected = Rules::header().nodes(u32::try_from(NODES).unwrap());
        let (from, until) = self.with_away(Some(several)).unwrap();
        self.audit_expected(&expected, (from.as_micros(), until.as_micros()));
    }

    fn audit_expected(&self, expected: &TraceHeader, (from_us, until_us): (u64, u64)) {
        // By the time of the decision, not of the answer: decisions of the store right before the
        // outage may have lost their answers, and are counted all the same.
        let certain = from_us.saturating_sub(Self::ANSWERED_WITHIN_US);
        self.audit_part(expected.clone(), |record| record.at.as_micros() < certain);
        let settled = until_us + Rules::longest_recovery().as_micros() + 500_000;
        let after = TraceHeader { fresh: Some(false), ..expected.clone() };
        self.audit_part(after, |record| record.sent.as_micros() > settled);
    }

    fn audit_part(&self, header: TraceHeader, is_part: impl Fn(&Record) -> bool) {
        let mut audit = Audit::new(header).unwrap();
        for record in self.records.iter().filter(|record| is_part(record)) {
            audit.add(record.entry());
        }
        let findings = audit.finish();
        assert!(findings.is_ok(), "{findings}");
    }

    /// Asserts that each answer without the store follows its rule.
    pub(crate) fn assert_policies(&self) {
        for record in self.records.iter().filter(|record| !record.is_shared()) {
            let right = match Rules::outage(record.rule) {
                OnStoreError::Local => record.by == DecidedBy::Share,
                OnStoreError::Allow => record.by == DecidedBy::Policy && record.allowed,
                OnStoreError::Deny => record.by == DecidedBy::Policy && !record.allowed,
            };
            assert!(right, "{record:?}");
        }
    }

    /// Asserts that no key was admitted more than its rate and this number of bursts, over the
    /// whole trial.
    pub(crate) fn assert_bursts(&self, bursts: u64) {
        self.assert_beyond_rate(|rule| {
            let quota = Rules::quota(rule);
            bursts * quota.burst().unwrap_or(quota.amount())
        });
    }

    /// Asserts that no key was admitted more than its rate and this number of units, over the whole
    /// trial.
    pub(crate) fn assert_beyond_rate(&self, units: impl Fn(usize) -> u64) {
        let mut admitted: HashMap<(usize, usize), u64> = HashMap::new();
        for record in self.records.iter().filter(|record| record.allowed) {
            *admitted.entry((record.rule, record.key)).or_default() += 1;
        }
        let lasted = self.ended.since(self.began).as_micros();
        let mut tightest: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        for ((rule, key), admitted) in admitted {
            if Rules::outage(rule) == OnStoreError::Allow {
                continue;
            }
            let quota = Rules::quota(rule);
            let Per::Span(period) = quota.per() else { panic!("a bucket has a span") };
            let refilled = quota.amount() * lasted / period.as_micros() + 1;
            let allowed = refilled + units(rule);
            let name = Rules::name(rule);
            assert!(
                admitted <= allowed,
                "{name} {key} was admitted {admitted}, {allowed} are promised"
            );
            let most = tightest.entry(name).or_default();
            *most = (*most).max((admitted, allowed));
        }
        for (name, (admitted, allowed)) in tightest {
            eprintln!("  {name}: at most {admitted} of {allowed}");
        }
    }

    /// The latencies of checks sent in between.
    pub(crate) fn waits(&self, (from, until): (Time, Time)) -> Latencies {
        let during = |record: &&Record| from <= record.sent && record.sent < until;
        let waits = self.records.iter().filter(during).map(|record| record.waited);
        Latencies::of(waits.collect(), self.stalled)
    }

    /// Reports the other answers during a long latency: if there are none, the machine stalled.
    pub(crate) fn report_long_waits(&self, longest: Span) {
        let mut slow: Vec<&Record> = self.records.iter().collect();
        slow.retain(|record| record.waited > longest);
        slow.sort_by_key(|record| std::cmp::Reverse(record.waited));
        for record in slow.into_iter().take(10) {
            let (from, until) = (record.sent, record.answered());
            let meanwhile = self.records.iter();
            let meanwhile = meanwhile.filter(|other| from < other.sent && other.answered() < until);
            let meanwhile = meanwhile.count();
            let waited = Duration::from(record.waited);
            eprintln!("  {waited:?} for {record:?}; {meanwhile} others were answered meanwhile");
        }
    }

    pub(crate) fn all_waits(&self) -> Latencies {
        self.waits((self.began, self.ended))
    }
}

/// The latencies of some answers.
#[derive(Debug)]
pub(crate) struct Latencies {
    count: usize,
    p50: Duration,
    p99: Duration,
    longest: Duration,
    /// The longest stall of the machine meanwhile.
    stalled: Duration,
}

impl Latencies {
    fn of(mut waits: Vec<Span>, stalled: Duration) -> Self {
        waits.sort_unstable();
        let at = |percent: usize| {
            let index = (waits.len() * percent).div_ceil(100).saturating_sub(1);
            waits.get(index).copied().map_or(Duration::ZERO, Duration::from)
        };
        Self { count: waits.len(), p50: at(50), p99: at(99), longest: at(100), stalled }
    }
}

/// Asserts the bounds of latencies in a long run, and otherwise that no latency exceeds the
/// deadline by more than the machine explains.
///
/// Callers that are released late wait until a heartbeat fails, after half a second.
pub(crate) fn assert_waits(waits: &Latencies, p99: Duration, longest: Duration) {
    let Latencies { count, p50, p99: found, longest: slowest, stalled } = waits;
    eprintln!(
        "  {count} waits: half up to {p50:?}, 99 % up to {found:?}, all up to {slowest:?}; \
         the machine stalled for up to {stalled:?}"
    );
    assert!(waits.count > 0, "there were checks");
    if is_long() {
        assert!(waits.p99 <= p99, "{waits:?}, at most {p99:?} is promised for 99 %");
        assert!(waits.longest <= longest, "{waits:?}, at most {longest:?} is promised for all");
    } else {
        let excused = usual_deadline() + Duration::from_millis(150) + *stalled * 5;
        assert!(waits.longest <= excused, "{waits:?}, at most {excused:?} on this machine");
    }
}
