//! What each kernel of the suite is run on.

use breakeven_profile::profile::Operation;

use super::inputs::{images, uniform};
use crate::error::{Error, ErrorKind};
use crate::kernels::{
    Conv2d, GreyImage, Kernel, MatrixMultiply, NAMES, PixelEntropy, SOBEL_X, VectorAdd,
};

/// Budgets of the suite on a discrete GPU, µs per call (kernel, budget).
pub const DEFAULT_BUDGETS_US: [(&str, u64); 3] = [
    ("matrix_multiply", 3_000),
    ("conv2d", 2_000),
    ("pixel_entropy", 8_000),
];

pub(super) const VECTOR: usize = 100_000;
pub(super) const VECTORS: usize = 32;
pub(super) const MATRIX: usize = 256;
pub(super) const CONV_IMAGE: usize = 256;
pub(super) const ENTROPY_IMAGE: usize = 512;
pub(super) const ENTROPY_WINDOW: usize = 16;

/// A kernel and the size that it is run at; inputs are made by [`build`](Workload::build).
#[derive(Debug, Clone)]
pub struct Workload {
    kernel: &'static str,
    shape: Shape,
    image: Option<GreyImage>,
}

/// The dimensions of a workload; the batch is first.
#[derive(Debug, Clone, Copy)]
enum Shape {
    Vectors {
        batch: usize,
        len: usize,
    },
    Matrices {
        batch: usize,
        size: usize,
    },
    Conv {
        batch: usize,
        height: usize,
        width: usize,
    },
    Entropy {
        batch: usize,
        height: usize,
        width: usize,
    },
}

impl Workload {
    /// A kernel's default workload, `scale` times as large: the vector of
    /// `vector_add` is `scale` times as long, every other kernel's batch
    /// `scale` times as many.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::UnknownName`] for a kernel that is not in
    /// [`NAMES`], [`ErrorKind::Shape`] for a scale of zero,
    /// [`ErrorKind::TooLarge`] for one past what can be counted.
    pub fn new(kernel: &str, scale: usize) -> Result<Self, Error> {
        let kernel = known(kernel, scale)?;
        let times = |base: usize| {
            base.checked_mul(scale).ok_or_else(|| {
                Error::too_large(format!(
                    "{kernel} at scale {scale} is larger than can be counted"
                ))
            })
        };
        let shape = match kernel {
            "vector_add" => Shape::Vectors {
                batch: 1,
                len: times(VECTOR)?,
            },
            "vector_add_batch" => Shape::Vectors {
                batch: times(VECTORS)?,
                len: VECTOR,
            },
            "matrix_multiply" => Shape::Matrices {
                batch: scale,
                size: MATRIX,
            },
            "conv2d" => Shape::Conv {
                batch: scale,
                height: CONV_IMAGE,
                width: CONV_IMAGE,
            },
            _ => Shape::Entropy {
                batch: scale,
                height: ENTROPY_IMAGE,
                width: ENTROPY_IMAGE,
            },
        };
        Ok(Self {
            kernel,
            shape,
            image: None,
        })
    }

    /// A pixel kernel on an image of the user's; `None` for other kernels.
    pub fn on_image(kernel: &str, image: &GreyImage) -> Option<Self> {
        let (height, width) = (image.height, image.width);
        let (kernel, shape) = match kernel {
            "conv2d" => (
                "conv2d:image",
                Shape::Conv {
                    batch: 1,
                    height,
                    width,
                },
            ),
            "pixel_entropy" => (
                "pixel_entropy:image",
                Shape::Entropy {
                    batch: 1,
                    height,
                    width,
                },
            ),
            _ => return None,
        };
        Some(Self {
            kernel,
            shape,
            image: Some(image.clone()),
        })
    }

    /// The operation's name: the kernel's, with `:image` on a user's image.
    pub fn name(&self) -> &'static str {
        self.kernel
    }

    /// Elements of the output.
    pub fn size(&self) -> u64 {
        let dims = match self.shape {
            Shape::Vectors { batch, len } => [batch, len, 1],
            Shape::Matrices { batch, size } => [batch, size, size],
            Shape::Conv {
                batch,
                height,
                width,
            }
            | Shape::Entropy {
                batch,
                height,
                width,
            } => [batch, height, width],
        };
        dims.iter()
            .fold(1_u64, |all, dim| all.saturating_mul(*dim as u64))
    }

    /// The workload in words.
    pub fn text(&self) -> String {
        match self.shape {
            Shape::Vectors { batch: 1, len } => format!("{len} elements"),
            Shape::Vectors { batch, len } => format!("{batch} × {len} elements"),
            Shape::Matrices { batch, size } => format!("{batch} × ({size}×{size} · {size}×{size})"),
            Shape::Conv {
                batch,
                height,
                width,
            } => {
                format!("{batch} × {height}×{width}, 3×3 Sobel, stride 1, padding 1")
            }
            Shape::Entropy {
                batch,
                height,
                width,
            } => {
                format!("{batch} × {height}×{width}, window {ENTROPY_WINDOW}")
            }
        }
    }

    /// Host memory that measuring takes, bytes: inputs, output and scratch, and
    /// with a GPU the copies that a transfer makes on its way. Computed, not allocated.
    pub fn memory_bytes(&self, on_gpu: bool) -> u64 {
        let floats_per_element = match self.shape {
            Shape::Vectors { .. } | Shape::Matrices { .. } => 3,
            Shape::Conv { .. } | Shape::Entropy { .. } => 2,
        };
        let problem = self.size().saturating_mul(4 * floats_per_element);
        // The entropy's bins are a byte an element, its table of counts and the
        // filter of a convolution a few kilobytes.
        let scratch = match self.shape {
            Shape::Entropy { .. } => self.size().saturating_add(1 << 12),
            _ => 1 << 12,
        };
        // CubeCL copies an upload twice, a software GPU's memory is the host's,
        // and a download has its own copy.
        let copies = if on_gpu { 4 } else { 1 };
        problem.saturating_mul(copies).saturating_add(scratch)
    }

    /// Makes the inputs.
    ///
    /// # Errors
    ///
    /// Whatever the kernel says of the shape.
    pub fn build(&self) -> Result<Box<dyn Kernel>, Error> {
        Ok(match self.shape {
            Shape::Vectors { batch, len } => {
                let all = batch * len;
                Box::new(VectorAdd::new(uniform(all, 1), uniform(all, 2), batch)?)
            }
            Shape::Matrices { batch, size } => {
                let all = batch * size * size;
                let dims = [batch, size, size, size];
                Box::new(MatrixMultiply::new(uniform(all, 3), uniform(all, 4), dims)?)
            }
            Shape::Conv {
                batch,
                height,
                width,
            } => Box::new(Conv2d::new(
                self.pixels(batch, height, width),
                [batch, height, width],
                &SOBEL_X[..],
                [3, 3],
                1,
                1,
            )?),
            Shape::Entropy {
                batch,
                height,
                width,
            } => Box::new(PixelEntropy::new(
                self.pixels(batch, height, width),
                [batch, height, width],
                ENTROPY_WINDOW,
            )?),
        })
    }

    fn pixels(&self, batch: usize, height: usize, width: usize) -> Vec<f32> {
        match &self.image {
            Some(image) => image.pixels.clone(),
            None => images(batch, height, width),
        }
    }

    /// The operation that measuring this workload on `device` fills.
    pub fn operation(&self, device: &str, problem: &dyn Kernel) -> Operation {
        let work = problem.work();
        Operation {
            size: Some(self.size()),
            workload: Some(self.text()),
            items: Some(work.items),
            bytes: Some(work.bytes),
            flops: (work.flops > 0).then_some(work.flops),
            memory_bytes: Some(problem.memory_bytes()),
            ..Operation::new(self.kernel, device)
        }
    }
}

/// A kernel's name as the suite has it, for a scale that leaves something to do.
pub(super) fn known(kernel: &str, scale: usize) -> Result<&'static str, Error> {
    if scale == 0 {
        return Err(Error::shape(
            "a scale of zero leaves nothing to measure; give 1 or more",
        ));
    }
    let known = NAMES.into_iter().find(|name| *name == kernel);
    known.ok_or_else(|| {
        Error::new(
            ErrorKind::UnknownName,
            format!("there is no kernel {kernel:?}"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_has_a_workload_that_builds() {
        for name in NAMES {
            let workload = Workload::new(name, 2).expect("a known kernel");
            let problem = workload.build().expect("the default shape fits");
            assert_eq!(problem.output_len() as u64, workload.size(), "{name}");
            assert!(
                problem.memory_bytes() <= workload.memory_bytes(false),
                "{name}"
            );
        }
    }

    #[test]
    fn scale_is_the_amount_of_work() {
        for name in NAMES {
            let one = Workload::new(name, 1).expect("a known kernel");
            let three = Workload::new(name, 3).expect("a known kernel");
            assert_eq!(three.size(), 3 * one.size(), "{name}");
        }
    }

    #[test]
    fn what_cannot_be_is_refused_before_anything_is_allocated() {
        let kind = |outcome: Result<Workload, Error>| outcome.err().map(|error| error.kind());
        assert_eq!(
            kind(Workload::new("conv3d", 1)),
            Some(ErrorKind::UnknownName)
        );
        assert_eq!(kind(Workload::new("conv2d", 0)), Some(ErrorKind::Shape));
        assert_eq!(
            kind(Workload::new("vector_add", usize::MAX / 2)),
            Some(ErrorKind::TooLarge)
        );
        let large = Workload::new("conv2d", usize::MAX).expect("counted, not allocated");
        assert_eq!(large.memory_bytes(true), u64::MAX);
    }
}
