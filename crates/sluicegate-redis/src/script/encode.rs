//! Encodes numbers and checks for the full script; `lua/set.lua` decodes them.
//!
//! Numbers are doubles in little-endian. All of them are whole and below 2^53.

use sluicegate_core::{
    BucketParameters, CarryOver, ChargeId, Check, ExactTime, Operation, Parameters, Receipt, Set,
    Span, Time,
};

use super::source::ScriptAlgorithms;

/// The limit up to which a double represents whole numbers exactly.
const EXACT: u64 = 1 << 53;

/// One encoded set, with the parts of the script that it needs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Encoder {
    pub(crate) bytes: Vec<u8>,
    pub(crate) parts: ScriptAlgorithms,
}

impl Encoder {
    /// Adds a check that uses the `cell`-th cell of its set, counted from 1, and the
    /// `remembered`-th as its idempotency record, if any.
    pub(crate) fn add(
        &mut self,
        set: &Set<'_>,
        index: usize,
        check: &Check<'_>,
        cell: u8,
        remembered: Option<u8>,
    ) {
        self.bytes.extend([cell, remembered.unwrap_or(0), check.is_alternative().into()]);
        self.limit(check, set.id().of_check(index));
        self.operation(check);
    }

    /// Adds a plain take from a bucket.
    pub(crate) fn add_take(&mut self, cell: u8, figures: &BucketParameters, least: u64, most: u64) {
        self.bytes.extend([cell, 0, 0]);
        self.begin(1, ScriptAlgorithms::BUCKET);
        self.bucket(figures);
        self.take(least, most, None);
    }

    fn limit(&mut self, check: &Check<'_>, id: ChargeId) {
        match check.limit().figures() {
            Parameters::Bucket(bucket) => {
                self.begin(1, ScriptAlgorithms::BUCKET);
                self.bucket(&bucket);
            }
            Parameters::Queue(bucket) => {
                self.begin(2, ScriptAlgorithms::BUCKET | ScriptAlgorithms::QUEUE);
                self.bucket(&bucket);
            }
            Parameters::FixedWindow { amount, deepest } => {
                self.begin(3, ScriptAlgorithms::FIXED_WINDOW);
                // Without a period the check is stale at any time, which a period of length zero
                // encodes.
                let (start, end) = check
                    .period()
                    .map_or((Time::EPOCH, Time::EPOCH), |period| (period.start(), period.end()));
                self.numbers([amount, deepest, start.as_micros(), end.as_micros()]);
            }
            Parameters::SlidingWindow { amount, slices, block, tick, deepest } => {
                self.begin(4, ScriptAlgorithms::SLIDING_WINDOW);
                self.numbers([amount, slices, block.as_micros(), tick.as_micros(), deepest]);
            }
            Parameters::SlidingLog { amount, window, deepest } => {
                self.begin(5, ScriptAlgorithms::TIMESTAMPS | ScriptAlgorithms::SLIDING_LOG);
                self.numbers([amount, window.as_micros(), deepest]);
            }
            Parameters::Concurrency { slots, lease } => {
                self.begin(6, ScriptAlgorithms::CONCURRENCY);
                self.numbers([slots, lease.as_micros()]);
                self.id(id);
            }
            Parameters::Cooldown(cooldown) => {
                let code = match (cooldown.pending, cooldown.reset_on_success) {
                    (Some(_), _) => 9,
                    (None, true) => 10,
                    (None, false) => 7,
                };
                self.begin(code, ScriptAlgorithms::TIMESTAMPS | ScriptAlgorithms::COOLDOWN);
                let (factor, longest) = cooldown.escalation.map_or((0, Span::ZERO), |escalation| {
                    (escalation.factor.into(), escalation.max)
                });
                let spans = [cooldown.within, cooldown.block].map(Span::as_micros);
                self.numbers([cooldown.after, spans[0], spans[1], factor, longest.as_micros()]);
                if let Some(pending) = cooldown.pending {
                    self.numbers([pending.as_micros(), cooldown.reset_on_success.into()]);
                }
            }
        }
    }

    fn operation(&mut self, check: &Check<'_>) {
        match check.operation() {
            Operation::Take(take) => {
                self.take(take.least(), take.most(), take.max_delay());
            }
            Operation::Charge(cost) => {
                self.bytes.push(2);
                self.numbers([cost.units()]);
            }
            Operation::Refund(cost) => {
                self.bytes.push(8);
                self.numbers([cost.units()]);
            }
            Operation::Settle { receipt, actual } => {
                self.bytes.push(3);
                self.receipt(&receipt);
                self.numbers([actual.units()]);
            }
            Operation::Renew(receipt) => {
                self.bytes.push(4);
                self.receipt(&receipt);
                self.numbers([0]);
            }
            Operation::Rescale { from, .. } => match check.limit().carry_over(from) {
                Some(CarryOver { from, remembered_for }) => {
                    self.begin(5, ScriptAlgorithms::RESCALE);
                    self.bucket(&from);
                    self.numbers([remembered_for.as_micros()]);
                }
                None => self.bytes.push(7),
            },
            Operation::Reset => self.bytes.push(6),
        }
    }

    fn take(&mut self, least: u64, most: u64, patience: Option<Span>) {
        const NO_PATIENCE: f64 = -1.0;
        self.bytes.push(1);
        self.numbers([least, most]);
        let patience = patience.map_or(NO_PATIENCE.to_le_bytes(), |span| double(span.as_micros()));
        self.bytes.extend(patience);
    }

    fn begin(&mut self, code: u8, parts: ScriptAlgorithms) {
        self.bytes.push(code);
        self.parts |= parts;
    }

    fn bucket(&mut self, figures: &BucketParameters) {
        let BucketParameters { capacity, parts, unit_parts, full, deepest, horizon } = *figures;
        self.numbers([capacity, parts, unit_parts]);
        for moment in [full, deepest, horizon] {
            self.exact_time(moment);
        }
    }

    fn exact_time(&mut self, moment: ExactTime) {
        self.numbers([moment.micros(), moment.parts()]);
    }

    fn receipt(&mut self, receipt: &Receipt) {
        let (end, parts) = receipt.exact_end();
        self.id(receipt.id());
        self.numbers([receipt.units(), receipt.at().as_micros()]);
        self.exact_time(end);
        self.numbers([parts, receipt.lapses().as_micros()]);
    }

    /// Big-endian, as in the states of concurrency limits.
    fn id(&mut self, id: ChargeId) {
        self.bytes.extend(id.to_bits().to_be_bytes());
    }

    fn numbers<const COUNT: usize>(&mut self, numbers: [u64; COUNT]) {
        for number in numbers {
            self.bytes.extend(double(number));
        }
    }
}

/// Encodes a number as a double. Numbers beyond 2^53 are only ever a patience, which is unlimited
/// in effect.
#[allow(clippy::cast_precision_loss, reason = "up to 2^53 there is none")]
pub(crate) fn double(number: u64) -> [u8; 8] {
    (number.min(EXACT) as f64).to_le_bytes()
}
