//! The fit of one series in float64, and its forecast.

/// A pivot is the fraction of a lag's variance that the lags before it leave; below this fraction
/// the remainder is the rounding of f32 input.
const SINGULAR: f64 = 1e-10;

/// A spread below this share of the mean is the rounding of float64: one step
/// of f32 in one point of a million is a spread of 6e-11.
const CONSTANT: f64 = 1e-12;

/// Independent running sums: enough to fill two vector registers.
const LANES: usize = 8;

/// What fitting a series needs, allocated once for many.
pub(super) struct Fit {
    lags: usize,
    /// The centred series, and after it the forecasts.
    centred: Vec<f64>,
    /// The normal equations, (lags + 1)²: row and column 0 are of y[t], the following ones of y[t −
    /// 1] … y[t − lags]. Only i ≤ j is filled.
    gram: Vec<f64>,
    /// Sums of y[t − i] over the fitted points.
    sums: Vec<f64>,
    /// φ1 … φp.
    coefficients: Vec<f64>,
}

impl Fit {
    pub(super) fn new(points: usize, lags: usize, steps: usize) -> Self {
        let rows = lags + 1;
        Self {
            lags,
            centred: Vec::with_capacity(points + steps),
            gram: vec![0.0; rows * rows],
            sums: vec![0.0; rows],
            coefficients: vec![0.0; lags],
        }
    }

    /// Writes the next points after `series`, or NaN if the fit is singular.
    #[inline(always)]
    pub(super) fn forecast(&mut self, series: &[f32], out: &mut [f32]) {
        let mean = sum_of(series) / series.len() as f64;
        self.centred.clear();
        self.centred
            .extend(series.iter().map(|value| f64::from(*value) - mean));
        self.collect();
        let smallest = (mean * CONSTANT).powi(2) * (series.len() - self.lags) as f64;
        if self.solve(smallest) {
            self.iterate(mean, out);
        } else {
            out.fill(f32::NAN);
        }
    }

    /// The sums and products of the lags over the fitted points.
    #[inline(always)]
    fn collect(&mut self) {
        let (p, n, z) = (self.lags, self.centred.len(), &self.centred[..]);
        let rows = p + 1;
        for distance in 0..rows {
            // z[s]·z[s + distance] for the s that all pairs of lags share.
            let middle = dot(&z[p - distance..n - p], &z[p..n - p + distance]);
            let mut head = middle;
            for i in 0..rows - distance {
                if i > 0 {
                    head += z[p - distance - i] * z[p - i];
                }
                self.gram[i * rows + i + distance] = head;
            }
            let mut tail = 0.0;
            for j in (distance..p).rev() {
                tail += z[n - 1 - j] * z[n - 1 - j + distance];
                self.gram[(j - distance) * rows + j] += tail;
            }
        }
        let middle = z[p..n - p].iter().fold(0.0, |sum, value| sum + value);
        let mut head = middle;
        for i in 0..rows {
            if i > 0 {
                head += z[p - i];
            }
            self.sums[i] = head;
        }
        let mut tail = 0.0;
        for i in (0..p).rev() {
            tail += z[n - 1 - i];
            self.sums[i] += tail;
        }
        let fitted = (n - p) as f64;
        for i in 0..rows {
            for j in i..rows {
                self.gram[i * rows + j] -= self.sums[i] * self.sums[j] / fitted;
            }
        }
    }

    /// Solves the normal equations by RᵀR (Cholesky), R in place of their upper half; returns false
    /// if a pivot is too small a fraction of its lag's variance.
    #[inline(always)]
    fn solve(&mut self, smallest: f64) -> bool {
        let rows = self.lags + 1;
        let gram = &mut self.gram;
        for i in 1..rows {
            let variance = gram[i * rows + i];
            let mut pivot = variance;
            for k in 1..i {
                pivot -= gram[k * rows + i] * gram[k * rows + i];
            }
            // Written so that NaN fails too.
            let sound = variance > smallest && pivot > SINGULAR * variance && pivot < f64::INFINITY;
            if !sound {
                return false;
            }
            let root = pivot.sqrt();
            gram[i * rows + i] = root;
            for j in i + 1..rows {
                let mut value = gram[i * rows + j];
                for k in 1..i {
                    value -= gram[k * rows + i] * gram[k * rows + j];
                }
                gram[i * rows + j] = value / root;
            }
        }
        for i in 1..rows {
            let mut value = gram[i];
            for k in 1..i {
                value -= gram[k * rows + i] * self.coefficients[k - 1];
            }
            self.coefficients[i - 1] = value / gram[i * rows + i];
        }
        for i in (1..rows).rev() {
            let mut value = self.coefficients[i - 1];
            for j in i + 1..rows {
                value -= gram[i * rows + j] * self.coefficients[j - 1];
            }
            self.coefficients[i - 1] = value / gram[i * rows + i];
        }
        true
    }

    /// Each forecast from the points and forecasts before it.
    #[inline(always)]
    fn iterate(&mut self, mean: f64, out: &mut [f32]) {
        let fitted = (self.centred.len() - self.lags) as f64;
        let intercept = self
            .coefficients
            .iter()
            .zip(&self.sums[1..])
            .fold(self.sums[0], |rest, (phi, sum)| rest - phi * sum)
            / fitted;
        for at in 0..out.len() {
            let before = self.centred.iter().rev();
            let next = self
                .coefficients
                .iter()
                .zip(before)
                .fold(intercept, |sum, (phi, value)| sum + phi * value);
            self.centred.push(next);
            out[at] = (next + mean) as f32;
            if !out[at].is_finite() {
                // Further on, infinity less infinity would be NaN.
                out[at..].fill(f32::INFINITY.copysign(next as f32));
                return;
            }
        }
    }
}

#[inline(always)]
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut lanes = [0.0; LANES];
    let (a_blocks, a_rest) = a.as_chunks::<LANES>();
    let (b_blocks, b_rest) = b.as_chunks::<LANES>();
    for (a, b) in a_blocks.iter().zip(b_blocks) {
        for lane in 0..LANES {
            lanes[lane] += a[lane] * b[lane];
        }
    }
    let rest = a_rest.iter().zip(b_rest).map(|(a, b)| a * b);
    lanes.into_iter().chain(rest).fold(0.0, |sum, v| sum + v)
}

#[inline(always)]
fn sum_of(values: &[f32]) -> f64 {
    let mut lanes = [0.0; LANES];
    let (blocks, rest) = values.as_chunks::<LANES>();
    for block in blocks {
        for lane in 0..LANES {
            lanes[lane] += f64::from(block[lane]);
        }
    }
    let rest = rest.iter().map(|value| f64::from(*value));
    lanes.into_iter().chain(rest).fold(0.0, |sum, v| sum + v)
}
