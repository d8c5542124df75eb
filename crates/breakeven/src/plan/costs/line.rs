//! The line through a window of observations: time = fixed + slope × size.
//!
//! Noise of times is multiplicative (a batch twice as long varies twice as
//! much), strays are slow ones, and they may sit anywhere, also at the largest
//! size. Theil–Sen (`stats::theil_sen`) weighs absolute differences, so short
//! batches count for nothing beside long ones; it needs three points, takes
//! memory for every pair, and does not know old from new. Here the line is, of
//! those through two of the points, the one with the least sum of *bounded
//! relative* residuals min(|1 − predicted / observed|, 2):
//!
//! - A batch that took 100 times too long is off by 0.99 and no more, a
//!   prediction that is far too high by 2. So strays cost a bounded amount
//!   wherever they sit, and of two times for one size the short one is believed.
//! - Newer observations weigh more (half as much every eighth), so a device that
//!   has become slower or faster is followed within half a window.
//! - The bound makes the sum as robust as a redescending M-estimator (Huber and
//!   Ronchetti 2009, section 4.8), and trying all pairs finds its least value
//!   where descending would stop at a stray.
//!
//! Both coefficients are 0 or more: lines that are not, are no candidates.

/// Points that a line is drawn through, at most.
pub(super) const WINDOW: usize = 16;

/// The residual of a prediction that is far too high.
const MOST_RESIDUAL: f32 = 2.0;

/// What a fixed share that differs wholly from the expected one costs, as a mean
/// residual: sizes that hardly differ cannot tell one share from another, and
/// this decides there.
const UNEXPECTED_SHARE: f32 = 0.02;

/// Observed over predicted, or the inverse, of a point that is no stray.
const INLIER: f32 = 1.5;

/// Weight of the newest point, the one before it, …: 2^(−k/8).
const WEIGHTS: [f32; WINDOW] = [
    1.0,
    0.917_004,
    0.840_896_4,
    0.771_105_4,
    0.707_106_8,
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
/// `expected_share` is the fixed part of the time, 0 to 1, that is assumed as
/// far as the points do not tell.
pub(super) fn robust_line(points: &[Point], expected_share: f32) -> Option<Line> {
    let points = &points[points.len().saturating_sub(WINDOW)..];
    let first = points.first()?;
    let (mut unit, mut largest) = (first.time, first.size);
    for point in points {
        unit = unit.min(point.time);
        largest = largest.max(point.size);
    }
    let scaled = Scaled::of(points, unit, largest);
    let (fixed, slope) = scaled.best(expected_share);
    let correction = scaled.correction(fixed, slope);
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
    /// What `fixed` is multiplied with in predicted / observed: 1 / time.
    per_fixed: [f32; WINDOW],
    /// What `slope` is: size / time.
    per_slope: [f32; WINDOW],
    /// 0 past `count`.
    weight: [f32; WINDOW],
    total_weight: f32,
    /// The lower half of the sizes is below, the upper one is not.
    middle_size: f32,
}

impl Scaled {
    fn of(points: &[Point], unit: f64, largest: f64) -> Self {
        let count = points.len();
        let mut scaled = Self {
            count,
            size: [0.0; WINDOW],
            time: [0.0; WINDOW],
            per_fixed: [0.0; WINDOW],
            per_slope: [0.0; WINDOW],
            weight: [0.0; WINDOW],
            total_weight: WEIGHTS[..count]
                .iter()
                .fold(0.0, |sum, weight| sum + weight),
            middle_size: 0.0,
        };
        for (index, point) in points.iter().enumerate() {
            let time = (point.time / unit) as f32;
            let size = (point.size / largest) as f32;
            scaled.size[index] = size;
            scaled.time[index] = time;
            scaled.per_fixed[index] = 1.0 / time;
            scaled.per_slope[index] = size / time;
            scaled.weight[index] = WEIGHTS[count - 1 - index];
        }
        scaled.middle_size = scaled.middle();
        scaled
    }

    /// The upper median of the sizes; where that is the least of them, the next
    /// larger one, if there is one.
    fn middle(&self) -> f32 {
        let mut sorted = self.size;
        let sorted = &mut sorted[..self.count];
        sorted.sort_unstable_by(f32::total_cmp);
        let median = sorted[self.count / 2];
        let larger = sorted.iter().copied().find(|&size| size > sorted[0]);
        larger.map_or(median, |larger| median.max(larger))
    }

    /// Fixed part and slope of the candidate with the least loss.
    fn best(&self, expected_share: f32) -> (f32, f32) {
        let mut best = (0.0, 0.0);
        let mut least = f32::INFINITY;
        let mut consider = |fixed: f32, slope: f32| {
            let loss = self.loss(fixed, slope, expected_share);
            if loss < least {
                (best, least) = ((fixed, slope), loss);
            }
        };
        for (&size, &time) in self.points() {
            consider(expected_share * time, (1.0 - expected_share) * time / size);
            consider(0.0, time / size);
            consider(time, 0.0);
        }
        // Of all pairs those from either half: neighbours tell of noise only.
        for (&size, &time) in self.points().filter(|point| *point.0 < self.middle_size) {
            for (&larger, &later) in self.points().filter(|point| *point.0 >= self.middle_size) {
                let slope = (later - time) / (larger - size);
                let fixed = time - slope * size;
                if slope > 0.0 && fixed > 0.0 {
                    consider(fixed, slope);
                }
            }
        }
        best
    }

    fn points(&self) -> impl Iterator<Item = (&f32, &f32)> {
        self.size[..self.count].iter().zip(&self.time[..self.count])
    }

    /// The weighted sum of the residuals, and what an unexpected share costs.
    fn loss(&self, fixed: f32, slope: f32, expected_share: f32) -> f32 {
        let mut sums = [0.0_f32; 4];
        for index in 0..WINDOW {
            let ratio = fixed * self.per_fixed[index] + slope * self.per_slope[index];
            // `min` takes what is no number for the bound.
            let residual = (1.0 - ratio).abs().min(MOST_RESIDUAL);
            sums[index % 4] += self.weight[index] * residual;
        }
        let share = fixed / (fixed + slope * self.middle_size);
        let unexpected = UNEXPECTED_SHARE * self.total_weight * (share - expected_share).abs();
        (sums[0] + sums[1]) + (sums[2] + sums[3]) + unexpected
    }

    /// Mean of observed over predicted, of the points that are no strays: the
    /// line goes through two of them exactly, with their noise in it.
    fn correction(&self, fixed: f32, slope: f32) -> f32 {
        let (mut sum, mut weights) = (0.0, 0.0);
        for index in 0..self.count {
            let inverse = fixed * self.per_fixed[index] + slope * self.per_slope[index];
            let ratio = 1.0 / inverse;
            if (1.0 / INLIER..=INLIER).contains(&ratio) {
                sum += self.weight[index] * ratio;
                weights += self.weight[index];
            }
        }
        if weights > 0.0 { sum / weights } else { 1.0 }
    }
}
