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
from typing import TYPE_CHECKING, Any, Callable, Optional, Sequence

import numpy

from . import _breakeven
from ._breakeven import ExecutionResult
from ._breakeven import devices as devices
from ._check import shown
from ._errors import InvalidError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from typing_extensions import ParamSpec

    P = ParamSpec("P")


class Operator:
    """Work on a batch of items: parameters, no data. From the functions of this module."""

    #: Its name in profiles and in the cost model.
    name: str
    #: True if inputs are images; 8-bit images are read as v / 256.
    takes_images: bool

    def __init__(self, raw: _breakeven.Operator, *made: Any) -> None:
        self._raw = raw
        #: The call that created it, for pickling.
        self._made = made
        self.name, self.takes_images = raw.name, raw.takes_images

    def output_shape(self, *shapes: Sequence[int]) -> list[int]:
        """The output's shape for inputs of these shapes."""
        return self._raw.output_shape(*shapes)

    def then(self, next: Operator) -> Operator:
        """This operator and then ``next`` on its output, as one operator."""
        return Operator(self._raw.then(next._raw), self.then, (next,))

    def run(
        self,
        *inputs: ArrayLike,
        strategy: str = "auto",
        device: Optional[str] = None,
        operation: Optional[str] = None,
    ) -> ExecutionResult[Any]:
        """Runs it on a batch, on the CPU or a GPU; ``operator(*inputs)`` is its output alone.

        Args:
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
        arrays = [self._array(at, given) for at, given in enumerate(inputs)]
        return self._raw.run(arrays, operation, strategy, device)

    def __call__(self, *inputs: ArrayLike, **options: Any) -> Any:
        """Only the output of :meth:`run`, with its options."""
        return self.run(*inputs, **options).outputs

    def __reduce__(self) -> tuple[Any, ...]:
        return self._made

    def __repr__(self) -> str:
        return f"<Operator {self.name}>"

    def _array(self, at: int, given: ArrayLike) -> NDArray[numpy.float32]:
        by_pointer: Any = given
        if hasattr(given, "__dlpack__") and not hasattr(given, "__array__"):
            by_pointer = numpy.from_dlpack(by_pointer)
        array = numpy.asarray(by_pointer)
        if array.ndim == 0:
            raise InvalidError(
                f"{self.name}: input {at} is a single value; give an array with the batch first"
            )
        if array.dtype.kind not in "fiub":
            raise InvalidError(
                f"{self.name}: input {at} is of {array.dtype}; give numbers that float32 holds"
            )
        if array.dtype == numpy.uint8 and self.takes_images:
            return array.astype(numpy.float32) / numpy.float32(256)
        return numpy.ascontiguousarray(array, dtype=numpy.float32)


run = Operator.run


def _pickles(function: Callable[P, _breakeven.Operator]) -> Callable[P, Operator]:
    """The operators that ``function`` makes, pickled as the call."""

    @functools.wraps(function)
    def made(*args: P.args, **kwargs: P.kwargs) -> Operator:
        try:
            raw = function(*args, **kwargs)
        except (OverflowError, ValueError) as error:
            given = ", ".join([*map(shown, args), *(f"{k}={shown(v)}" for k, v in kwargs.items())])
            raise InvalidError(f"{function.__name__}({given}): {error}") from error
        return Operator(raw, functools.partial(made, **kwargs), args)

    made.__module__ = __name__
    return made


def chain(*operators: Operator) -> Operator:
    """Joins operators, each working on the output of the one before: each stage is placed so that
    the complete chain is fastest, and data stays on the device of the next stage.
    """
    if not operators:
        raise InvalidError("a chain of no operators; give at least one")
    return functools.reduce(Operator.then, operators)


ar_forecast = _pickles(_breakeven.ar_forecast)
conv2d = _pickles(_breakeven.conv2d)
pixel_entropy = _pickles(_breakeven.pixel_entropy)
image_segmentation = _pickles(_breakeven.image_segmentation)
fused_conv_entropy_segment = _pickles(_breakeven.fused_conv_entropy_segment)
lstm_cell = _pickles(_breakeven.lstm_cell)
dendritic_integration = _pickles(_breakeven.dendritic_integration)
vector_add = _pickles(_breakeven.vector_add)
dot_product = _pickles(_breakeven.dot_product)
matrix_multiply = _pickles(_breakeven.matrix_multiply)
tensor_core_matmul = _pickles(_breakeven.tensor_core_matmul)
