//! `ar_forecast`: an autoregressive model of order p fitted to each series of a
//! batch by least squares, and its iterated forecast.
//!
//! y[t] = c + φ1·y[t−1] + … + φp·y[t−p] is fitted over t = p … n − 1 (the first
//! p points only predict), as statsmodels' `AutoReg(y, lags=p, trend='c')` does.
//! A forecast feeds on those before it.
//!
//! The fit is made on z = y − m, m the mean of the complete series. Put into the model, y = z + m
//! gives the same φ and c' = c − m·(1 − Σφ): the forecasts are those of the uncentred fit, and no
//! digits are lost to a large offset. The intercept is eliminated by centring each lag on its own
//! mean over t = p … n − 1, which leaves p normal equations.
//!
//! The sums Σ z[t−i]·z[t−j] over t depend on j − i but for a few terms at either
//! end. So the middle is summed once per distance, n·(p + 1) products instead of
//! n·p²/2, and the ends are added, never taken away: an outlier in them costs
//! the other terms no digits.
//!
//! **Singular series.** A series that is constant, or whose lags depend linearly on each other (a
//! ramp, a pure sine with more than two lags), has no unique fit. Only the fit can show this, and
//! the fit is nearly all of the work, so it is not checked when the problem is created: it would be
//! paid twice. Every form writes NaN over the forecasts of such a series, and of no other, and
//! [`ArForecast::checked`] turns it into a typed error. A lag is singular if the lags before it
//! leave less than 1e-10 of its variance unexplained on the CPU (float64), 1e-5 on a GPU (f32, with
//! one step of refinement on the residuals: Björck, "Stability analysis of the method of seminormal
//! equations", 1987). A series with NaN or infinity in it is singular on the CPU; on a GPU its
//! forecasts are unspecified. A forecast that leaves the range of f32 is infinite from there on.

use super::parallel::{self, Cut};
use super::sharing::Sharing;
use super::{dims, inputs};
use crate::error::{Error, ErrorKind};
use crate::operator::{Operator, View};
use crate::tensor::{Tensor, shape};

#[cfg(feature = "gpu")]
mod ar_kernels;
mod fit;

use fit::Fit;

/// Products per piece of CPU work.
const PRODUCTS: usize = 64 * 1024;

static SHARING: Sharing = Sharing::new();

/// The order of a model and how far to forecast: batch × points in, batch × steps out.
///
/// ```
/// use breakeven_kernels::ArForecast;
/// use breakeven_gpu::{Operator, Tensor};
///
/// let series = [1.0, 2.0, 1.5, 1.75, 1.625, 1.6875, 1.65625];
/// let forecast = ArForecast::new(1, 2)?;
/// let next = forecast.on_cpu(&Tensor::new(&series, &[1, 7])?)?;
/// forecast.checked(&next)?;
/// let next = next.host()?;
/// assert!((next[0] - 1.671875).abs() < 1e-6 && (next[1] - 1.6640625).abs() < 1e-6);
/// # Ok::<(), breakeven_types::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct ArForecast {
    lags: usize,
    steps: usize,
}

impl ArForecast {
    /// Fits a model of `lags` lags to each series.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Shape`] for no lag or no step, [`ErrorKind::TooLarge`] for more
    /// lags than memory has room for. Series of fewer than 2·lags + 1 points (as many
    /// equations as unknowns) are refused when they come.
    pub fn new(lags: usize, steps: usize) -> Result<Self, Error> {
        if lags == 0 || steps == 0 {
            return Err(Error::shape(format!(
                "ar_forecast: {lags} lags and {steps} steps; give at least one of each"
            )));
        }
        let rows = lags.saturating_add(1);
        shape::product("ar_forecast: the normal equations", &[rows, rows])?;
        Ok(Self { lags, steps })
    }

    /// Looks whether every series had a unique fit, in the output of any of the forms.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Singular`] that names the first series without one.
    pub fn checked(&self, output: &Tensor<'_>) -> Result<(), Error> {
        let is_nan = |value: &f32| value.is_nan();
        match output.host()?.iter().position(is_nan) {
            None => Ok(()),
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

    fn dims(&self, shapes: &[&[usize]]) -> Result<[usize; 2], Error> {
        let [series] = inputs("ar_forecast", shapes)?;
        let [batch, points] = dims("ar_forecast", series, "batch × points")?;
        let needed = 2 * self.lags + 1;
        if batch > 0 && points < needed {
            let lags = self.lags;
            return Err(Error::shape(format!(
                "ar_forecast: {points} points do not determine {lags} lags and an intercept; \
                 give {needed} points or more, or fewer lags"
            )));
        }
        Ok([batch, points])
    }
}

impl Operator for ArForecast {
    type In = f32;
    type Out = f32;

    fn name(&self) -> &str {
        "ar_forecast"
    }

    fn output_shape(&self, shapes: &[&[usize]]) -> Result<Vec<usize>, Error> {
        let [batch, _] = self.dims(shapes)?;
        Ok(vec![batch, self.steps])
    }

    /// The sums, a Cholesky factor with its two solves, the forecasts.
    fn flops(&self, shapes: &[&[usize]]) -> u64 {
        let [batch, points] = self.dims(shapes).unwrap_or_default().map(|dim| dim as u64);
        let (lags, steps) = (self.lags as u64, self.steps as u64);
        let each = (points.saturating_mul(2 * (lags + 1)))
            .saturating_add(lags.saturating_pow(3) / 3 + 2 * lags * lags)
            .saturating_add((2 * lags).saturating_mul(steps));
        each.saturating_mul(batch)
    }

    /// Each thread has a series and its forecast in float64.
    fn scratch_bytes(&self, shapes: &[&[usize]]) -> u64 {
        let [batch, points] = self.dims(shapes).unwrap_or_default();
        let threads = breakeven_machine::pool_threads().min(batch) as u64;
        let each = (points as u64).saturating_add(self.steps as u64);
        each.saturating_mul(8 * threads)
    }

    fn cpu(&self, views: &[View<'_, f32>], out: &mut [f32]) -> Result<(), Error> {
        let [series] = inputs(self.name(), views)?;
        let [_, points] = self.dims(&[series.shape])?;
        let products = points.saturating_mul(self.lags + 1);
        let together = (PRODUCTS / products.max(1)).max(1);
        let chunk = together.saturating_mul(self.steps);
        parallel::for_chunks(&SHARING, out, Cut::into(chunk), |start, out| {
            let mut fit = Fit::new(points, self.lags, self.steps);
            for (index, out) in out.chunks_mut(self.steps).enumerate() {
                let first = (start / self.steps + index) * points;
                fit.forecast(&series.values[first..first + points], out);
            }
        });
        Ok(())
    }

    #[cfg(feature = "gpu")]
    fn device(&self) -> Option<&dyn crate::gpu::DeviceForm> {
        Some(self)
    }
}
