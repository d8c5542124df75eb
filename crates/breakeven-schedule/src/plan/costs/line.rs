//! The line through a window of observations: time = fixed + slope × size.
//!
//! Noise of times is multiplicative (a batch twice as long varies twice as much). Outliers are
//! slow, and may occur at any size, including the largest. Theil–Sen (`breakeven_stats::theil_sen`)
//! weighs absolute differences, so short batches count for nothing compared with long ones. It
//! needs three points and memory for every pair, and does not distinguish old from new. Instead, of
//! the lines through two of the points, the model takes the one with the least sum of *bounded
//! relative* residuals min(|1 − predicted / observed|, 2):
//!
//! - A batch that took 100 times too long adds at most 0.99, a prediction that is far too high at
//!   most 2. So outliers cost a bounded amount at any size, and of two times for one size the
//!   shorter is preferred.
//! - Newer observations weigh more (half as much every eighth), so a device that becomes slower or
//!   faster is followed within half a window.
//! - The bound makes the sum as robust as a redescending M-estimator (Huber and Ronchetti 2009,
//!   section 4.8). Trying all pairs finds its global minimum; descent could stop at an outlier.
//!
//! Lines with a negative coefficient are no candidates.

use crate::plan::Tuning;

/// Most points that a line is fitted to.
pub(super) const WINDOW: usize = 16;

/// Weight of the newest point, the one before it, …: 2^(−k/8).
const WEIGHTS: [f32; WINDOW] = [
    1.0,
    0.917_004,
    0.840_896_4,
    0.771_105_4,
    std::f32::consts::FRAC_1_SQRT_2,
    0.648_419_8,
    0.594_603_6,
    0.545_253_9,
    0.5,
    0.458_502,
    0.420_448_2,
    0.385_552_7,
    0.353_553_4,
    0.324_209_9,
    0.297_301_8,
    0.272_626_9,
];

/// Most candidates: three through every other of 16 points, and every other of
/// the 8 × 8 pairs. A multiple of the lanes.
const CANDIDATES: usize = 56;

/// Candidates that are evaluated at once.
const LANES: usize = 8;

/// A size and the time that it took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Point {
    /// Positive and finite.
    pub(super) size: f64,
    /// Positive and finite.
    pub(super) time: f64,
}

/// time = fixed + slope × size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Line {
    pub(super) fixed: f64,
    pub(super) slope: f64,
}

/// The line through the newest points, which come last; none without any.
///
/// `expected_share` is the fixed fraction of the time, 0 to 1. It decides as far as the points do
/// not show the fraction.
pub(super) fn robust_line(points: &[Point], expected_share: f32, tuning: &Tuning) -> Option<Line> {
    let points = &points[points.len().saturating_sub(WINDOW)..];
    let first = points.first()?;
    let (mut unit, mut largest) = (first.time, first.size);
    for point in points {
        unit = unit.min(point.time);
        largest = largest.max(point.size);
    }
    let scaled = Scaled::of(points, unit, largest);
    let (fixed, slope) = scaled.best(expected_share, tuning);
    let correction = scaled.correction(fixed, slope, tuning);
    Some(Line {
        fixed: f64::from(fixed * correction) * unit,
        slope: f64::from(slope * correction) * unit / largest,
    })
}

/// The points in units of the shortest time and the largest size, in single
/// precision: a noise of 10⁻⁷ is nothing here, and twice as many fit a register.
struct Scaled {
    count: usize,
    size: [f32; WINDOW],
    time: [f32; WINDOW],
    weight: [f32; WINDOW],
    /// The lower half of the sizes is below, the upper one is not.
    middle_size: f32,
}

impl Scaled {
    fn of(points: &[Point], unit: f64, largest: f64) -> Self {
        let count = points.len();
        let (per_time, per_size) = (unit.recip(), largest.recip());
        let mut scaled = Self {
            count,
            size: [0.0; WINDOW],
            time: [0.0; WINDOW],
            weight: [0.0; WINDOW],
            middle_size: 0.0,
        };
        for (index, point) in points.iter().enumerate() {
            scaled.size[index] = (point.size * per_size) as f32;
            scaled.time[index] = (point.time * per_time) as f32;
            scaled.weight[index] = WEIGHTS[count - 1 - index];
        }
        scaled.middle_size = scaled.middle();
        scaled
    }

    /// Returns the upper median of the sizes; if that is the smallest size, the next larger one, if
    /// any.
    fn middle(&self) -> f32 {
        let mut sorted = self.size;
        let sorted = &mut sorted[..self.count];
        sorted.sort_unstable_by(f32::total_cmp);
        let median = sorted[self.count / 2];
        let larger = sorted.iter().copied().find(|&size| size > sorted[0]);
        larger.map_or(median, |larger| median.max(larger))
    }

    /// Returns the fixed time and slope of the candidate with the least loss.
    fn best(&self, expected_share: f32, tuning: &Tuning) -> (f32, f32) {
        let candidates = self.candidates(expected_share);
        let losses = self.losses(&candidates, expected_share, tuning);
        let mut best = 0;
        for index in 1..candidates.count {
            if losses[index] < losses[best] {
                best = index;
            }
        }
        (candidates.fixed[best], candidates.slope[best])
    }

    /// Returns lines through one point (with the expected share, through the origin, level) and
    /// through two points (of all pairs, those from different halves of the sizes: the slope of
    /// close neighbours is mostly noise).
    fn candidates(&self, expected_share: f32) -> Candidates {
        let mut candidates = Candidates {
            count: 0,
            fixed: [0.0; CANDIDATES],
            slope: [0.0; CANDIDATES],
        };
        // Of many points every other one: the newest is always among them.
        let step = if self.count > WINDOW / 2 { 2 } else { 1 };
        for (&size, &time) in self.points().rev().step_by(step) {
            candidates.push(expected_share * time, (1.0 - expected_share) * time / size);
            candidates.push(0.0, time / size);
            candidates.push(time, 0.0);
        }
        // Pairs without a branch that depends on the data.
        let (mut lower, mut upper) = ([(0.0, 0.0); WINDOW], [(0.0, 0.0); WINDOW]);
        let (mut below, mut above) = (0, 0);
        for (&size, &time) in self.points() {
            (lower[below], upper[above]) = ((size, time), (size, time));
            below += usize::from(size < self.middle_size);
            above += usize::from(size >= self.middle_size);
        }
        for (index, &(size, time)) in lower[..below].iter().enumerate() {
            for &(larger, later) in upper[..above].iter().skip(index % step).step_by(step) {
                let slope = (later - time) / (larger - size);
                candidates.push(time - slope * size, slope);
            }
        }
        candidates
    }

    fn points(&self) -> impl DoubleEndedIterator<Item = (&f32, &f32)> + ExactSizeIterator {
        self.size[..self.count].iter().zip(&self.time[..self.count])
    }

    /// Returns for each candidate the weighted sum of its residuals, plus the penalty for an
    /// unexpected share.
    fn losses(
        &self,
        candidates: &Candidates,
        expected_share: f32,
        tuning: &Tuning,
    ) -> [f32; CANDIDATES] {
        let mut terms = [[0.0; 3]; WINDOW];
        let mut total_weight = 0.0;
        for (index, term) in terms[..self.count].iter_mut().enumerate() {
            let weight = self.weight[index];
            let per_time = weight / self.time[index];
            *term = [weight, per_time, self.size[index] * per_time];
            total_weight += weight;
        }
        let unexpected = tuning.unexpected_share * total_weight;
        let mut losses = [0.0; CANDIDATES];
        let blocks = candidates.count.div_ceil(LANES);
        let fixed = candidates.fixed.as_chunks::<LANES>().0;
        let slope = candidates.slope.as_chunks::<LANES>().0;
        let sums = losses.as_chunks_mut::<LANES>().0;
        for ((fixed, slope), sums) in fixed.iter().zip(slope).zip(sums).take(blocks) {
            let mut sum = [0.0_f32; LANES];
            for lane in 0..LANES {
                let share = fixed[lane] / (fixed[lane] + slope[lane] * self.middle_size);
                sum[lane] = unexpected * (share - expected_share).abs();
            }
            for &[weight, per_fixed, per_slope] in &terms[..self.count] {
                let most = (tuning.most_off as f32 - 1.0) * weight;
                for lane in 0..LANES {
                    let off = weight - fixed[lane] * per_fixed - slope[lane] * per_slope;
                    let off = off.abs();
                    sum[lane] += if off < most { off } else { most };
                }
            }
            *sums = sum;
        }
        losses
    }

    /// Returns the mean of observed over predicted, without outliers. It corrects for the noise of
    /// the two points that the line passes through exactly.
    ///
    /// Slow points after the first inlier count too, except the slowest: occasional long times are
    /// part of the average. Slow points before it are a first run's, or from a time when the device
    /// was slower.
    fn correction(&self, fixed: f32, slope: f32, tuning: &Tuning) -> f32 {
        let inlier = tuning.inlier;
        let (mut sum, mut weights) = (0.0, 0.0);
        let mut slowest = (0.0, 0.0);
        for index in 0..self.count {
            let ratio = self.time[index] / (fixed + slope * self.size[index]);
            let weight = self.weight[index];
            if (1.0 / inlier..=inlier).contains(&ratio) {
                sum += weight * ratio;
                weights += weight;
            } else if ratio > inlier && weights > 0.0 {
                sum += weight * ratio;
                weights += weight;
                if ratio > slowest.0 {
                    slowest = (ratio, weight);
                }
            }
        }
        let (ratio, weight) = slowest;
        let (sum, weights) = (sum - ratio * weight, weights - weight);
        if weights > 0.0 { sum / weights } else { 1.0 }
    }
}

/// Candidate lines, in one array per coefficient so that the compiler can vectorise.
struct Candidates {
    count: usize,
    fixed: [f32; CANDIDATES],
    slope: [f32; CANDIDATES],
}

impl Candidates {
    fn push(&mut self, fixed: f32, slope: f32) {
        self.fixed[self.count] = fixed;
        self.slope[self.count] = slope;
        // A line that falls, or begins below 0, is overwritten by the next.
        // There is room: `candidates` pushes no more than CANDIDATES.
        self.count += usize::from(fixed >= 0.0 && slope >= 0.0);
    }
}
