//! `breakeven profile --image` and `--series`: kernels on what is the user's own.

use crate::engine::suite::{Workload, forecast};
use anyhow::{Result, bail};
use breakeven::Tensor;

use crate::engine::args::ProfileArgs;
use crate::engine::protocol::Input;
use crate::output::Forecast;

#[derive(Debug, Default)]
pub(super) struct OwnInputs {
    image: Option<Tensor<'static>>,
    pub(super) series: Option<Vec<f32>>,
    /// What comes after the series.
    pub(super) forecast: Option<Forecast>,
}

impl OwnInputs {
    pub(super) fn read(args: &ProfileArgs) -> Result<Self> {
        let image = args
            .image
            .as_deref()
            .map(crate::engine::image::read)
            .transpose()?;
        let series = args.series.as_deref();
        let series = series.map(|asked| crate::engine::series::read(asked, args.separator));
        let series = series.transpose()?;
        // A series of which nothing can be forecast is told of before it is measured.
        let forecast = series.as_deref().map_or(Ok(None), forecast_of)?;
        Ok(Self {
            image,
            series,
            forecast,
        })
    }

    /// The workloads of a kernel that are on it.
    pub(super) fn workloads(&self, kernel: &str) -> impl Iterator<Item = (Input, Workload)> {
        let of_image =
            |image: &Tensor<'static>| Some((Input::Image, Workload::on_image(kernel, image)?));
        let of_series =
            |series: &[f32]| Some((Input::Series, Workload::on_series(kernel, series)?));
        let on_image = self.image.as_ref().and_then(of_image);
        let on_series = self.series.as_deref().and_then(of_series);
        on_image.into_iter().chain(on_series)
    }

    /// Fails where something was given that no kernel takes which was asked for.
    pub(super) fn check_wanted(&self, kernels: &[&str]) -> Result<()> {
        let wanted = |takers: Vec<&str>, option: &str| {
            if takers.iter().any(|kernel| kernels.contains(kernel)) {
                return Ok(());
            }
            let all = takers.join(", ");
            match takers.len() {
                1 => bail!("{option} is for {all}, which is not asked for"),
                _ => bail!("{option} is for {all}; none of them is asked for"),
            }
        };
        let [of_images, of_series] = Workload::takers();
        if self.image.is_some() {
            wanted(of_images, "--image")?;
        }
        if self.series.is_some() {
            wanted(of_series, "--series")?;
        }
        Ok(())
    }
}

/// None of a series without points.
fn forecast_of(series: &[f32]) -> Result<Option<Forecast>> {
    let values = forecast(series)?;
    let ends = series.first().zip(series.last());
    Ok(ends.map(|(first, last)| Forecast {
        points: series.len(),
        ends: [*first, *last],
        values,
    }))
}
