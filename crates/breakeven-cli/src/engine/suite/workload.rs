//! What each kernel of the suite is run on.

use breakeven::{Error, Tensor};
use breakeven_profile::profile::Operation;

use super::measure::Problem;
use super::rows::{ROWS, row};
use super::sweep::{Over, Points};
use super::table::{Row, Scales, Shape, Takes};

/// A kernel and the size that it is run at; inputs are made by [`build`](Workload::build).
#[derive(Debug, Clone)]
pub(crate) struct Workload {
    row: &'static Row,
    name: String,
    shape: Shape,
    /// What the user gave; else the suite makes its own.
    given: Option<Tensor<'static>>,
}

impl Workload {
    /// A kernel's default workload, `scale` times as large: the vectors of
    /// `vector_add` and `dot_product` are `scale` times as long, every other
    /// kernel's batch has `scale` times as many items.
    pub(crate) fn new(kernel: &str, scale: usize) -> Result<Self, Error> {
        let row = row(kernel, scale)?;
        let mut shape = row.workload;
        let scaled = match row.scales {
            Scales::Batch => &mut shape.batch,
            Scales::Length => &mut shape.columns,
        };
        *scaled = scaled.checked_mul(scale).ok_or_else(|| {
            let message = format!("{kernel} at scale {scale} is larger than can be counted");
            Error::too_large(message)
        })?;
        Ok(Self {
            row,
            name: kernel.to_owned(),
            shape,
            given: None,
        })
    }

    /// A kernel's default workload with another value of what a sweep is over.
    pub(crate) fn at(kernel: &str, over: Over, value: usize) -> Result<Self, Error> {
        let row = row(kernel, 1)?;
        let name = match over {
            Over::Size | Over::Batch => kernel.to_owned(),
            // The elements do not tell one from another.
            Over::Window | Over::Hidden => format!("{kernel}:{over}{value}"),
        };
        Ok(Self {
            row,
            name,
            shape: row.at(over, value)?,
            given: None,
        })
    }

    /// What a sweep of a kernel can change, the default first.
    pub(crate) fn sweeps(kernel: &str) -> Result<&'static [Over], Error> {
        Ok(row(kernel, 1)?.sweeps)
    }

    /// The values of a sweep of a kernel.
    pub(crate) fn points(kernel: &str, over: Over) -> Result<Points, Error> {
        row(kernel, 1)?.points(over)
    }

    /// A pixel kernel on an image of the user's (1 × height × width); `None` for other
    /// kernels.
    pub(crate) fn on_image(kernel: &str, image: &Tensor<'static>) -> Option<Self> {
        let row = taking(Takes::Image).find(|row| row.name == kernel)?;
        let [rows, columns] = image.item_shape().try_into().ok()?;
        let shape = Shape {
            rows,
            columns,
            ..row.workload
        };
        Some(Self::given(row, shape, image, "image"))
    }

    /// A forecast of a series of the user's; `None` for other kernels.
    pub(crate) fn on_series(kernel: &str, series: &[f32]) -> Option<Self> {
        let row = taking(Takes::Series).find(|row| row.name == kernel)?;
        let shape = Shape::new([1, 1, series.len()]);
        let series = Tensor::new(series.to_vec(), &[1, series.len()]).ok()?;
        Some(Self::given(row, shape, &series, "series"))
    }

    fn given(row: &'static Row, shape: Shape, given: &Tensor<'static>, what: &str) -> Self {
        Self {
            row,
            name: format!("{}:{what}", row.name),
            shape,
            given: Some(given.clone()),
        }
    }

    /// The kernels that take an image of the user's, and those that take a series.
    pub(crate) fn takers() -> [Vec<&'static str>; 2] {
        let names = |what| taking(what).map(|row| row.name).collect();
        [Takes::Image, Takes::Series].map(names)
    }

    /// The operation's name: the kernel's, with `:image` or `:series` on a user's own.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Elements of the output, or of one input where the output is a value for
    /// each item of the batch.
    pub(crate) fn size(&self) -> u64 {
        self.shape.elements()
    }

    pub(crate) fn text(&self) -> String {
        self.row.text(self.shape)
    }

    /// Host memory that measuring takes, bytes: inputs, output and scratch, and
    /// with a GPU the copies that a transfer makes on its way. Computed, not allocated.
    pub(crate) fn memory_bytes(&self, on_gpu: bool) -> u64 {
        // CubeCL copies an upload twice, a software GPU's memory is the host's,
        // and a download has its own copy.
        let copies = if on_gpu { 4 } else { 1 };
        (self.row.memory_bytes(self.shape))
            .saturating_mul(copies)
            .saturating_add((self.row.scratch_bytes)(self.shape))
    }

    pub(crate) fn build(&self) -> Result<Problem, Error> {
        let inputs = match &self.given {
            Some(given) => vec![given.clone()],
            None => (self.row.inputs)(self.shape)?,
        };
        Problem::new((self.row.operator)(self.shape)?, inputs)
    }

    /// The operation that measuring this workload on `device` fills.
    pub(crate) fn operation(&self, device: &str, problem: &Problem) -> Operation {
        let work = problem.work();
        Operation {
            size: Some(self.size()),
            workload: Some(self.text()),
            items: Some(work.items),
            bytes: Some(work.bytes),
            flops: (work.flops > 0).then_some(work.flops),
            memory_bytes: Some(problem.memory_bytes()),
            ..Operation::new(&self.name, device)
        }
    }
}

/// The rows of kernels that can be given something by the user.
fn taking(what: Takes) -> impl Iterator<Item = &'static Row> {
    ROWS.iter().filter(move |row| row.takes == what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use breakeven::ErrorKind;
    use breakeven::kernels::NAMES;

    #[test]
    fn every_kernel_has_a_workload_that_builds_and_scales() {
        for name in NAMES {
            let workload = Workload::new(name, 2).expect("a known kernel");
            let problem = workload.build().expect("the default shape fits");
            assert!(workload.size() >= problem.work().elements, "{name}");
            let stated = workload.memory_bytes(false);
            assert!(problem.memory_bytes() <= stated, "{name}");
            let one = Workload::new(name, 1).expect("a known kernel");
            assert_eq!(workload.size(), 2 * one.size(), "{name}");
        }
    }

    #[test]
    fn what_cannot_be_is_refused_before_anything_is_allocated() {
        let kind = |kernel, scale| Some(Workload::new(kernel, scale).err()?.kind());
        assert_eq!(kind("conv3d", 1), Some(ErrorKind::UnknownName));
        assert_eq!(kind("conv2d", 0), Some(ErrorKind::Shape));
        let large = usize::MAX / 2;
        assert_eq!(kind("vector_add", large), Some(ErrorKind::TooLarge));
        let large = Workload::new("conv2d", usize::MAX).expect("counted, not allocated");
        assert_eq!(large.memory_bytes(true), u64::MAX);
    }

    #[test]
    fn an_image_of_the_users_is_for_the_pixel_kernels() {
        let image = Tensor::new(vec![0.5; 15], &[1, 3, 5]).expect("15 pixels");
        for name in NAMES {
            let workload = Workload::on_image(name, &image);
            let [pixel_kernels, _] = Workload::takers();
            assert_eq!(workload.is_some(), pixel_kernels.contains(&name), "{name}");
            let Some(workload) = workload else { continue };
            let problem = workload.build().expect("the image has its shape");
            assert_eq!(problem.work().elements, 15, "{name}");
            assert_eq!(workload.name(), format!("{name}:image"));
            assert_eq!(workload.size(), 15);
        }
    }
}
