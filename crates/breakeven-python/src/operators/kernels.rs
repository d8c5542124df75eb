//! The kernels for Python: their parameters, by the names of the library.

use breakeven::Tensor;
use breakeven::kernels::{
    ArForecast, Connectivity, Conv2d, DendriticIntegration, DotProduct, FusedConvEntropySegment,
    ImageSegmentation, LstmCell, MatrixMultiply, Nonlinearity, PixelEntropy, TensorCoreMatmul,
    VectorAdd,
};
use numpy::{AllowTypeChange, PyArrayLikeDyn, PyUntypedArrayMethods};
use pyo3::prelude::*;

use super::PyOperator;
use crate::errors::{InvalidError, raised};

/// An array, or anything that NumPy converts to one.
type Array<'py> = PyArrayLikeDyn<'py, f32, AllowTypeChange>;

fn values(array: &Array<'_>) -> Vec<f32> {
    array.as_array().iter().copied().collect()
}

fn tensor(array: &Array<'_>) -> PyResult<Tensor<'static>> {
    Tensor::new(values(array), array.shape()).map_err(raised)
}

fn connectivity(connectivity: usize) -> PyResult<Connectivity> {
    match connectivity {
        4 => Ok(Connectivity::Four),
        8 => Ok(Connectivity::Eight),
        other => Err(InvalidError::new_err(format!(
            "connectivity: {other}; give 4 (pixels that share a side) or 8 (or a corner)"
        ))),
    }
}

/// Forecasts of an autoregressive model with intercept, fitted to each series by least squares:
/// batch × points in, batch × ``steps`` out. A singular series gives NaN.
#[pyfunction]
pub(crate) fn ar_forecast(lags: usize, steps: usize) -> PyResult<PyOperator> {
    let operator = ArForecast::new(lags, steps).map_err(raised)?;
    Ok(PyOperator::numbers(operator))
}

/// Cross-correlation with zero padding: batch × height × width in and out.
#[pyfunction]
#[pyo3(signature = (filter, stride = 1, padding = 0))]
pub(crate) fn conv2d(filter: Array<'_>, stride: usize, padding: usize) -> PyResult<PyOperator> {
    let conv = Conv2d::new(tensor(&filter)?, stride, padding);
    Ok(PyOperator::numbers(conv.map_err(raised)?).of_images())
}

/// Shannon entropy in bits (0 to 8) of the window around each pixel, 1 to 255 wide: batch × height ×
/// width in and out, values of 0 to 1.
#[pyfunction]
pub(crate) fn pixel_entropy(window: usize) -> PyResult<PyOperator> {
    Ok(PyOperator::numbers(PixelEntropy::new(window).map_err(raised)?).of_images())
}

/// Connected components of the pixels above a threshold: batch × height × width in, labels in raster
/// order out (``uint32``, 0 for the background).
#[pyfunction]
#[pyo3(signature = (threshold, connectivity = 4))]
pub(crate) fn image_segmentation(threshold: f32, connectivity: usize) -> PyResult<PyOperator> {
    let touching = self::connectivity(connectivity)?;
    let operator = ImageSegmentation::new(threshold, touching).map_err(raised)?;
    Ok(PyOperator::labels(operator).of_images())
}

/// Convolution, entropy and segmentation as one.
#[pyfunction]
#[pyo3(signature = (filter, window, threshold, stride = 1, padding = 0, connectivity = 4))]
pub(crate) fn fused_conv_entropy_segment(
    filter: Array<'_>,
    window: usize,
    threshold: f32,
    stride: usize,
    padding: usize,
    connectivity: usize,
) -> PyResult<PyOperator> {
    let touching = self::connectivity(connectivity)?;
    let conv = Conv2d::new(tensor(&filter)?, stride, padding).map_err(raised)?;
    let entropy = PixelEntropy::new(window).map_err(raised)?;
    let segment = ImageSegmentation::new(threshold, touching).map_err(raised)?;
    let fused = FusedConvEntropySegment::new(conv, entropy, segment);
    Ok(PyOperator::labels(fused).of_images())
}

/// One step of an LSTM: x, h and c in; batch × 2 × hidden out, h' and then c'. Weights as
/// PyTorch's `LSTMCell` has them.
#[pyfunction]
pub(crate) fn lstm_cell(
    weight_ih: Array<'_>,
    weight_hh: Array<'_>,
    bias_ih: Array<'_>,
    bias_hh: Array<'_>,
) -> PyResult<PyOperator> {
    let (inputs, hidden) = match (weight_ih.shape(), weight_hh.shape()) {
        ([_, inputs], [_, hidden]) => (*inputs, *hidden),
        (ih, hh) => {
            let message = format!(
                "lstm_cell: weights of shapes {ih:?} and {hh:?}; give (4 · hidden) × inputs and \
                 (4 · hidden) × hidden"
            );
            return Err(InvalidError::new_err(message));
        }
    };
    let cell = LstmCell::new(
        &values(&weight_ih),
        &values(&weight_hh),
        &values(&bias_ih),
        &values(&bias_hh),
        [inputs, hidden],
    );
    Ok(PyOperator::numbers(cell.map_err(raised)?))
}

/// Neurons whose dendrites integrate their inputs. ``weights`` are neurons × dendrites × inputs,
/// ``conductances`` neurons × dendrites; ``nonlinearity`` is ``sigmoid`` (``k`` per mV, ``theta``
/// mV), ``nmda`` (``mg`` mM, ``v_rest`` mV), ``active_bp`` (``beta`` per mV) or ``multiplicative``.
#[pyfunction]
#[pyo3(signature = (
    weights, conductances, nonlinearity, *, k = 1.0, theta = 0.0, mg = 1.0, v_rest = -70.0,
    beta = 0.0
))]
#[expect(clippy::too_many_arguments, reason = "keywords of a Python function")]
pub(crate) fn dendritic_integration(
    weights: Array<'_>,
    conductances: Array<'_>,
    nonlinearity: &str,
    k: f32,
    theta: f32,
    mg: f32,
    v_rest: f32,
    beta: f32,
) -> PyResult<PyOperator> {
    let nonlinearity = match nonlinearity {
        "sigmoid" => Nonlinearity::Sigmoid { k, theta },
        "nmda" => Nonlinearity::Nmda { mg, v_rest },
        "active_bp" => Nonlinearity::BackpropagatingActionPotential { beta },
        "multiplicative" => Nonlinearity::Multiplicative,
        other => {
            let message = format!(
                "nonlinearity: {other:?}; give \"sigmoid\", \"nmda\", \"active_bp\" or \
                 \"multiplicative\""
            );
            return Err(InvalidError::new_err(message));
        }
    };
    let (weights, conductances) = (tensor(&weights)?, tensor(&conductances)?);
    let operator = DendriticIntegration::new(weights, conductances, nonlinearity);
    Ok(PyOperator::numbers(operator.map_err(raised)?))
}

/// Sums of two batches of vectors.
#[pyfunction]
pub(crate) fn vector_add() -> PyOperator {
    PyOperator::numbers(VectorAdd)
}

/// Dot products of two batches of vectors.
#[pyfunction]
pub(crate) fn dot_product() -> PyOperator {
    PyOperator::numbers(DotProduct)
}

/// Products of a batch of matrix pairs: batch × m × k and batch × k × n in.
#[pyfunction]
pub(crate) fn matrix_multiply() -> PyOperator {
    PyOperator::numbers(MatrixMultiply)
}

/// The same with inputs rounded to half precision, on tensor cores if a GPU has them.
#[pyfunction]
pub(crate) fn tensor_core_matmul() -> PyOperator {
    PyOperator::numbers(TensorCoreMatmul)
}
