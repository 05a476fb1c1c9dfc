//! The heap memory of a state.

use super::{Blocks, Cooling, Holder, Holders, Stamp, State};

/// The approximate overhead of one allocation, with rounding.
const OVERHEAD: usize = 16;

impl State {
    /// Returns the bytes of this state on the heap, with the approximate allocator overhead.
    ///
    /// Zero for states that consist of a few numbers.
    pub fn heap_bytes(&self) -> usize {
        match self {
            Self::Vacant | Self::Bucket { .. } | Self::Window { .. } | Self::Settled { .. } => 0,
            Self::Blocks(blocks) => allocated::<Blocks>(1) + allocated::<u64>(blocks.counts.len()),
            Self::Log(stamps) => allocated::<Stamp>(stamps.capacity()),
            Self::Holders(holders) => {
                allocated::<Holders>(1) + allocated::<Holder>(holders.list.capacity())
            }
            Self::Cooling(cooling) => {
                let stamps = [cooling.failures.capacity(), cooling.attempts.capacity()];
                allocated::<Cooling>(1) + stamps.map(allocated::<Stamp>).iter().sum::<usize>()
            }
        }
    }
}

/// Returns the bytes of an allocation for `count` of `T`; zero without capacity.
fn allocated<T>(count: usize) -> usize {
    if count == 0 { 0 } else { count * size_of::<T>() + OVERHEAD }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::receipt::ChargeId;
    use crate::time::Time;

    #[test]
    fn counts_boxes_and_capacities() {
        let stamp = Stamp { at: Time::EPOCH, units: 1 };
        assert_eq!(State::Vacant.heap_bytes(), 0);
        assert_eq!(State::whole_bucket(Time::MAX).heap_bytes(), 0);
        assert_eq!(State::Settled { until: Time::MAX }.heap_bytes(), 0);
        assert_eq!(State::Log(Vec::new()).heap_bytes(), 0);

        let mut log = Vec::with_capacity(10);
        log.push(stamp);
        assert_eq!(State::Log(log).heap_bytes(), 10 * 16 + 16, "room counts, used or not");

        let blocks = Blocks { length: 1, newest: 1, counts: vec![1; 11].into() };
        assert_eq!(State::Blocks(Box::new(blocks)).heap_bytes(), 32 + 16 + 11 * 8 + 16);

        let mut holders = Holders::default();
        assert_eq!(State::Holders(Box::new(holders.clone())).heap_bytes(), 40 + 16);
        holders.list.reserve_exact(3);
        holders.list.push_back(Holder { id: ChargeId::from_bits(1), expires: Time::MAX, units: 1 });
        assert_eq!(State::Holders(Box::new(holders)).heap_bytes(), 40 + 16 + 3 * 32 + 16);

        let mut cooling = Cooling::default();
        assert_eq!(State::Cooling(Box::new(cooling.clone())).heap_bytes(), 64 + 16);
        cooling.failures = Vec::with_capacity(5);
        let failed = State::Cooling(Box::new(std::mem::take(&mut cooling)));
        assert_eq!(failed.heap_bytes(), 64 + 16 + 5 * 16 + 16);
        cooling.attempts.reserve_exact(3);
        assert_eq!(State::Cooling(Box::new(cooling)).heap_bytes(), 64 + 16 + 3 * 16 + 16);
    }
}
