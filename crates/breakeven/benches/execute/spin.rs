//! Work of a known length that touches no memory.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// Steps of a xorshift generator (Marsaglia 2003), each waiting for the last. Not
/// inlined, so that it is the same code wherever it is called.
#[inline(never)]
pub(crate) fn spin(steps: u32, seed: u64) -> u64 {
    let mut state = seed | 1;
    for _ in 0..steps {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    state
}

/// Steps that take that long on a core of its own: by the least of many timings.
#[expect(clippy::cast_sign_loss, reason = "a length is not negative")]
pub(crate) fn steps_of(length: Duration) -> u32 {
    const STEPS: u32 = 20_000;
    let least = (0..50)
        .map(|seed| {
            let start = Instant::now();
            black_box(spin(black_box(STEPS), seed));
            start.elapsed()
        })
        .min()
        .expect("there were timings");
    let per_step = least.as_secs_f64() / f64::from(STEPS);
    (length.as_secs_f64() / per_step).round() as u32
}
