"""The library's operators on arrays: set the parameters once, then run any batch on the CPU or a
GPU.

>>> import numpy as np
>>> from breakeven import operators
>>> edges = operators.conv2d([[1, 0, -1], [2, 0, -2], [1, 0, -1]], padding=1)
>>> texture = operators.chain(edges, operators.pixel_entropy(3))
>>> texture(np.full((2, 8, 8), 0.5, np.float32)).shape
(2, 8, 8)

Arrays, and objects with ``__dlpack__`` or ``__array_interface__``, have the batch as their first
dimension. Contiguous ``float32`` arrays are used without a copy, others are converted; 8-bit
images are read as v / 256. The output's memory is the array's, without a copy.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Callable, Optional, TypeVar

import numpy

from . import _breakeven
from ._breakeven import ExecutionResult, Operator
from ._breakeven import devices as devices
from ._errors import InvalidError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "Operator",
    "ar_forecast",
    "chain",
    "conv2d",
    "dendritic_integration",
    "devices",
    "dot_product",
    "fused_conv_entropy_segment",
    "image_segmentation",
    "lstm_cell",
    "matrix_multiply",
    "pixel_entropy",
    "run",
    "tensor_core_matmul",
    "vector_add",
]


def run(
    operator: Operator,
    *inputs: ArrayLike,
    strategy: str = "auto",
    device: Optional[str] = None,
    operation: Optional[str] = None,
) -> ExecutionResult[Any]:
    """Runs an operator on a batch, on the CPU or a GPU; ``operator(*inputs)`` is its output alone.

    Args:
        operator: The operator to run.
        inputs: Its arrays, all of one batch size.
        strategy: ``auto``, ``cpu-only``, ``gpu-only`` or ``hybrid:60/40`` (GPU's share first).
        device: The GPU, by its name in :func:`devices`; by default all that are not software.
        operation: Its name in profiles and in the cost model; by default the operator's name.

    Returns:
        The output, an array (``outputs``), and how it was computed.

    Raises:
        InvalidError: The operator does not take these shapes, or there is no such device.
        DeviceError: A GPU failed.
    """
    arrays = [_array(operator, at, given) for at, given in enumerate(inputs)]
    return operator._run(arrays, operation, strategy, device)


Made = TypeVar("Made", bound=Callable[..., Operator])


def _pickles(function: Made) -> Made:
    """Results of ``function`` are pickled as the call that created them."""

    @functools.wraps(function)
    def made(*args: Any, **kwargs: Any) -> Operator:
        operator = function(*args, **kwargs)
        operator._made_by(functools.partial(made, **kwargs), args)
        return operator

    return made  # type: ignore[return-value]


def chain(*operators: Operator) -> Operator:
    """Joins operators, each working on the output of the one before: each stage is placed so that
    the complete chain is fastest, and data stays on the device of the next stage.
    """
    if not operators:
        raise InvalidError("a chain of no operators; give at least one")
    whole = operators[0]
    for operator in operators[1:]:
        whole = whole.then(operator)
    return whole


def _array(operator: Operator, at: int, given: ArrayLike) -> NDArray[numpy.float32]:
    by_pointer: Any = given
    if hasattr(given, "__dlpack__") and not hasattr(given, "__array__"):
        by_pointer = numpy.from_dlpack(by_pointer)
    array = numpy.asarray(by_pointer)
    if array.ndim == 0:
        raise InvalidError(
            f"{operator.name}: input {at} is a single value; give an array with the batch first"
        )
    if array.dtype.kind not in "fiub":
        raise InvalidError(
            f"{operator.name}: input {at} is of {array.dtype}; give numbers that float32 holds"
        )
    if array.dtype == numpy.uint8 and operator.takes_images:
        return array.astype(numpy.float32) / numpy.float32(256)
    return numpy.ascontiguousarray(array, dtype=numpy.float32)


def _parameter(given: ArrayLike) -> NDArray[numpy.float32]:
    return numpy.ascontiguousarray(given, dtype=numpy.float32)


@_pickles
def ar_forecast(lags: int, steps: int) -> Operator:
    """Forecasts of an autoregressive model with intercept, fitted to each series by least
    squares: batch × points in, batch × ``steps`` out. A singular series gives NaN."""
    return _breakeven.ar_forecast(lags, steps)


@_pickles
def conv2d(filter: ArrayLike, stride: int = 1, padding: int = 0) -> Operator:
    """Cross-correlation with zero padding: batch × height × width in and out."""
    return _breakeven.conv2d(_parameter(filter), stride, padding)


@_pickles
def pixel_entropy(window: int) -> Operator:
    """Shannon entropy in bits (0 to 8) of the window around each pixel, 1 to 255 wide:
    batch × height × width in and out, values of 0 to 1."""
    return _breakeven.pixel_entropy(window)


@_pickles
def image_segmentation(threshold: float, connectivity: int = 4) -> Operator:
    """Connected components of the pixels above a threshold: batch × height × width in,
    labels in raster order out (``uint32``, 0 for the background)."""
    return _breakeven.image_segmentation(threshold, connectivity)


@_pickles
def fused_conv_entropy_segment(
    filter: ArrayLike,
    window: int,
    threshold: float,
    stride: int = 1,
    padding: int = 0,
    connectivity: int = 4,
) -> Operator:
    """:func:`conv2d`, :func:`pixel_entropy` and :func:`image_segmentation` as one."""
    return _breakeven.fused_conv_entropy_segment(
        _parameter(filter), window, threshold, stride, padding, connectivity
    )


@_pickles
def lstm_cell(
    weight_ih: ArrayLike, weight_hh: ArrayLike, bias_ih: ArrayLike, bias_hh: ArrayLike
) -> Operator:
    """One step of an LSTM with the weights of PyTorch's ``LSTMCell``. Inputs x
    (batch × inputs), h and c (batch × hidden); out batch × 2 × hidden: h', then c'."""
    return _breakeven.lstm_cell(*map(_parameter, (weight_ih, weight_hh, bias_ih, bias_hh)))


@_pickles
def dendritic_integration(
    weights: ArrayLike, conductances: ArrayLike, nonlinearity: str, **parameters: float
) -> Operator:
    """Neurons whose dendrites integrate their inputs. ``weights`` are neurons × dendrites ×
    inputs, ``conductances`` neurons × dendrites; ``nonlinearity`` is ``sigmoid`` (``k`` per
    mV, ``theta`` mV), ``nmda`` (``mg`` mM, ``v_rest`` mV), ``active_bp`` (``beta`` per mV) or
    ``multiplicative``."""
    return _breakeven.dendritic_integration(
        _parameter(weights), _parameter(conductances), nonlinearity, **parameters
    )


@_pickles
def vector_add() -> Operator:
    """Sums of two arrays of one shape, element by element."""
    return _breakeven.vector_add()


@_pickles
def dot_product() -> Operator:
    """Dot products of two batches of vectors."""
    return _breakeven.dot_product()


@_pickles
def matrix_multiply() -> Operator:
    """Products of a batch of matrix pairs: batch × m × k and batch × k × n in."""
    return _breakeven.matrix_multiply()


@_pickles
def tensor_core_matmul() -> Operator:
    """Like :func:`matrix_multiply` with inputs rounded to half precision, on tensor cores if a
    GPU has them."""
    return _breakeven.tensor_core_matmul()
