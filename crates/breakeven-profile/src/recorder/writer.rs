//! A thread's recording state: random numbers, and whether it may begin a call.

use std::cell::Cell;

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
