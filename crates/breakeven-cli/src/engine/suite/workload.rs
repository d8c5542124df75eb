//! The input that each kernel of the suite is run on.

use breakeven::Error;
use breakeven_profile::profile::Operation;

use super::measure::Problem;
use super::rows::row;
use super::table::{Over, Points, Row, Scales, Shape};

/// A kernel and its size; [`build`](Workload::build) creates the inputs.
#[derive(Debug, Clone)]
pub(crate) struct Workload {
    row: &'static Row,
    name: String,
    shape: Shape,
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
        })
    }

    /// A kernel's default workload with another value of the swept quantity.
    pub(crate) fn at(kernel: &str, over: Over, value: usize) -> Result<Self, Error> {
        let row = row(kernel, 1)?;
        let name = match over {
            Over::Size | Over::Batch => kernel.to_owned(),
            // Their elements are equal, so the name must distinguish them.
            Over::Window | Over::Hidden => format!("{kernel}:{over}{value}"),
        };
        Ok(Self {
            row,
            name,
            shape: row.at(over, value)?,
        })
    }

    /// The quantities that a sweep of a kernel can vary, the default first.
    pub(crate) fn sweeps(kernel: &str) -> Result<&'static [Over], Error> {
        Ok(row(kernel, 1)?.sweeps)
    }

    /// The values of a sweep of a kernel.
    pub(crate) fn points(kernel: &str, over: Over) -> Result<Points, Error> {
        row(kernel, 1)?.points(over)
    }

    /// The operation's name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Elements of the output, or of one input if the output has one value per item.
    pub(crate) fn size(&self) -> u64 {
        self.shape.elements()
    }

    pub(crate) fn text(&self) -> String {
        self.row.text(self.shape)
    }

    /// The name, with the work in words.
    pub(crate) fn described(&self) -> String {
        format!("{} ({})", self.name, self.text())
    }

    /// Host memory of a measurement, bytes: inputs, output and scratch, and with a GPU the copies
    /// that transfers need. Computed, not allocated.
    pub(crate) fn memory_bytes(&self, on_gpu: bool) -> u64 {
        // CubeCL copies an upload twice, a software GPU's memory is the host's, and a download has
        // its own copy.
        let copies = if on_gpu { 4 } else { 1 };
        (self.row.memory_bytes(self.shape))
            .saturating_mul(copies)
            .saturating_add((self.row.scratch_bytes)(self.shape))
    }

    pub(crate) fn build(&self) -> Result<Problem, Error> {
        let inputs = self.row.fill(self.shape)?;
        Problem::new((self.row.operator)(self.shape)?, inputs)
    }

    /// The operation that this workload's measurement on `device` fills.
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
}
