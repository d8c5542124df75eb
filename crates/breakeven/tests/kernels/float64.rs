//! The kernels as their definitions read, in float64, with no cleverness.

use breakeven::kernels::Nonlinearity;

/// c = a + b. A f32 sum rounded once from f64 equals the f32 sum, so this is exact.
pub(super) fn vector_add(a: &[f32], b: &[f32]) -> Vec<f64> {
    a.iter()
        .zip(b)
        .map(|(a, b)| f64::from((f64::from(*a) + f64::from(*b)) as f32))
        .collect()
}

/// The products, and per element Σ|a·b|: what rounding errors are relative to.
pub(super) fn matrix_multiply(
    a: &[f32],
    b: &[f32],
    [batch, m, k, n]: [usize; 4],
) -> (Vec<f64>, Vec<f64>) {
    let mut out = Vec::new();
    let mut scale = Vec::new();
    for item in 0..batch {
        for row in 0..m {
            for column in 0..n {
                let terms = (0..k).map(|i| {
                    f64::from(a[(item * m + row) * k + i])
                        * f64::from(b[(item * k + i) * n + column])
                });
                out.push(terms.clone().sum());
                scale.push(terms.map(f64::abs).sum());
            }
        }
    }
    (out, scale)
}

#[derive(Debug, Clone)]
pub(super) struct Conv {
    pub dims: [usize; 3],
    pub filter_dims: [usize; 2],
    pub stride: usize,
    pub padding: usize,
}

/// Cross-correlation over an image that is really padded with zeros.
pub(super) fn conv2d(images: &[f32], filter: &[f32], conv: &Conv) -> (Vec<f64>, Vec<f64>) {
    let [batch, height, width] = conv.dims;
    let [filter_height, filter_width] = conv.filter_dims;
    let (padding, stride) = (conv.padding, conv.stride);
    let (tall, wide) = (height + 2 * padding, width + 2 * padding);
    let mut out = Vec::new();
    let mut scale = Vec::new();
    for item in 0..batch {
        let mut padded = vec![0.0_f64; tall * wide];
        for y in 0..height {
            for x in 0..width {
                padded[(y + padding) * wide + x + padding] =
                    f64::from(images[(item * height + y) * width + x]);
            }
        }
        for top in (0..=tall - filter_height).step_by(stride) {
            for left in (0..=wide - filter_width).step_by(stride) {
                let terms = (0..filter_height * filter_width).map(|tap| {
                    let (i, j) = (tap / filter_width, tap % filter_width);
                    f64::from(filter[tap]) * padded[(top + i) * wide + left + j]
                });
                out.push(terms.clone().sum());
                scale.push(terms.map(f64::abs).sum());
            }
        }
    }
    (out, scale)
}

/// Entropy of a histogram that is counted anew for every pixel.
pub(super) fn pixel_entropy(
    images: &[f32],
    [batch, height, width]: [usize; 3],
    window: usize,
) -> Vec<f64> {
    let (back, ahead) = (window / 2, (window - 1) / 2);
    let mut out = Vec::new();
    for item in 0..batch {
        for y in 0..height {
            for x in 0..width {
                let mut counts = [0_u32; 256];
                let mut total = 0_u32;
                for v in y.saturating_sub(back)..(y + ahead + 1).min(height) {
                    for u in x.saturating_sub(back)..(x + ahead + 1).min(width) {
                        let value = images[(item * height + v) * width + u];
                        let bin = (f64::from(value) * 256.0).floor().clamp(0.0, 255.0);
                        #[expect(clippy::cast_sign_loss, reason = "clamped to 0..=255")]
                        {
                            counts[bin as usize] += 1;
                        }
                        total += 1;
                    }
                }
                let entropy: f64 = counts
                    .iter()
                    .filter(|count| **count > 0)
                    .map(|count| {
                        let p = f64::from(*count) / f64::from(total);
                        -p * p.log2()
                    })
                    .sum();
                out.push(entropy);
            }
        }
    }
    out
}

/// The sums of products, and per pair Σ|a·b|: what rounding errors are relative to.
pub(super) fn dot_product(a: &[f32], b: &[f32], batch: usize) -> (Vec<f64>, Vec<f64>) {
    let len = a.len().checked_div(batch).unwrap_or(0);
    let sum = |item: usize, of: fn(f64) -> f64| {
        let at = item * len..(item + 1) * len;
        let products = a[at.clone()].iter().zip(&b[at]);
        products.fold(0.0, |sum, (a, b)| sum + of(f64::from(*a) * f64::from(*b)))
    };
    let sums = |of: fn(f64) -> f64| (0..batch).map(|item| sum(item, of)).collect();
    (sums(|product| product), sums(f64::abs))
}

/// Labels by flooding each component from its first pixel, in raster order.
pub(super) fn image_segmentation(
    images: &[f32],
    [_, height, width]: [usize; 3],
    threshold: f32,
    corners: bool,
) -> Vec<u32> {
    let mut out = vec![0; images.len()];
    for (image, out) in (images.chunks(height * width)).zip(out.chunks_mut(height * width)) {
        let mut labels = 0;
        for first in 0..image.len() {
            let is_new = image[first] > threshold && out[first] == 0;
            if !is_new {
                continue;
            }
            labels += 1;
            out[first] = labels;
            let mut edge = vec![first];
            while let Some(pixel) = edge.pop() {
                let (y, x) = (pixel / width, pixel % width);
                for v in y.saturating_sub(1)..(y + 2).min(height) {
                    for u in x.saturating_sub(1)..(x + 2).min(width) {
                        let next = v * width + u;
                        let touches = corners || v == y || u == x;
                        if touches && image[next] > threshold && out[next] == 0 {
                            out[next] = labels;
                            edge.push(next);
                        }
                    }
                }
            }
        }
    }
    out
}

/// The least-squares fit by Householder reflections on the plain design matrix,
/// no centring and no normal equations, and its iterated forecast.
pub(super) fn ar_forecast(
    series: &[f32],
    [_, points]: [usize; 2],
    lags: usize,
    steps: usize,
) -> Vec<f64> {
    let columns = lags + 2; // intercept, lags, what is to be predicted
    let mut out = Vec::new();
    for one in series.chunks(points) {
        let mut known: Vec<f64> = one.iter().copied().map(f64::from).collect();
        let mut rows: Vec<Vec<f64>> = (lags..points)
            .map(|t| {
                let lagged = (1..=lags).map(|lag| known[t - lag]);
                [1.0].into_iter().chain(lagged).chain([known[t]]).collect()
            })
            .collect();
        for k in 0..=lags {
            let norm = rows[k..]
                .iter()
                .map(|row| row[k] * row[k])
                .sum::<f64>()
                .sqrt();
            let alpha = -norm.copysign(rows[k][k]);
            let mut mirror: Vec<f64> = rows[k..].iter().map(|row| row[k]).collect();
            mirror[0] -= alpha;
            let length: f64 = mirror.iter().map(|v| v * v).sum();
            for column in k..columns {
                let along: f64 = mirror
                    .iter()
                    .zip(&rows[k..])
                    .map(|(v, row)| v * row[column])
                    .sum();
                for (v, row) in mirror.iter().zip(&mut rows[k..]) {
                    row[column] -= 2.0 * v * along / length;
                }
            }
        }
        let mut solution = vec![0.0; lags + 1];
        for i in (0..=lags).rev() {
            let known: f64 = (i + 1..=lags).map(|j| rows[i][j] * solution[j]).sum();
            solution[i] = (rows[i][lags + 1] - known) / rows[i][i];
        }
        for _ in 0..steps {
            let lagged = known.iter().rev().zip(&solution[1..]);
            let next = solution[0] + lagged.map(|(y, phi)| phi * y).sum::<f64>();
            known.push(next);
            out.push(next);
        }
    }
    out
}

/// PyTorch's `LSTMCell`, gate by gate: of each item h', then c'.
pub(super) fn lstm_cell(
    [input, hidden, cell]: [&[f32]; 3],
    [weight_ih, weight_hh, bias_ih, bias_hh]: [&[f32]; 4],
    [batch, inputs, units]: [usize; 3],
) -> Vec<f64> {
    let sigmoid = |v: f64| 1.0 / (1.0 + (-v).exp());
    let mut out = vec![0.0; batch * 2 * units];
    for item in 0..batch {
        for unit in 0..units {
            let gate = |index: usize| {
                let row = index * units + unit;
                let of_input = (0..inputs).map(|k| {
                    f64::from(weight_ih[row * inputs + k]) * f64::from(input[item * inputs + k])
                });
                let of_hidden = (0..units).map(|k| {
                    f64::from(weight_hh[row * units + k]) * f64::from(hidden[item * units + k])
                });
                let sum: f64 = of_input.chain(of_hidden).sum();
                sum + f64::from(bias_ih[row]) + f64::from(bias_hh[row])
            };
            let (i, f, g, o) = (gate(0), gate(1), gate(2), gate(3));
            let old = f64::from(cell[item * units + unit]);
            let new = sigmoid(f) * old + sigmoid(i) * g.tanh();
            out[item * 2 * units + unit] = sigmoid(o) * new.tanh();
            out[(item * 2 + 1) * units + unit] = new;
        }
    }
    out
}

/// The four nonlinearities as they are written, and per soma what rounding
/// errors are relative to: Σ |g| times the largest |w·x| sum behind it, at least 1.
pub(super) fn dendritic_integration(
    inputs: &[f32],
    weights: &[f32],
    conductances: &[f32],
    previous: &[f32],
    [batch, neurons, dendrites, synapses]: [usize; 4],
    rule: Nonlinearity,
) -> (Vec<f64>, Vec<f64>) {
    let (mut out, mut scales) = (Vec::new(), Vec::new());
    for soma in 0..batch * neurons {
        let (mut sum, mut scale) = (0.0, 1.0_f64);
        for dendrite in 0..dendrites {
            let of_neuron = soma % neurons * dendrites + dendrite;
            let terms = (0..synapses).map(|k| {
                f64::from(weights[of_neuron * synapses + k])
                    * f64::from(inputs[(soma * dendrites + dendrite) * synapses + k])
            });
            let s: f64 = terms.clone().sum();
            let mut reach: f64 = terms.clone().map(f64::abs).sum();
            let f = match rule {
                Nonlinearity::Sigmoid { k, theta } => {
                    reach = 1.0 + f64::from(k).abs() * reach;
                    1.0 / (1.0 + (-f64::from(k) * (s - f64::from(theta))).exp())
                }
                Nonlinearity::Nmda { mg, v_rest } => {
                    let v = f64::from(v_rest) + s;
                    s / (1.0 + f64::from(mg) / 3.57 * (-0.062 * v).exp())
                }
                Nonlinearity::BackpropagatingActionPotential { beta } => {
                    let gain = f64::from(beta) * f64::from(previous[soma]);
                    reach *= 1.0 + gain.abs();
                    s * (1.0 + gain)
                }
                Nonlinearity::Multiplicative => {
                    reach = terms.clone().map(|term| 1.0 + term.abs()).product();
                    terms.map(|term| 1.0 + term).product::<f64>() - 1.0
                }
            };
            let g = f64::from(conductances[of_neuron]);
            sum += g * f;
            scale += g.abs() * reach;
        }
        out.push(sum);
        scales.push(scale);
    }
    (out, scales)
}
