//! A series under an assumed resemblance of neighbours: steps and levels by generalised
//! least squares.

use super::clean::{SHORTEST_SEGMENT, scale_of_differences};

/// The values of the segment of that number between changes.
pub(super) fn segment(length: usize, changes: &[usize], number: usize) -> (usize, usize) {
    let from = number.checked_sub(1).map_or(0, |before| changes[before]);
    (from, changes.get(number).copied().unwrap_or(length))
}

/// A series and sums of `z_t = x_t − φ·x_{t−1}`, which are independent around constants
/// if the noise is an autoregression with the coefficient φ.
pub(super) struct Whitened<'v> {
    values: &'v [f64],
    alike: f64,
    /// Sums of `z` before each place, from the second value on.
    sums: Vec<f64>,
    /// Sum of all `z²` and the first value's `(1 − φ²)·x²`.
    squares: f64,
    innovation: f64,
}

/// Levels of all segments, and what they leave.
pub(super) struct Levels {
    pub(super) levels: Vec<f64>,
    /// Sum of the squared innovations.
    pub(super) rest: f64,
}

impl<'v> Whitened<'v> {
    pub(super) fn new(values: &'v [f64], alike: f64) -> Self {
        let z: Vec<f64> = (values.windows(2))
            .map(|pair| pair[1] - alike * pair[0])
            .collect();
        let mut sum = 0.0;
        let mut sums = Vec::with_capacity(values.len() + 1);
        sums.extend([0.0; 2]);
        sums.extend(z.iter().map(|z| {
            sum += z;
            sum
        }));
        let first = values
            .first()
            .map_or(0.0, |x| (1.0 - alike * alike) * x * x);
        Self {
            values,
            alike,
            sums,
            squares: first + z.iter().map(|z| z * z).sum::<f64>(),
            innovation: scale_of_differences(&z),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    /// Deviation of the innovations, by differences of neighbours.
    pub(super) fn innovation(&self) -> f64 {
        self.innovation
    }

    /// Returns the place in `from..to` where a step reduces the sum of squares most, and by how
    /// much.
    pub(super) fn best(&self, from: usize, to: usize) -> Option<(usize, f64)> {
        let last = to.checked_sub(SHORTEST_SEGMENT)?;
        let without = Constant::of(self, from, to);
        let mut best = (0, -1.0);
        for at in from + SHORTEST_SEGMENT..=last {
            let gain = without.gain(self, at);
            if gain > best.1 {
                best = (at, gain);
            }
        }
        (best.1 >= 0.0).then_some(best)
    }

    /// What a step at `at` takes off the sum of squares of the values `from..to`.
    pub(super) fn gain(&self, from: usize, at: usize, to: usize) -> f64 {
        Constant::of(self, from, to).gain(self, at)
    }

    /// The standard error of the step at `at` in the values `from..to`, for innovations of
    /// deviation one.
    pub(super) fn step_error(&self, from: usize, at: usize, to: usize) -> f64 {
        Constant::of(self, from, to).free(at).sqrt().recip()
    }

    /// The levels of the segments between changes that fit best, all together: a
    /// tridiagonal system, since a value depends on its own level and its predecessor's.
    pub(super) fn levels(&self, changes: &[usize]) -> Levels {
        let (alike, kept) = (self.alike, 1.0 - self.alike);
        let scale = 1.0 - alike * alike;
        let count = changes.len() + 1;
        let mut diagonal = Vec::with_capacity(count);
        let mut right = Vec::with_capacity(count);
        for segment in 0..count {
            let (from, to) = self::segment(self.len(), changes, segment);
            let inner = kept * kept * (to - from - 1) as f64;
            let right_side = kept * (self.sums[to] - self.sums[from + 1]);
            let (first, first_term) = match segment {
                0 => (scale, scale * self.values[0]),
                _ => (1.0, self.z(from)),
            };
            // As the predecessor of the next segment's first value.
            let (next, next_term) = match changes.get(segment) {
                Some(next) => (alike * alike, -alike * self.z(*next)),
                None => (0.0, 0.0),
            };
            diagonal.push(inner + first + next);
            right.push(right_side + first_term + next_term);
        }
        let right_side = right.clone();
        // Thomas's algorithm; the off-diagonal entries are −φ.
        for row in 1..count {
            let factor = -alike / diagonal[row - 1];
            diagonal[row] += factor * alike;
            right[row] -= factor * right[row - 1];
        }
        let mut levels = vec![0.0; count];
        for row in (0..count).rev() {
            let next = levels.get(row + 1).copied().unwrap_or(0.0);
            levels[row] = (right[row] + alike * next) / diagonal[row];
        }
        let explained: f64 = levels
            .iter()
            .zip(&right_side)
            .map(|(level, right_side)| level * right_side)
            .sum();
        Levels {
            levels,
            rest: (self.squares - explained).max(0.0),
        }
    }

    fn z(&self, at: usize) -> f64 {
        self.sums[at + 1] - self.sums[at]
    }
}

/// The values `from..to` with one level.
///
/// In `z` a level is `1 − φ` times itself (in the first value, scaled to the same
/// variance, `√(1 − φ²)` times), and a step counts in full where it happens and `1 − φ`
/// times behind.
struct Constant {
    to: usize,
    kept: f64,
    level: f64,
    per_square: f64,
}

impl Constant {
    fn of(series: &Whitened<'_>, from: usize, to: usize) -> Self {
        let kept = 1.0 - series.alike;
        let scale = 1.0 - series.alike * series.alike;
        let square = scale + (to - from - 1) as f64 * kept * kept;
        let inner = series.sums[to] - series.sums[from + 1];
        Self {
            to,
            kept,
            level: (scale * series.values[from] + kept * inner) / square,
            per_square: square.recip(),
        }
    }

    /// Product of level and step, and the step's square less what the level has of it, for
    /// a step with so many values behind its first.
    fn products(&self, behind: f64) -> (f64, f64) {
        let rest = behind * self.kept;
        let common = self.kept * (1.0 + rest);
        let free = 1.0 + rest * self.kept - common * common * self.per_square;
        (common, free)
    }

    fn free(&self, at: usize) -> f64 {
        self.products((self.to - at - 1) as f64).1
    }

    fn gain(&self, series: &Whitened<'_>, at: usize) -> f64 {
        let (common, free) = self.products((self.to - at - 1) as f64);
        let (here, next, end) = (series.sums[at], series.sums[at + 1], series.sums[self.to]);
        let product = next - here + self.kept * (end - next) - common * self.level;
        product * product / free
    }
}
