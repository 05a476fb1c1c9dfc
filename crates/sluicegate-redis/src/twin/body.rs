//! Numbers and checks as the full script reads them; `lua/set.lua` is the other side.
//!
//! Numbers are doubles in little-endian: whole ones below 2^53, which is all there are.

use sluicegate_core::{
    Ask, BucketFigures, CarryOver, Check, Figures, Gate, Id, Moment, Receipt, Set, Span, Time,
};

use super::script::Parts;

/// The whole numbers that a double tells apart.
const EXACT: u64 = 1 << 53;

const OBSERVED: u8 = 1;
const ALTERNATIVE: u8 = 2;

/// One set in bytes, with the parts of the script that it needs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Body {
    pub(crate) bytes: Vec<u8>,
    pub(crate) parts: Parts,
}

impl Body {
    /// Adds a check that works on the `cell`-th cell of its set, counted from 1, and remembers
    /// what it does in the `remembered`-th, if any.
    pub(crate) fn add(
        &mut self,
        set: &Set<'_>,
        index: usize,
        check: &Check<'_>,
        cell: u8,
        remembered: Option<u8>,
    ) {
        let mut shape = 0;
        if check.gate() == Gate::Observe {
            shape |= OBSERVED;
        }
        if check.is_alternative() {
            shape |= ALTERNATIVE;
        }
        self.bytes.extend([cell, remembered.unwrap_or(0), shape]);
        self.limit(check, set.id().of_check(index));
        self.ask(check);
    }

    /// Adds a plain take from a bucket.
    pub(crate) fn add_take(&mut self, cell: u8, figures: &BucketFigures, least: u64, most: u64) {
        self.bytes.extend([cell, 0, 0]);
        self.begin(1, Parts::BUCKET);
        self.bucket(figures);
        self.take(least, most, None);
    }

    fn limit(&mut self, check: &Check<'_>, id: Id) {
        match check.limit().figures() {
            Figures::Bucket(bucket) => {
                self.begin(1, Parts::BUCKET);
                self.bucket(&bucket);
            }
            Figures::Queue(bucket) => {
                self.begin(2, Parts::BUCKET | Parts::QUEUE);
                self.bucket(&bucket);
            }
            Figures::FixedWindow { amount, deepest } => {
                self.begin(3, Parts::FIXED_WINDOW);
                // Without a period it is stale at any time, and so it is in one without length.
                let (start, end) = check
                    .period()
                    .map_or((Time::EPOCH, Time::EPOCH), |period| (period.start(), period.end()));
                self.numbers([amount, deepest, start.as_micros(), end.as_micros()]);
            }
            Figures::SlidingWindow { amount, slices, block, tick, deepest } => {
                self.begin(4, Parts::SLIDING_WINDOW);
                self.numbers([amount, slices, block.as_micros(), tick.as_micros(), deepest]);
            }
            Figures::SlidingLog { amount, window, deepest } => {
                self.begin(5, Parts::STAMPS | Parts::SLIDING_LOG);
                self.numbers([amount, window.as_micros(), deepest]);
            }
            Figures::Concurrency { slots, lease } => {
                self.begin(6, Parts::CONCURRENCY);
                self.numbers([slots, lease.as_micros()]);
                self.id(id);
            }
            Figures::Cooldown(cooldown) => {
                let code = match (cooldown.pending, cooldown.reset_on_success) {
                    (Some(_), _) => 9,
                    (None, true) => 10,
                    (None, false) => 7,
                };
                self.begin(code, Parts::STAMPS | Parts::COOLDOWN);
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

    fn ask(&mut self, check: &Check<'_>) {
        match check.asks() {
            Ask::Take(take) => {
                self.take(take.least(), take.most(), take.patience());
            }
            Ask::Charge(cost) => {
                self.bytes.push(2);
                self.numbers([cost.units()]);
            }
            Ask::Refund(cost) => {
                self.bytes.push(8);
                self.numbers([cost.units()]);
            }
            Ask::Settle { receipt, actual } => {
                self.bytes.push(3);
                self.receipt(&receipt);
                self.numbers([actual.units()]);
            }
            Ask::Renew(receipt) => {
                self.bytes.push(4);
                self.receipt(&receipt);
                self.numbers([0]);
            }
            Ask::Rescale { from, .. } => match check.limit().carry_over(from) {
                Some(CarryOver { from, remembered_for }) => {
                    self.begin(5, Parts::TIER);
                    self.bucket(&from);
                    self.numbers([remembered_for.as_micros()]);
                }
                None => self.bytes.push(7),
            },
            Ask::Reset => self.bytes.push(6),
        }
    }

    fn take(&mut self, least: u64, most: u64, patience: Option<Span>) {
        const NO_PATIENCE: f64 = -1.0;
        self.bytes.push(1);
        self.numbers([least, most]);
        let patience = patience.map_or(NO_PATIENCE.to_le_bytes(), |span| double(span.as_micros()));
        self.bytes.extend(patience);
    }

    fn begin(&mut self, code: u8, parts: Parts) {
        self.bytes.push(code);
        self.parts |= parts;
    }

    fn bucket(&mut self, figures: &BucketFigures) {
        let BucketFigures { capacity, parts, unit_parts, full, deepest, horizon } = *figures;
        self.numbers([capacity, parts, unit_parts]);
        for moment in [full, deepest, horizon] {
            self.moment(moment);
        }
    }

    fn moment(&mut self, moment: Moment) {
        self.numbers([moment.micros(), moment.parts()]);
    }

    fn receipt(&mut self, receipt: &Receipt) {
        let (end, parts) = receipt.exact_end();
        self.id(receipt.id());
        self.numbers([receipt.units(), receipt.at().as_micros()]);
        self.moment(end);
        self.numbers([parts, receipt.lapses().as_micros()]);
    }

    /// The highest byte first, as holders keep it.
    fn id(&mut self, id: Id) {
        self.bytes.extend(id.to_bits().to_be_bytes());
    }

    fn numbers<const COUNT: usize>(&mut self, numbers: [u64; COUNT]) {
        for number in numbers {
            self.bytes.extend(double(number));
        }
    }
}

/// A number as a script reads it. Larger ones than a double can tell are only ever a patience,
/// and as good as for ever.
#[allow(clippy::cast_precision_loss, reason = "up to 2^53 there is none")]
pub(crate) fn double(number: u64) -> [u8; 8] {
    (number.min(EXACT) as f64).to_le_bytes()
}
