//! `ar_forecast`: an autoregressive model of order p fitted to each series of a
//! batch by least squares, and its iterated forecast.
//!
//! y[t] = c + φ1·y[t−1] + … + φp·y[t−p] is fitted over t = p … n − 1 (the first
//! p points only predict), as statsmodels' `AutoReg(y, lags=p, trend='c')` does.
//! A forecast feeds on those before it.
//!
//! The fit is made on z = y − m, m the mean of the whole series. Put into the
//! model, y = z + m gives the same φ and c' = c − m·(1 − Σφ): the forecasts are
//! those of the uncentred fit, and no digits are lost to a large offset. The
//! intercept is eliminated by centring each lag on its own mean over
//! t = p … n − 1, which leaves p normal equations.
//!
//! The sums Σ z[t−i]·z[t−j] over t depend on j − i but for a few terms at either
//! end. So the middle is summed once per distance, n·(p + 1) products instead of
//! n·p²/2, and the ends are added, never taken away: an outlier in them costs
//! the other terms no digits.
//!
//! **Singular series.** A series that is constant, or whose lags depend linearly
//! on each other (a ramp, a pure sine with more than two lags), has no unique
//! fit. That only the fit can tell, which is nearly all of the work, so it is
//! not looked for when the problem is made: it would be paid twice. Every form
//! writes NaN over the forecasts of such a series, and of no other, and
//! [`ArForecast::checked`] turns it into a typed error. Singular is a lag of
//! which the lags before it leave less than 1e-10 of its variance unexplained on
//! the CPU (float64), 1e-5 on a GPU (f32, with one step of refinement on the
//! residuals: Björck, "Stability analysis of the method of seminormal
//! equations", 1987). A series with NaN or infinity in it is singular on the CPU;
//! on a GPU its forecasts are unspecified. A forecast that leaves the range of
//! f32 is infinite from there on.

use std::borrow::Cow;

use super::{Kernel, Work, batch, check_len, check_output, parallel, shape};
use crate::error::{Error, ErrorKind};

#[cfg(feature = "gpu")]
mod device;
mod fit;

use fit::Fit;

/// Products per piece of CPU work.
const PRODUCTS: usize = 64 * 1024;

/// A batch of series, the order of the model and how far to forecast.
///
/// ```
/// use breakeven::kernels::{ArForecast, Kernel};
///
/// let series = [1.0, 2.0, 1.5, 1.75, 1.625, 1.6875, 1.65625];
/// let problem = ArForecast::new(&series[..], [1, 7], 1, 2)?;
/// let next = problem.checked(problem.cpu())?;
/// assert!((next[0] - 1.671875).abs() < 1e-6 && (next[1] - 1.6640625).abs() < 1e-6);
/// # Ok::<(), breakeven::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct ArForecast<'a> {
    series: Cow<'a, [f32]>,
    batch: usize,
    points: usize,
    lags: usize,
    steps: usize,
}

impl<'a> ArForecast<'a> {
    /// `series` is batch × points, a model of `lags` lags is fitted to each, and
    /// the output is batch × steps.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Shape`] for a length that is not its shape's, no lag, no step,
    /// or fewer than 2·lags + 1 points: as many equations as unknowns;
    /// [`ErrorKind::TooLarge`] for sizes past memory.
    pub fn new(
        series: impl Into<Cow<'a, [f32]>>,
        [batch, points]: [usize; 2],
        lags: usize,
        steps: usize,
    ) -> Result<Self, Error> {
        let series = series.into();
        let dims = [batch, points];
        let all = shape::product("ar_forecast: the batch of series", &dims)?;
        check_len(
            "ar_forecast: the batch of series",
            series.len(),
            all,
            &shape::text(&dims),
        )?;
        if lags == 0 || steps == 0 {
            return Err(Error::shape(format!(
                "ar_forecast: {lags} lags and {steps} steps; give at least one of each"
            )));
        }
        let rows = lags.saturating_add(1);
        shape::product("ar_forecast: the normal equations", &[rows, rows])?;
        let needed = 2 * lags + 1;
        if batch > 0 && points < needed {
            return Err(Error::shape(format!(
                "ar_forecast: {points} points do not determine {lags} lags and an intercept; \
                 give {needed} points or more, or fewer lags"
            )));
        }
        shape::product("ar_forecast: the output", &[batch, steps])?;
        Ok(Self {
            series,
            batch,
            points,
            lags,
            steps,
        })
    }

    /// The same for series that stand alone, all of one length.
    ///
    /// # Errors
    ///
    /// As [`new`](ArForecast::new), and [`ErrorKind::Shape`] for series that
    /// differ in length.
    pub fn of(series: &'a [Vec<f32>], lags: usize, steps: usize) -> Result<Self, Error> {
        let parts = series.iter().map(|points| (&points[..], [1, points.len()]));
        let (points, [_, each]) = batch::joined("ar_forecast: series", parts)?;
        Self::new(points, [series.len(), each], lags, steps)
    }

    /// The output of any of the forms, if every series had a unique fit.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Singular`] that names the first series without one.
    ///
    /// # Panics
    ///
    /// If `output` is not [`output_len`](Kernel::output_len) long.
    pub fn checked(&self, output: Vec<f32>) -> Result<Vec<f32>, Error> {
        check_output(&output, self.output_len());
        match output.iter().position(|value| value.is_nan()) {
            None => Ok(output),
            Some(position) => Err(Error::new(
                ErrorKind::Singular,
                format!(
                    "ar_forecast: series {} of the batch has no unique fit with {} lags: it is \
                     constant, or its lags depend linearly on each other; give fewer lags or \
                     another series",
                    position / self.steps,
                    self.lags
                ),
            )),
        }
    }

    /// Multiply-adds that the sums of one series take.
    fn products(&self) -> usize {
        self.points.saturating_mul(self.lags + 1)
    }
}

impl Kernel for ArForecast<'_> {
    type Element = f32;

    fn output_len(&self) -> usize {
        self.batch * self.steps
    }

    fn work(&self) -> Work {
        let (lags, steps) = (self.lags as u64, self.steps as u64);
        // The sums, a Cholesky factor with its two solves, the forecasts.
        let each = (2 * self.products() as u64)
            .saturating_add(lags.saturating_pow(3) / 3 + 2 * lags * lags)
            .saturating_add(2 * lags.saturating_mul(steps));
        Work {
            items: self.batch as u64,
            elements: self.output_len() as u64,
            flops: each.saturating_mul(self.batch as u64),
            bytes: self.memory_bytes(),
        }
    }

    fn memory_bytes(&self) -> u64 {
        4 * (self.series.len() + self.output_len()) as u64
    }

    fn cpu_into(&self, out: &mut [f32]) {
        check_output(out, self.output_len());
        if out.is_empty() {
            return;
        }
        let together = (PRODUCTS / self.products().max(1)).max(1);
        parallel::for_chunks(out, together.saturating_mul(self.steps), |start, out| {
            let mut fit = Fit::new(self.points, self.lags, self.steps);
            for (index, out) in out.chunks_mut(self.steps).enumerate() {
                let first = (start / self.steps + index) * self.points;
                fit.forecast(&self.series[first..first + self.points], out);
            }
        });
    }

    #[cfg(feature = "gpu")]
    fn device_inputs(&self) -> Vec<&[u8]> {
        vec![bytemuck::cast_slice(&self.series)]
    }

    #[cfg(feature = "gpu")]
    fn launch(
        &self,
        gpu: &crate::gpu::Gpu,
        inputs: &[crate::gpu::Buffer],
        output: &crate::gpu::Buffer,
    ) -> Result<(), crate::error::DeviceError> {
        device::launch(self, gpu, &inputs[0], output)
    }
}
