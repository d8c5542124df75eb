//! Executors of the library's own kernels.

use std::sync::Arc;

use super::{Boxed, KernelExecutor};
use crate::error::Error;
use crate::gpu::Gpu;
use crate::kernels::{
    ArForecast, Connectivity, Conv2d, DendriticIntegration, DotProduct, GreyImage,
    ImageSegmentation, Kernel, LstmCell, LstmStep, LstmWeights, Matrix, MatrixMultiply,
    Nonlinearity, PixelEntropy, VectorAdd,
};

impl KernelExecutor<GreyImage, Vec<f32>> {
    /// [`PixelEntropy`] of images, in windows of that width; one value a pixel.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Shape`](crate::ErrorKind::Shape) for a window out of range.
    pub fn pixel_entropy(gpu: Arc<Gpu>, window: usize) -> Result<Self, Error> {
        PixelEntropy::of(&[], window)?;
        let executor = Self::new(
            gpu,
            move |images| PixelEntropy::of(images, window).map(boxed),
            <[f32]>::to_vec,
        );
        Ok(executor.grouped(same_size))
    }

    /// [`Conv2d`] of images with one filter; the pixels of an output image each.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Shape`](crate::ErrorKind::Shape) for a filter or a stride that
    /// no image could be given to.
    pub fn conv2d(
        gpu: Arc<Gpu>,
        filter: Vec<f32>,
        filter_dims: [usize; 2],
        stride: usize,
        padding: usize,
    ) -> Result<Self, Error> {
        // An image as large as the filter takes any filter that there can be.
        let [height, width] = filter_dims;
        let none = [0, height, width];
        Conv2d::new(&[][..], none, &filter[..], filter_dims, stride, padding)?;
        let executor = Self::new(
            gpu,
            move |images| {
                Conv2d::of(images, filter.clone(), filter_dims, stride, padding).map(boxed)
            },
            <[f32]>::to_vec,
        );
        Ok(executor.grouped(same_size))
    }
}

impl KernelExecutor<GreyImage, Vec<u32>, u32> {
    /// [`ImageSegmentation`] of images; a label a pixel, counted anew in each image.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) for a threshold that is no
    /// number.
    pub fn image_segmentation(
        gpu: Arc<Gpu>,
        threshold: f32,
        connectivity: Connectivity,
    ) -> Result<Self, Error> {
        ImageSegmentation::of(&[], threshold, connectivity)?;
        let executor = Self::new(
            gpu,
            move |images| ImageSegmentation::of(images, threshold, connectivity).map(boxed),
            <[u32]>::to_vec,
        );
        Ok(executor.grouped(same_size))
    }
}

impl KernelExecutor<(Matrix, Matrix), Vec<f32>> {
    /// [`MatrixMultiply`] of pairs of matrices; a product's values each, row-major.
    pub fn matrix_multiply(gpu: Arc<Gpu>) -> Self {
        let dims = |(a, b): &(Matrix, Matrix)| [a.rows, a.columns, b.rows, b.columns];
        Self::new(
            gpu,
            |pairs| MatrixMultiply::of(pairs).map(boxed),
            <[f32]>::to_vec,
        )
        .grouped(move |one, next| dims(one) == dims(next))
    }
}

impl KernelExecutor<(Vec<f32>, Vec<f32>), Vec<f32>> {
    /// [`VectorAdd`] of pairs of vectors; a sum each.
    pub fn vector_add(gpu: Arc<Gpu>) -> Self {
        Self::new(
            gpu,
            |pairs| VectorAdd::of(pairs).map(boxed),
            <[f32]>::to_vec,
        )
        .grouped(same_lengths)
    }

    /// [`DotProduct`] of pairs of vectors; one value each.
    pub fn dot_product(gpu: Arc<Gpu>) -> Self {
        Self::new(
            gpu,
            |pairs| DotProduct::of(pairs).map(boxed),
            <[f32]>::to_vec,
        )
        .grouped(same_lengths)
    }
}

impl KernelExecutor<Vec<f32>, Vec<f32>> {
    /// [`ArForecast`] of series; the forecasts of each, NaN where it has no unique fit.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Shape`](crate::ErrorKind::Shape) for no lag or no step.
    pub fn ar_forecast(gpu: Arc<Gpu>, lags: usize, steps: usize) -> Result<Self, Error> {
        ArForecast::of(&[], lags, steps)?;
        let executor = Self::new(
            gpu,
            move |series| ArForecast::of(series, lags, steps).map(boxed),
            <[f32]>::to_vec,
        );
        Ok(executor.grouped(same_length))
    }

    /// [`DendriticIntegration`] of inputs to one set of neurons, each neurons ×
    /// dendrites × inputs (`dims`); the somas' potentials of each, those before
    /// being zero.
    ///
    /// # Errors
    ///
    /// As [`DendriticIntegration::of`] for the weights, the conductances and the
    /// nonlinearity.
    pub fn dendritic_integration(
        gpu: Arc<Gpu>,
        weights: Vec<f32>,
        conductances: Vec<f32>,
        dims: [usize; 3],
        nonlinearity: Nonlinearity,
    ) -> Result<Self, Error> {
        DendriticIntegration::of(&[], &weights[..], &conductances[..], dims, nonlinearity)?;
        let executor = Self::new(
            gpu,
            move |inputs| {
                let (weights, conductances) = (weights.clone(), conductances.clone());
                DendriticIntegration::of(inputs, weights, conductances, dims, nonlinearity)
                    .map(boxed)
            },
            <[f32]>::to_vec,
        );
        Ok(executor.grouped(same_length))
    }
}

impl KernelExecutor<LstmStep, Vec<f32>> {
    /// [`LstmCell`] of steps that share weights; h', then c' of each.
    pub fn lstm_cell(gpu: Arc<Gpu>, weights: impl Into<Arc<LstmWeights>>) -> Self {
        let weights = weights.into();
        // Cells of other lengths than the weights' are refused, so all are alike.
        Self::new(
            gpu,
            move |steps| LstmCell::of(steps, Arc::clone(&weights)).map(boxed),
            <[f32]>::to_vec,
        )
    }
}

#[expect(
    clippy::ptr_arg,
    reason = "tasks are vectors, and this compares two tasks"
)]
fn same_length(one: &Vec<f32>, next: &Vec<f32>) -> bool {
    one.len() == next.len()
}

fn boxed<'t, K: Kernel + 't>(problem: K) -> Boxed<'t, K::Element> {
    Box::new(problem)
}

fn same_lengths((a, b): &(Vec<f32>, Vec<f32>), (c, d): &(Vec<f32>, Vec<f32>)) -> bool {
    (a.len(), b.len()) == (c.len(), d.len())
}

fn same_size(one: &GreyImage, next: &GreyImage) -> bool {
    (one.height, one.width) == (next.height, next.width)
}
