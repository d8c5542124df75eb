//! A sample of bounded size, drawn evenly from a stream of unknown length.
//!
//! Algorithm L of Li (1994, "Reservoir-sampling algorithms of time complexity O(n(1 + log(N/n)))"):
//! it draws how many values to skip until the next one is kept, so a skipped value costs one
//! comparison.

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

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

// A thread's recording state: random numbers, and whether it may begin a call.

/// Only for the writing thread; a field of its [`Local`](super::local::Local).
#[derive(Debug)]
pub(super) struct Writer {
    /// The switch's value when the thread last read it; 0 before.
    pub(super) state: Cell<u32>,
    /// True while the thread has a lock: an allocator that records must not enter again.
    pub(super) busy: Cell<bool>,
    pub(super) random: Random,
}

impl Writer {
    pub(super) const fn new() -> Self {
        Self {
            state: Cell::new(0),
            busy: Cell::new(false),
            random: Random::new(1),
        }
    }

    /// Runs `with` while this thread begins no call, because an allocator that records would wait
    /// for the locks in `with`.
    pub(super) fn quiet<R>(&self, with: impl FnOnce() -> R) -> R {
        let busy = self.busy.replace(true);
        // Sends every new call to `attach`, which finds the thread busy.
        let state = self.state.replace(0);
        let result = with();
        self.state.set(state);
        self.busy.set(busy);
        result
    }
}

/// A small generator: xorshift64* of Vigna (2016, "An experimental exploration
/// of Marsaglia's xorshift generators, scrambled").
#[derive(Debug)]
pub(super) struct Random(Cell<u64>);

impl Random {
    pub(super) const fn new(seed: u64) -> Self {
        Self(Cell::new(seed | 1))
    }

    pub(super) fn seed(&self, seed: u64) {
        // Neighbouring seeds must not give neighbouring streams.
        self.0.set(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    }

    fn next(&self) -> u64 {
        let mut state = self.0.get();
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        self.0.set(state);
        state.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// Above 0, below 1.
    pub(super) fn unit(&self) -> f64 {
        ((self.next() >> 11) as f64 + 0.5) * 2.0_f64.powi(-53)
    }

    /// A uniform number below `end` (up to a bias of `end` / 2^64).
    pub(super) fn below(&self, end: u64) -> u64 {
        let product = u128::from(self.next()) * u128::from(end);
        (product >> 64) as u64
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
