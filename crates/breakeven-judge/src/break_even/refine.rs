//! Chooses the sizes to time.

use super::{Signs, SizeTimes};

/// Sizes per doubling, near the break-even.
const PER_DOUBLING: f64 = 4.0;

/// How far beyond what is certain sizes are refined, as a factor.
const AROUND: f64 = 1.42;

/// Most sizes that are added at a time.
const MOST: usize = 12;

/// The sizes to begin with: `from`, doubled until `to`, and `to`; none if the range is empty.
pub fn coarse_sizes(from: u64, to: u64) -> Vec<u64> {
    let mut sizes = Vec::new();
    let mut size = from.max(1);
    while size < to {
        sizes.push(size);
        size = size.saturating_mul(2);
    }
    if from <= to && to > 0 {
        sizes.push(to);
    }
    sizes
}

impl Signs<'_> {
    /// The range around the break-even in which further times narrow its interval; none if there is
    /// no break-even.
    pub(super) fn around(&self) -> Option<[f64; 2]> {
        let (loses, pays) = self.bracket()?;
        Some([
            self.times[loses?].size / AROUND,
            self.times[pays].size * AROUND,
        ])
    }
}

/// Further sizes that would narrow the break-even's interval, given the times measured so far; none
/// if these contain no break-even.
pub fn refined_sizes(times: &[SizeTimes]) -> Vec<u64> {
    let signs = Signs::of(times);
    let Some([low, high]) = signs.around() else {
        return Vec::new();
    };
    let least = signs.times.first().map_or(low, |times| times.size);
    let most = signs.times.last().map_or(high, |times| times.size);
    let doublings = (high / low).log2();
    let count = (doublings * PER_DOUBLING).ceil().clamp(1.0, MOST as f64);
    let step = doublings / count;
    let known = |size: f64| {
        let near = |times: &SizeTimes| (times.size / size).log2().abs() < 0.5 * step;
        signs.times.iter().any(|times| near(times))
    };
    #[expect(clippy::cast_sign_loss, reason = "1 or more")]
    let whole = |size: f64| size as u64;
    let mut sizes: Vec<u64> = (0..=MOST)
        .map(|at| at as f64)
        .take_while(|at| *at <= count)
        .map(|at| (low * (at * step).exp2()).round())
        .filter(|size| *size >= least.max(1.0) && *size <= most && !known(*size))
        .map(whole)
        .collect();
    sizes.dedup();
    sizes
}
