//! Finds where lines through the rounds' ratios cross zero.

use breakeven_stats::mean_interval;

use super::{LEVEL, SizeTimes};

/// How far beyond the bracket, as a factor, sizes are used for the lines.
const BEYOND: f64 = 1.5;

/// Fewest sizes that show how the curve bends; with fewer, only the bracket is known.
const LEAST_SIZES: usize = 4;

/// Ratios around a break-even, over the logarithm of the size.
pub(super) struct Crossings {
    /// ln(size), from the middle of the bracket.
    x: Vec<f64>,
    /// ln(device / other) of each round, at each x.
    rounds: Vec<Vec<f64>>,
    /// The middle of the bracket, ln.
    middle: f64,
    /// Half-width of the bracket and its surroundings, ln.
    reach: f64,
}

impl Crossings {
    /// The ratios of the sizes in the bracket and near it.
    pub(super) fn of(times: &[&SizeTimes], [low, high]: [f64; 2]) -> Self {
        let near = (low / BEYOND)..=(high * BEYOND);
        let times = times.iter().filter(|times| near.contains(&times.size));
        let middle = 0.5 * (low.ln() + high.ln());
        let rounds = |times: &SizeTimes| times.device_ns.len().min(times.over_ns.len());
        let count = times.clone().map(|times| rounds(times)).min().unwrap_or(0);
        // The last rounds are those in which all of these sizes were measured.
        let ratio = |times: &SizeTimes, round: usize| {
            let round = rounds(times) - count + round;
            (times.device_ns[round] / times.over_ns[round]).ln()
        };
        let rounds =
            (0..count).map(|round| times.clone().map(|times| ratio(times, round)).collect());
        let is_whole = |round: &Vec<f64>| round.iter().all(|ratio| ratio.is_finite());
        Self {
            x: (times.clone().map(|times| times.size.ln() - middle)).collect(),
            rounds: rounds.filter(is_whole).collect(),
            middle,
            reach: 0.5 * (high / low).ln() + BEYOND.ln(),
        }
    }

    /// The break-even and the ends of its interval, elements; none if there are too few sizes, or a
    /// round has no crossing.
    pub(super) fn estimate(&self) -> Option<[f64; 3]> {
        if self.x.len() < LEAST_SIZES {
            return None;
        }
        let roots = self.rounds.iter().map(|round| self.root(round));
        let roots = roots.collect::<Option<Vec<f64>>>()?;
        let mean = self.mean_round();
        let straight = self.root(&mean)?;
        let bend = self.bent_root(&mean).map_or(0.0, |bent| bent - straight);
        let kink = self.crossing(&mean).map_or(0.0, |kink| kink - straight);
        let [low, high] = mean_interval(&roots, LEVEL).ok()?;
        let centre = 0.5 * (low + high);
        // The parabola fits a curve that bends; interpolation between neighbours fits one with a
        // corner.
        let low = low + bend.min(kink).min(0.0);
        let high = high + bend.max(kink).max(0.0);
        Some([centre + bend, low, high].map(|x| (self.middle + x).exp()))
    }

    fn mean_round(&self) -> Vec<f64> {
        let count = self.rounds.len().max(1) as f64;
        let sum = |at: usize| self.rounds.iter().fold(0.0, |sum, round| sum + round[at]);
        (0..self.x.len()).map(|at| sum(at) / count).collect()
    }

    /// Where the least-squares line through `y` falls through zero.
    fn root(&self, y: &[f64]) -> Option<f64> {
        let n = self.x.len() as f64;
        let mean = |values: &[f64]| values.iter().fold(0.0, |sum, value| sum + value) / n;
        let (mx, my) = (mean(&self.x), mean(y));
        let (mut sxx, mut sxy) = (0.0, 0.0);
        for (x, y) in self.x.iter().zip(y) {
            sxx += (x - mx) * (x - mx);
            sxy += (x - mx) * (y - my);
        }
        let root = mx - my * sxx / sxy;
        (sxy < 0.0 && root.abs() <= self.reach).then_some(root)
    }

    /// Where the line through the last two neighbours crosses zero downwards.
    fn crossing(&self, y: &[f64]) -> Option<f64> {
        let falls = |at: &usize| y[*at] > 0.0 && y[*at + 1] <= 0.0;
        let at = (0..y.len().saturating_sub(1)).rev().find(falls)?;
        let part = y[at] / (y[at] - y[at + 1]);
        Some(self.x[at] + part * (self.x[at + 1] - self.x[at]))
    }

    /// The zero at which a parabola falls.
    fn bent_root(&self, y: &[f64]) -> Option<f64> {
        let [c, b, a] = self.parabola(y)?;
        let root = match a.abs() < 1e-9 * b.abs() {
            true => -c / b,
            false => {
                let square = (b * b - 4.0 * a * c).max(0.0).sqrt();
                // The derivative at (-b - square) / 2a is -square.
                (-b - square) / (2.0 * a)
            }
        };
        (root.abs() <= self.reach).then_some(root)
    }

    /// Least squares of c + b·x + a·x², by the normal equations: x is within a
    /// few units of zero, so they are well conditioned.
    fn parabola(&self, y: &[f64]) -> Option<[f64; 3]> {
        let mut rows = [[0.0; 4]; 3];
        for (x, y) in self.x.iter().zip(y) {
            let powers = [1.0, *x, x * x];
            for (row, power) in rows.iter_mut().zip(powers) {
                for (cell, other) in row.iter_mut().zip(powers) {
                    *cell += power * other;
                }
                row[3] += power * y;
            }
        }
        for pivot in 0..3 {
            let best = (pivot..3).max_by(|&a, &b| {
                let size = |row: usize| rows[row][pivot].abs();
                size(a).total_cmp(&size(b))
            })?;
            rows.swap(pivot, best);
            let divisor = rows[pivot][pivot];
            if divisor.abs() < 1e-12 {
                return None;
            }
            rows[pivot].iter_mut().for_each(|cell| *cell /= divisor);
            let of_pivot = rows[pivot];
            for (index, row) in rows.iter_mut().enumerate() {
                let factor = row[pivot];
                if index != pivot {
                    row.iter_mut()
                        .zip(of_pivot)
                        .for_each(|(cell, by)| *cell -= factor * by);
                }
            }
        }
        Some([rows[0][3], rows[1][3], rows[2][3]])
    }
}
