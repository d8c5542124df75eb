//! The GPU form: a cube for each series. Its units sum the lagged products, one
//! of them solves the normal equations, all of them the residuals for a step of
//! refinement, and the one forecasts.
//!
//! A value is loaded once for up to eight lagged products, which are kept in registers, and is
//! scaled by a multiplication: five lags load 14 values per point of the series and divide
//! nothing.
//!
//! f32 throughout, with the series scaled to about [−1, 1] and sums in a tree. No
//! compensated sums: shader compilers may cancel (a + b) − a. The refinement
//! gives back what the squared condition of normal equations takes.

use cubecl::prelude::*;

use super::ArForecast;
use crate::cube_sizes;
use crate::error::{DeviceError, DeviceErrorKind};
use crate::gpu::{DeviceForm, Gpu, Launch, Properties, as_u32, grid, with_client};
use crate::operator::Operator;
use crate::tune::{Configuration, Space, Tunable, source_number};
use breakeven_profile::profile::DeviceWork;

/// Below this share of a lag's variance, a pivot in f32 is mostly rounding.
const SINGULAR: f32 = 1e-5;

/// Terms that a unit adds up one after the other before they join its sum.
const BLOCK: u32 = 32;

/// Distances whose products are summed in one pass over the series.
const TOGETHER: u32 = 8;

/// Lags up to which what belongs to each is in registers.
const FEW_LAGS: u32 = 16;

/// The least and the largest distance from the centre that the scale makes 1: the inverse of
/// either is a normal number.
const LEAST_REACH: f32 = f32::MIN_POSITIVE;
const MOST_REACH: f32 = 1.0 / (2.0 * f32::MIN_POSITIVE);

/// Written as bits: a shader's arithmetic need not know NaN and infinity.
const NAN: u32 = f32::NAN.to_bits();
const INFINITY: u32 = f32::INFINITY.to_bits();
const NEGATIVE_INFINITY: u32 = f32::NEG_INFINITY.to_bits();

/// How one series is centred and scaled.
#[derive(CubeType, Clone, Copy)]
struct Frame {
    /// Where the series begins.
    base: u32,
    /// About its mean. Each lag is centred on its own mean later.
    centre: f32,
    /// One over about the largest distance from the centre.
    scale: f32,
}

#[cube]
fn centred(series: &Array<f32>, frame: Frame, at: u32) -> f32 {
    (series[(frame.base + at) as usize] - frame.centre) * frame.scale
}

/// Returns this unit's share of Σ z[s] over the series.
#[cube]
fn sum(series: &Array<f32>, frame: Frame, points: u32, #[comptime] units: u32) -> f32 {
    let mut sum = 0.0f32;
    let mut at = UNIT_POS_X;
    while at < points {
        let mut block = 0.0f32;
        let end = u32::min(points, at + comptime!(BLOCK * units));
        while at < end {
            block += centred(series, frame, at);
            at += units;
        }
        sum += block;
    }
    sum
}

/// Puts this unit's share of Σ z[s]·z[s + distance] over `first..last` in its place of row
/// `distance` of `rows_of`, for `count` distances from `start` on; and its share of Σ z[s] in row
/// `rows` along with distance 0.
#[cube]
fn products(
    series: &Array<f32>,
    rows_of: &mut SharedMemory<f32>,
    frame: Frame,
    first: u32,
    last: u32,
    #[comptime] start: u32,
    #[comptime] count: u32,
    #[comptime] rows: u32,
    #[comptime] units: u32,
) {
    let mut sums = Array::<f32>::new(comptime!(count as usize));
    let mut blocks = Array::<f32>::new(comptime!(count as usize));
    let mut all = 0.0f32;
    #[unroll]
    for index in 0..count {
        sums[index as usize] = 0.0f32;
    }
    let mut at = first + UNIT_POS_X;
    while at < last {
        let mut block = 0.0f32;
        #[unroll]
        for index in 0..count {
            blocks[index as usize] = 0.0f32;
        }
        let end = u32::min(last, at + comptime!(BLOCK * units));
        while at < end {
            let value = centred(series, frame, at);
            block += value;
            #[unroll]
            for index in 0..count {
                blocks[index as usize] += value * centred(series, frame, at + start + index);
            }
            at += units;
        }
        all += block;
        #[unroll]
        for index in 0..count {
            sums[index as usize] += blocks[index as usize];
        }
    }
    #[unroll]
    for index in 0..count {
        rows_of[((start + index) * units + UNIT_POS_X) as usize] = sums[index as usize];
    }
    if start == 0 {
        rows_of[(rows * units + UNIT_POS_X) as usize] = all;
    }
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
        let origin = series[base as usize];
        let raw = Frame {
            base,
            centre: origin,
            scale: 1.0f32,
        };
        parts[unit as usize] = sum(series, raw, points, units);
        reduce(&mut parts, 1u32, units, false);
        let centre = origin + parts[0] / f32::cast_from(points);
        sync_cube();
        let around = Frame {
            base,
            centre,
            scale: 1.0f32,
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
        if largest > LEAST_REACH {
            reach = f32::min(largest, MOST_REACH);
        }
        let frame = Frame {
            base,
            centre,
            scale: 1.0f32 / reach,
        };
        let mut start = comptime!(0u32);
        #[unroll]
        for _ in 0..comptime!(rows.div_ceil(TOGETHER)) {
            let count = comptime!(TOGETHER.min(rows - start));
            products(
                series,
                &mut parts,
                frame,
                lags.runtime(),
                points - lags,
                start,
                count,
                rows,
                units,
            );
            comptime!(start += TOGETHER);
        }
        reduce(&mut parts, comptime!(rows + 1).runtime(), units, false);
        // The ends that the pairs of lags do not share, a distance to a unit.
        let mut distance = unit;
        while distance < rows {
            let mut head = parts[(distance * units) as usize];
            for back in 0..distance {
                let at = lags - 1u32 - back;
                head += centred(series, frame, at) * centred(series, frame, at + distance);
            }
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
        let few = comptime!(lags <= FEW_LAGS);
        let mut lagged = Array::<f32>::new(comptime!(lags as usize));
        let mut own_means = Array::<f32>::new(comptime!(lags as usize));
        let mut factors = Array::<f32>::new(comptime!(lags as usize));
        let mut sums = Array::<f32>::new(comptime!(lags as usize));
        #[unroll(few)]
        for i in 0..lags {
            own_means[i as usize] = means[(i + 1u32) as usize];
            factors[i as usize] = coefficients[(i + 1u32) as usize];
            sums[i as usize] = 0.0f32;
        }
        let mean = means[0];
        let mut t = lags + unit;
        while t < points {
            let mut rest = centred(series, frame, t) - mean;
            #[unroll(few)]
            for i in 0..lags {
                let value = centred(series, frame, t - 1u32 - i) - own_means[i as usize];
                rest -= factors[i as usize] * value;
                lagged[i as usize] = value;
            }
            #[unroll(few)]
            for i in 0..lags {
                sums[i as usize] += rest * lagged[i as usize];
            }
            t += units;
        }
        #[unroll(few)]
        for i in 0..lags {
            parts[((i + 1u32) * units + unit) as usize] = sums[i as usize];
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
                let value = next * reach + centre;
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

impl ArForecast {
    /// Units of a cube that computes a series, if what it needs fits: the fewest of which a
    /// multiprocessor has as many as it can, because one of them solves the equations alone
    /// meanwhile.
    fn usual_units(&self, on: &Properties) -> Option<u32> {
        let usual = on.smallest_cube();
        let fewer = std::iter::successors(Some(usual), |units| Some(units / 2));
        let mut fewer = fewer.take_while(|units| *units >= 32.min(usual));
        fewer.find(|units| self.shared_bytes(*units) <= on.shared_memory_bytes)
    }

    /// Shared memory of a cube of that many units.
    fn shared_bytes(&self, units: u32) -> usize {
        let rows = self.lags + 1;
        4 * (units as usize * (rows + 1) + rows * rows + 4 * rows)
    }
}

impl DeviceForm for ArForecast {
    /// Of a point, with r = lags + 1: the mean and the reach load it once each, the lagged
    /// products r times and once more per group of distances after the first, the residual r
    /// times; each load has a difference and a product, each lag of the residual a difference
    /// more and two multiply-adds. A loop has 3. The one unit's chain: reductions, a store and a
    /// load per entry of the factor, two solutions, the ends, and two per step ahead.
    fn counts(
        &self,
        on: &Properties,
        inputs: &[&[usize]],
        configuration: &Configuration,
    ) -> Option<DeviceWork> {
        let [series, points] = self.dims(inputs).ok()?;
        let units = configuration.get("units")?;
        let [series, points] = [series as u64, points as u64];
        let [lags, steps] = [self.lags as u64, self.steps as u64];
        let rows = lags + 1;
        let groups = rows.div_ceil(u64::from(TOGETHER));
        let loads = 2 + (rows + groups - 1) + rows;
        let others = 2 + rows + 1 + 3 * lags + 1 + 3 * (3 + groups);
        let reduced = (rows + 1) + rows + 2;
        let halvings = u64::from(units.ilog2());
        let chain = 4 * (halvings + 1) + lags * (lags + 1) / 2 + 4 * lags + 2 * lags + 2 * steps;
        let rounds = on.rounds(series, units, self.shared_bytes(units));
        Some(DeviceWork {
            bytes: self.work(inputs).bytes,
            accesses: series * (points * loads + 4 * u64::from(units) * reduced),
            instructions: series * (points * (3 * loads + others)),
            steps: rounds * chain,
            ..DeviceWork::default()
        })
    }

    /// Empty if the normal equations do not fit at all.
    fn space(&self, gpu: &Gpu, _: &[&[usize]]) -> Space {
        let on = gpu.properties();
        let Some(default) = self.usual_units(&on) else {
            return Space::default();
        };
        let fits = |units: &u32| self.shared_bytes(*units) <= on.shared_memory_bytes;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::described::{H200, MESA};

    #[test]
    fn a_series_has_the_fewest_units_that_fill_a_multiprocessor() {
        let units = |lags, on: &Properties| ArForecast::new(lags, 1).unwrap().usual_units(on);
        assert_eq!(units(5, &H200), Some(64));
        assert_eq!(units(5, &MESA), Some(64));
        // 71 rows of 32 units and the square of 70 fit in 32 KiB; of 64 units they do not.
        assert_eq!(units(69, &MESA), Some(32));
        assert_eq!(units(74, &MESA), None);
    }

    #[test]
    fn five_lags_load_fourteen_values_per_point() {
        let forecast = ArForecast::new(5, 10).unwrap();
        let configuration = Configuration::from([("units", 64)]);
        let work = DeviceForm::counts(&forecast, &H200, &[&[4224, 1_000]], &configuration).unwrap();
        // Sums of 7 + 6 + 2 rows of 64 units.
        assert_eq!(work.accesses, 4224 * (14_000 + 4 * 64 * 15));
        assert_eq!(
            work.instructions,
            4224 * 1_000 * (42 + 2 + 6 + 1 + 15 + 1 + 12)
        );
        assert_eq!(work.bytes, 4224 * (1_000 + 10) * 4);
        // 32 cubes on each of 132 multiprocessors: all series at once.
        assert_eq!(work.steps, 28 + 15 + 20 + 10 + 20);
    }
}
