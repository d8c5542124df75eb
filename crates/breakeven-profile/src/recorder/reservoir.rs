//! A sample of bounded size, drawn evenly from a stream of unknown length.
//!
//! Algorithm L of Li (1994, "Reservoir-sampling algorithms of time complexity O(n(1 + log(N/n)))"):
//! it draws how many values to skip until the next one is kept, so a skipped value costs one
//! comparison.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::writer::{Random, Writer};

/// Values that a full reservoir holds.
pub(super) const CAPACITY: u64 = 1_024;

/// First slot of each chunk. A reservoir with few values uses little memory.
const CHUNKS: [u64; 4] = [0, 16, 64, 256];

/// "No value" in a slot that was never written.
const NONE: u64 = u64::MAX;

/// The slots of a reservoir. One thread writes, any may read.
#[derive(Debug)]
pub(super) struct Slots([OnceLock<Box<[AtomicU64]>>; CHUNKS.len()]);

impl Slots {
    pub(super) const fn new() -> Self {
        Self([const { OnceLock::new() }; CHUNKS.len()])
    }

    fn chunk_of(slot: u64) -> (usize, u64) {
        let chunk = CHUNKS.iter().rposition(|first| *first <= slot);
        let chunk = chunk.expect("the first chunk begins at 0");
        (chunk, CHUNKS[chunk])
    }

    pub(super) fn set(&self, slot: u64, value: u64, writer: &Writer) {
        let (chunk, first) = Self::chunk_of(slot);
        let slots = self.0[chunk].get_or_init(|| {
            let end = CHUNKS.get(chunk + 1).unwrap_or(&CAPACITY);
            // An allocator that records must not reach this slot again.
            writer.quiet(|| (first..*end).map(|_| AtomicU64::new(NONE)).collect())
        });
        slots[index(slot - first)].store(value, Relaxed);
    }

    pub(super) fn unset(&self, slot: u64) {
        let (chunk, first) = Self::chunk_of(slot);
        if let Some(slots) = self.0[chunk].get() {
            slots[index(slot - first)].store(NONE, Relaxed);
        }
    }

    /// The first `count` values; `None` for those that were never set.
    pub(super) fn first(&self, count: u64) -> impl Iterator<Item = Option<u64>> + '_ {
        (0..count.min(CAPACITY)).map(|slot| {
            let (chunk, first) = Self::chunk_of(slot);
            let slots = self.0[chunk].get()?;
            let value = slots[index(slot - first)].load(Relaxed);
            (value != NONE).then_some(value)
        })
    }

    /// Removes all values; the memory is reused.
    pub(super) fn clear(&self) {
        for slots in self.0.iter().filter_map(OnceLock::get) {
            slots.iter().for_each(|slot| slot.store(NONE, Relaxed));
        }
    }
}

fn index(slot: u64) -> usize {
    usize::try_from(slot).expect("a reservoir fits into memory")
}

/// Which values of the stream are kept.
#[derive(Debug)]
pub(super) struct Draw {
    /// Index of the next value that is kept.
    next: AtomicU64,
    /// Algorithm L's W, as bits of an f64.
    weight: AtomicU64,
}

impl Draw {
    pub(super) const fn new() -> Self {
        Self {
            next: AtomicU64::new(0),
            weight: AtomicU64::new(0),
        }
    }

    pub(super) fn clear(&self) {
        self.next.store(0, Relaxed);
    }

    /// True if the value of that index in the stream is kept.
    #[inline]
    pub(super) fn keeps(&self, index: u64) -> bool {
        index >= self.next.load(Relaxed)
    }

    /// Changes with each value that replaces another.
    pub(super) fn next(&self) -> u64 {
        self.next.load(Relaxed)
    }

    /// The slot for the kept value of that index.
    pub(super) fn slot(&self, index: u64, random: &Random) -> u64 {
        if index < CAPACITY {
            if index == CAPACITY - 1 {
                self.skip(index, 1.0, random);
            }
            return index;
        }
        let weight = f64::from_bits(self.weight.load(Relaxed));
        self.skip(index, weight, random);
        random.below(CAPACITY)
    }

    /// Draws which value after `index` is kept next.
    fn skip(&self, index: u64, weight: f64, random: &Random) {
        let weight = weight * (random.unit().ln() / CAPACITY as f64).exp();
        let left_out = (random.unit().ln() / (-weight).ln_1p()).floor();
        #[expect(clippy::cast_sign_loss, reason = "a quotient of two negative numbers")]
        let left_out = left_out as u64; // saturates
        self.weight.store(weight.to_bits(), Relaxed);
        self.next
            .store(index.saturating_add(left_out).saturating_add(1), Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill((slots, draw): (&Slots, &Draw), stream: u64, random: &Random) {
        for index in (0..stream).filter(|index| draw.keeps(*index)) {
            slots.set(draw.slot(index, random), index, &Writer::new());
        }
    }

    fn kept_of(stream: u64, random: &Random) -> Vec<u64> {
        let (slots, draw) = (Slots::new(), Draw::new());
        fill((&slots, &draw), stream, random);
        slots.first(stream).flatten().collect()
    }

    #[test]
    fn a_short_stream_is_kept_whole_and_in_order() {
        let random = Random::new(7);
        for length in [0, 1, 15, 16, 17, 300, CAPACITY] {
            assert!(
                kept_of(length, &random).into_iter().eq(0..length),
                "{length}"
            );
        }
    }

    #[test]
    fn every_part_of_a_long_stream_is_as_likely() {
        // 50 reservoirs over 100 000 values, counted by tenths of the stream:
        // chi-square with 9 degrees of freedom, 27.9 at 0.1 %. The seed is fixed.
        let random = Random::new(42);
        let mut tenths = [0_u64; 10];
        for _ in 0..50 {
            let kept = kept_of(100_000, &random);
            assert_eq!(kept.len() as u64, CAPACITY);
            for index in kept {
                tenths[usize::try_from(index / 10_000).unwrap()] += 1;
            }
        }
        let expected = 50.0 * CAPACITY as f64 / 10.0;
        let chi_square: f64 = tenths
            .iter()
            .map(|count| (*count as f64 - expected).powi(2) / expected)
            .sum();
        assert!(chi_square < 27.9, "{chi_square}: {tenths:?}");
    }

    #[test]
    fn a_cleared_reservoir_begins_again() {
        let (slots, draw, random) = (Slots::new(), Draw::new(), Random::new(3));
        fill((&slots, &draw), 5_000, &random);
        slots.clear();
        draw.clear();
        assert!(draw.keeps(0));
        slots.set(draw.slot(0, &random), 9, &Writer::new());
        assert_eq!(slots.first(1).collect::<Vec<_>>(), [Some(9)]);
        assert!(slots.first(CAPACITY).skip(1).all(|value| value.is_none()));
    }
}
