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
        let bend = self
            .crossing(&mean)
            .map_or(0.0, |crossing| crossing - straight);
        let [low, high] = mean_interval(&roots, LEVEL).ok()?;
        let centre = 0.5 * (low + high);
        // The chord between two neighbours is no curve either.
        let (low, high) = (low + 2.0 * bend.min(0.0), high + 2.0 * bend.max(0.0));
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
}
