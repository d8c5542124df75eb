//! `conv2d`, `pixel_entropy` and `image_segmentation`.

#[cfg(feature = "gpu")]
use std::sync::Arc;

use super::batch::{TASKS, TaskKernel};
use super::inputs::{grey, images};
use super::measure::Problem;
use super::table::{Input, Shape, SuiteKernel, Takes};
use crate::error::Error;
#[cfg(feature = "gpu")]
use crate::gpu::{Gpu, KernelExecutor};
use crate::kernels::{
    Connectivity, Conv2d, GreyImage, ImageSegmentation, Kernel, PixelEntropy, SOBEL_X,
};

const SMALL: Shape = Shape {
    batch: 1,
    rows: 256,
    columns: 256,
};

const LARGE: Shape = Shape {
    batch: 1,
    rows: 512,
    columns: 512,
};

/// Of `pixel_entropy`.
const WINDOW: usize = 16;

/// Of `image_segmentation`.
const THRESHOLD: f32 = 100.0 / 256.0;

/// `conv2d`: horizontal Sobel edges of images.
#[derive(Debug, Clone, Copy)]
pub(super) struct Edges;

/// `pixel_entropy`: entropies of images in windows of 16 × 16.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entropies;

/// `image_segmentation`: components of pixels above 100/256 that share sides.
#[derive(Debug, Clone, Copy)]
pub(super) struct Segments;

fn pixels(shape: Shape, input: &Input) -> Vec<f32> {
    match input {
        Input::Image(image) => image.pixels.clone(),
        Input::Generated | Input::Series(_) => images(shape),
    }
}

/// An image in and a value a pixel out.
fn values(shape: Shape) -> u64 {
    shape.elements().saturating_mul(2)
}

impl SuiteKernel for Edges {
    type Tasks = Self;
    const NAME: &'static str = "conv2d";
    const WORKLOAD: Shape = SMALL;
    const TASKS: Shape = Shape {
        batch: TASKS,
        ..SMALL
    };
    const BUDGET_US: Option<u64> = Some(2_000);
    const TAKES: Takes = Takes::Image;

    fn item(shape: Shape) -> String {
        format!(
            "{}×{}, 3×3 Sobel, stride 1, padding 1",
            shape.rows, shape.columns
        )
    }

    fn values(shape: Shape) -> u64 {
        values(shape).saturating_add(SOBEL_X.len() as u64)
    }

    fn problem(shape: Shape, input: &Input) -> Result<Box<dyn Problem>, Error> {
        let pixels = pixels(shape, input);
        let edges = Conv2d::new(pixels, shape.dims(), &SOBEL_X[..], [3, 3], 1, 1)?;
        Ok(Box::new(edges))
    }

    fn tasks(shape: Shape) -> Vec<GreyImage> {
        grey(shape)
    }
}

impl TaskKernel for Edges {
    type Task = GreyImage;
    type Element = f32;

    fn on_cpu(task: &GreyImage) -> Result<Vec<f32>, Error> {
        let image = std::slice::from_ref(task);
        Ok(Conv2d::of(image, &SOBEL_X[..], [3, 3], 1, 1)?.cpu())
    }

    #[cfg(feature = "gpu")]
    fn on_gpu(gpu: Arc<Gpu>) -> Result<KernelExecutor<GreyImage, Vec<f32>>, Error> {
        KernelExecutor::conv2d(gpu, SOBEL_X.to_vec(), [3, 3], 1, 1)
    }
}

impl SuiteKernel for Entropies {
    type Tasks = Self;
    const NAME: &'static str = "pixel_entropy";
    const WORKLOAD: Shape = LARGE;
    const TASKS: Shape = Shape {
        batch: TASKS,
        ..LARGE
    };
    const BUDGET_US: Option<u64> = Some(8_000);
    const TAKES: Takes = Takes::Image;

    fn item(shape: Shape) -> String {
        format!("{}×{}, window {WINDOW}", shape.rows, shape.columns)
    }

    fn values(shape: Shape) -> u64 {
        values(shape)
    }

    fn scratch_bytes(shape: Shape) -> u64 {
        // Bins of a byte, and the table of counts.
        shape
            .elements()
            .saturating_add(8 * (WINDOW * WINDOW) as u64)
    }

    fn problem(shape: Shape, input: &Input) -> Result<Box<dyn Problem>, Error> {
        let pixels = pixels(shape, input);
        let entropies = PixelEntropy::new(pixels, shape.dims(), WINDOW)?;
        Ok(Box::new(entropies))
    }

    fn tasks(shape: Shape) -> Vec<GreyImage> {
        grey(shape)
    }
}

impl TaskKernel for Entropies {
    type Task = GreyImage;
    type Element = f32;

    fn on_cpu(task: &GreyImage) -> Result<Vec<f32>, Error> {
        Ok(PixelEntropy::of(std::slice::from_ref(task), WINDOW)?.cpu())
    }

    #[cfg(feature = "gpu")]
    fn on_gpu(gpu: Arc<Gpu>) -> Result<KernelExecutor<GreyImage, Vec<f32>>, Error> {
        KernelExecutor::pixel_entropy(gpu, WINDOW)
    }
}

impl SuiteKernel for Segments {
    type Tasks = Self;
    const NAME: &'static str = "image_segmentation";
    const WORKLOAD: Shape = SMALL;
    const TASKS: Shape = Shape {
        batch: TASKS,
        ..SMALL
    };
    const BUDGET_US: Option<u64> = Some(1_000);
    const TAKES: Takes = Takes::Image;

    fn item(shape: Shape) -> String {
        format!(
            "{}×{}, threshold 100/256, 4 neighbours",
            shape.rows, shape.columns
        )
    }

    fn values(shape: Shape) -> u64 {
        values(shape)
    }

    fn scratch_bytes(shape: Shape) -> u64 {
        // At worst every second pixel is a run of its own: where it is, its index,
        // and that of its root in its band and in its image.
        shape.elements().saturating_mul(10)
    }

    fn problem(shape: Shape, input: &Input) -> Result<Box<dyn Problem>, Error> {
        let pixels = pixels(shape, input);
        let segments = ImageSegmentation::new(pixels, shape.dims(), THRESHOLD, Connectivity::Four)?;
        Ok(Box::new(segments))
    }

    fn tasks(shape: Shape) -> Vec<GreyImage> {
        grey(shape)
    }
}

impl TaskKernel for Segments {
    type Task = GreyImage;
    type Element = u32;

    fn on_cpu(task: &GreyImage) -> Result<Vec<u32>, Error> {
        let image = std::slice::from_ref(task);
        Ok(ImageSegmentation::of(image, THRESHOLD, Connectivity::Four)?.cpu())
    }

    #[cfg(feature = "gpu")]
    fn on_gpu(gpu: Arc<Gpu>) -> Result<KernelExecutor<GreyImage, Vec<u32>, u32>, Error> {
        KernelExecutor::image_segmentation(gpu, THRESHOLD, Connectivity::Four)
    }
}
