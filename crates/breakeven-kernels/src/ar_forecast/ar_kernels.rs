//! The GPU form: a cube for each series. Its units sum the lagged products, one
//! of them solves the normal equations, all of them the residuals for a step of
//! refinement, and the one forecasts.
//!
//! f32 throughout, with the series scaled to [−1, 1] and sums in a tree. No
//! compensated sums: shader compilers may cancel (a + b) − a. The refinement
//! gives back what the squared condition of normal equations takes.

use cubecl::prelude::*;

use super::ArForecast;
use crate::cube_sizes;
use crate::error::{DeviceError, DeviceErrorKind};
use crate::gpu::{DeviceForm, Gpu, Launch, as_u32, grid, with_client};
use crate::tune::{Space, Tunable, source_number};

/// Below this share of a lag's variance, a pivot in f32 is mostly rounding.
const SINGULAR: f32 = 1e-5;

/// Terms that a unit adds up one after the other before they join its sum.
const BLOCK: u32 = 32;

/// Written as bits: a shader's arithmetic need not know NaN and infinity.
const NAN: u32 = f32::NAN.to_bits();
const INFINITY: u32 = f32::INFINITY.to_bits();
const NEGATIVE_INFINITY: u32 = f32::NEG_INFINITY.to_bits();

/// How one series is centred and scaled.
#[derive(CubeType, Clone, Copy)]
struct Frame {
    /// Where the series begins.
    base: u32,
    /// Its first value, taken from all before they are averaged.
    origin: f32,
    mean: f32,
    /// The largest distance from the mean.
    reach: f32,
}

#[cube]
fn centred(series: &Array<f32>, frame: Frame, at: u32) -> f32 {
    (series[(frame.base + at) as usize] - frame.origin - frame.mean) / frame.reach
}

/// Returns this unit's share of Σ z[s], or of Σ z[s]·z[s + distance], over `first..last`.
#[cube]
fn part(
    series: &Array<f32>,
    frame: Frame,
    first: u32,
    last: u32,
    distance: u32,
    #[comptime] units: u32,
    #[comptime] products: bool,
) -> f32 {
    let mut sum = 0.0f32;
    let mut at = first + UNIT_POS_X;
    while at < last {
        let mut block = 0.0f32;
        let end = u32::min(last, at + comptime!(BLOCK * units));
        while at < end {
            let value = centred(series, frame, at);
            if products {
                block += value * centred(series, frame, at + distance);
            } else {
                block += value;
            }
            at += units;
        }
        sum += block;
    }
    sum
}

/// Sums each of the first `rows` rows of `units` values (or finds its largest)
/// into its first place.
#[cube]
fn reduce(
    rows_of: &mut SharedMemory<f32>,
    rows: u32,
    #[comptime] units: u32,
    #[comptime] largest: bool,
) {
    sync_cube();
    let mut stride = comptime!(units / 2).runtime();
    while stride > 0u32 {
        if UNIT_POS_X < stride {
            for row in 0..rows {
                let at = (row * units + UNIT_POS_X) as usize;
                let other = rows_of[at + stride as usize];
                if largest {
                    rows_of[at] = f32::max(rows_of[at], other);
                } else {
                    rows_of[at] += other;
                }
            }
        }
        sync_cube();
        stride /= 2u32;
    }
}

/// Computes Cholesky's R in place of the upper half of rows and columns 1 and up; returns 0 if a
/// pivot is too small a fraction of its lag's variance.
#[cube]
fn factorise(gram: &mut SharedMemory<f32>, #[comptime] rows: u32) -> f32 {
    let mut sound = 1.0f32;
    for i in 1..rows {
        let variance = gram[(i * rows + i) as usize];
        let mut pivot = variance;
        for k in 1..i {
            let value = gram[(k * rows + i) as usize];
            pivot -= value * value;
        }
        if variance <= 0.0f32 || pivot <= SINGULAR * variance {
            sound = 0.0f32;
            pivot = 1.0f32;
        }
        let root = f32::sqrt(pivot);
        gram[(i * rows + i) as usize] = root;
        for j in i + 1..rows {
            let mut value = gram[(i * rows + j) as usize];
            for k in 1..i {
                value -= gram[(k * rows + i) as usize] * gram[(k * rows + j) as usize];
            }
            gram[(i * rows + j) as usize] = value / root;
        }
    }
    sound
}

/// Solves RᵀR·x = `right` in its place, from 1 on.
#[cube]
fn solve(gram: &SharedMemory<f32>, right: &mut SharedMemory<f32>, #[comptime] rows: u32) {
    for i in 1..rows {
        let mut value = right[i as usize];
        for k in 1..i {
            value -= gram[(k * rows + i) as usize] * right[k as usize];
        }
        right[i as usize] = value / gram[(i * rows + i) as usize];
    }
    for back in 1..rows {
        let i = rows - back;
        let mut value = right[i as usize];
        for j in i + 1..rows {
            value -= gram[(i * rows + j) as usize] * right[j as usize];
        }
        right[i as usize] = value / gram[(i * rows + i) as usize];
    }
}

#[cube(launch_unchecked)]
fn forecast(
    series: &Array<f32>,
    out: &mut Array<u32>,
    batch: u32,
    points: u32,
    steps: u32,
    #[comptime] lags: u32,
    #[comptime] units: u32,
) {
    let rows = comptime!(lags + 1);
    let mut parts = SharedMemory::<f32>::new(comptime!((units * (rows + 1)) as usize));
    let mut gram = SharedMemory::<f32>::new(comptime!((rows * rows) as usize));
    let mut means = SharedMemory::<f32>::new(comptime!(rows as usize));
    let mut right = SharedMemory::<f32>::new(comptime!(rows as usize));
    // In place 0 whether there is a fit at all.
    let mut coefficients = SharedMemory::<f32>::new(comptime!(rows as usize));
    let mut last = SharedMemory::<f32>::new(comptime!(lags as usize));
    let index = CUBE_POS as u32;
    let unit = UNIT_POS_X;
    // The same for all units of a cube, so that all of them wait for each other or none does.
    if index < batch {
        let base = index * points;
        let fitted = f32::cast_from(points - lags);
        let raw = Frame {
            base,
            origin: series[base as usize],
            mean: 0.0f32,
            reach: 1.0f32,
        };
        parts[unit as usize] = part(series, raw, 0u32, points, 0u32, units, false);
        reduce(&mut parts, 1u32, units, false);
        let mean = parts[0] / f32::cast_from(points);
        sync_cube();
        let around = Frame {
            base,
            origin: raw.origin,
            mean,
            reach: 1.0f32,
        };
        let mut far = 0.0f32;
        let mut at = unit;
        while at < points {
            far = f32::max(far, f32::abs(centred(series, around, at)));
            at += units;
        }
        parts[unit as usize] = far;
        reduce(&mut parts, 1u32, units, true);
        let largest = parts[0];
        sync_cube();
        let mut reach = 1.0f32;
        if largest > 0.0f32 {
            reach = largest;
        }
        let frame = Frame {
            base,
            origin: raw.origin,
            mean,
            reach,
        };
        for distance in 0..rows {
            let first = lags - distance;
            let of_unit = part(series, frame, first, points - lags, distance, units, true);
            parts[(distance * units + unit) as usize] = of_unit;
        }
        let of_unit = part(series, frame, lags, points - lags, 0u32, units, false);
        parts[(rows * units + unit) as usize] = of_unit;
        reduce(&mut parts, comptime!(rows + 1).runtime(), units, false);
        // The ends that the pairs of lags do not share, a distance to a unit.
        let mut distance = unit;
        while distance < rows {
            let mut head = parts[(distance * units) as usize];
            for i in 0..rows - distance {
                if i > 0u32 {
                    head += centred(series, frame, lags - distance - i)
                        * centred(series, frame, lags - i);
                }
                gram[(i * rows + i + distance) as usize] = head;
            }
            let mut tail = 0.0f32;
            for back in 0..lags - distance {
                let j = lags - 1u32 - back;
                let end = points - 1u32 - j;
                tail += centred(series, frame, end) * centred(series, frame, end + distance);
                gram[((j - distance) * rows + j) as usize] += tail;
            }
            distance += units;
        }
        if unit == 0u32 {
            let mut head = parts[(rows * units) as usize];
            for i in 0..rows {
                if i > 0u32 {
                    head += centred(series, frame, lags - i);
                }
                means[i as usize] = head / fitted;
            }
            let mut tail = 0.0f32;
            for back in 0..lags {
                let i = lags - 1u32 - back;
                tail += centred(series, frame, points - 1u32 - i);
                means[i as usize] += tail / fitted;
            }
        }
        sync_cube();
        if unit == 0u32 {
            for i in 0..rows {
                for j in i..rows {
                    gram[(i * rows + j) as usize] -= fitted * means[i as usize] * means[j as usize];
                }
            }
            coefficients[0] = factorise(&mut gram, rows);
            for i in 1..rows {
                right[i as usize] = gram[i as usize];
            }
            solve(&gram, &mut right, rows);
            for i in 1..rows {
                coefficients[i as usize] = right[i as usize];
            }
        }
        sync_cube();
        // What the fit leaves, and how it still depends on the lags.
        for i in 1..rows {
            parts[(i * units + unit) as usize] = 0.0f32;
        }
        let mut t = lags + unit;
        while t < points {
            let mut rest = centred(series, frame, t) - means[0];
            for i in 1..rows {
                let lagged = centred(series, frame, t - i) - means[i as usize];
                rest -= coefficients[i as usize] * lagged;
            }
            for i in 1..rows {
                let lagged = centred(series, frame, t - i) - means[i as usize];
                parts[(i * units + unit) as usize] += rest * lagged;
            }
            t += units;
        }
        reduce(&mut parts, rows.runtime(), units, false);
        if unit == 0u32 {
            for i in 1..rows {
                right[i as usize] = parts[(i * units) as usize];
            }
            solve(&gram, &mut right, rows);
            let mut intercept = means[0];
            for i in 1..rows {
                coefficients[i as usize] += right[i as usize];
                intercept -= coefficients[i as usize] * means[i as usize];
            }
            for i in 0..lags {
                last[i as usize] = centred(series, frame, points - 1u32 - i);
            }
            let mut beyond = 0u32;
            if coefficients[0] < 0.5f32 {
                beyond = NAN;
            }
            for step in 0..steps {
                let mut next = intercept;
                for i in 0..lags {
                    next += coefficients[(i + 1u32) as usize] * last[i as usize];
                }
                for back in 1..lags {
                    let i = lags - back;
                    last[i as usize] = last[(i - 1u32) as usize];
                }
                last[0] = next;
                let value = next * frame.reach + frame.mean + frame.origin;
                if beyond == 0u32 && f32::abs(value) >= f32::MAX {
                    beyond = INFINITY;
                    if value < 0.0f32 {
                        beyond = NEGATIVE_INFINITY;
                    }
                }
                let mut bits = u32::reinterpret(value);
                if beyond != 0u32 {
                    bits = beyond;
                }
                out[(index * steps + step) as usize] = bits;
            }
        }
    }
}

impl DeviceForm for ArForecast {
    /// Empty if the normal equations do not fit at all.
    fn space(&self, gpu: &Gpu, _: &[&[usize]]) -> Space {
        let rows = self.lags + 1;
        let words = gpu.shared_memory_bytes() / 4;
        let fits = |units: &u32| *units as usize * (rows + 1) + rows * rows + 4 * rows <= words;
        let Some(default) = [128, 64, 32].into_iter().find(fits) else {
            return Space::default();
        };
        Space {
            source: const { source_number(include_bytes!("ar_kernels.rs")) },
            variant: format!("{} lags", self.lags),
            tunables: vec![Tunable::new(
                "units",
                default,
                cube_sizes(gpu, 32).filter(fits),
            )],
        }
    }

    fn launch(&self, launch: &Launch<'_>) -> Result<(), DeviceError> {
        let [items, length] = self.dims(launch.shapes)?;
        // The kernel counts positions in 32 bits.
        as_u32("ar_forecast: the series", items * length)?;
        as_u32("ar_forecast: the output", items * self.steps)?;
        let [batch, points] = [as_u32("batch", items)?, as_u32("points", length)?];
        let [lags, steps] = [as_u32("lags", self.lags)?, as_u32("steps", self.steps)?];
        let Ok(units) = launch.tuned("units") else {
            return Err(DeviceError::new(
                DeviceErrorKind::Unsupported,
                format!(
                    "ar_forecast: the normal equations of {lags} lags do not fit the device's shared \
                     memory; run it on the CPU"
                ),
            ));
        };
        let count = grid(items, 1);
        with_client!(launch.gpu, client => {
            // SAFETY: the buffers hold `batch · points` and `batch · steps` elements, cubes
            // beyond the batch do nothing, and with at least 2·lags + 1 points every
            // lag of every position that is looked at lies in the series.
            unsafe {
                forecast::launch_unchecked(
                    client, count, CubeDim::new_1d(units),
                    launch.inputs[0].array(), launch.output.array(),
                    batch, points, steps, lags, units,
                );
            }
        });
        Ok(())
    }
}
