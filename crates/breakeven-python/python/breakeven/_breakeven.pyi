"""The extension module. Use the package `breakeven`, which wraps it."""

import os
from typing import (
    Any,
    Callable,
    Dict,
    Generator,
    Generic,
    List,
    Optional,
    Sequence,
    Tuple,
    TypeVar,
    Union,
    overload,
)

from numpy.typing import ArrayLike

__version__: str

Function = TypeVar("Function", bound=Callable[..., Any])
Result = TypeVar("Result")
PathLike = Union[str, "os.PathLike[str]"]
Attribute = Union[bool, int, float, str]

class Scope:
    """A recorded block or function: a context manager and a decorator.

    As a context manager it may be reused, nested, and by several threads. A block that ends on
    another thread than it began on is not recorded, and a RuntimeWarning says so.
    """

    def __enter__(self) -> Scope: ...
    def __exit__(self, *raised: object) -> None: ...
    def __call__(self, function: Function) -> Function: ...
    def named(self, name: str) -> Scope: ...
    def parts(self, inner: object) -> Coroutine: ...
    def bytes(self, bytes: int) -> None:
        """Sets how many bytes the call reads and writes, before it ends."""
    def items(self, items: int) -> None:
        """Sets how many items (images, records) the call processes."""
    def flops(self, flops: int) -> None:
        """Sets how many floating-point operations the call does."""
    def memory_bytes(self, bytes: int) -> None:
        """Sets the peak memory of the call, bytes."""
    def gpu_use(self, fraction: float) -> None:
        """Sets the fraction of the GPU's units that the call keeps busy, 0 to 1."""
    def attribute(self, name: str, value: Attribute) -> None:
        """Sets an attribute. The profile has the last value of each name."""

class Coroutine:
    def __await__(self) -> Generator[Any, Any, Any]: ...
    def __iter__(self) -> Generator[Any, Any, Any]: ...
    def __next__(self) -> Any: ...
    def send(self, value: object) -> Any: ...
    def throw(self, *raised: object) -> Any: ...
    def close(self) -> None: ...

@overload
def profile(
    what: Optional[str] = None,
    /,
    *,
    bytes: Optional[int] = None,
    items: Optional[int] = None,
    flops: Optional[int] = None,
    device: Optional[str] = None,
    size: Optional[int] = None,
    sync: Optional[Callable[[], object]] = None,
    **attributes: Attribute,
) -> Scope:
    """Records the time of a block, or of a function's calls.

    ``with profile("decode", bytes=n):`` records the block, even if it raises. ``@profile`` records
    each call of a function, a coroutine or a generator under its qualified name,
    ``@profile("name", device="cuda:0")`` under the given name.

    ``bytes``, ``items`` and ``flops`` are what a call processes; the profile has the mean. Name,
    ``device`` (cpu by default) and ``size`` (elements) together identify an operation. Any other
    argument is an attribute: a bool, a number or a text; the last value counts. Names are never
    freed, at most 65 536 of them.

    A block measures the host's time, whatever ``device`` is. ``sync`` is a function that waits for
    the device, such as ``torch.cuda.synchronize``: it is called at the beginning and the end of a
    block or a function.

    Raises TypeError for an attribute of another type, and InvalidError for a negative
    count.
    """

@overload
def profile(
    what: Function,
    /,
    *,
    bytes: Optional[int] = None,
    items: Optional[int] = None,
    flops: Optional[int] = None,
    device: Optional[str] = None,
    size: Optional[int] = None,
    sync: Optional[Callable[[], object]] = None,
    **attributes: Attribute,
) -> Function: ...
def record(enabled: bool) -> None: ...
def is_recording() -> bool: ...
def reset() -> None: ...
def timeline(capacity: int) -> None: ...
def snapshot() -> Profile: ...
def losses() -> Dict[str, int]: ...
def export_json(path: PathLike) -> None: ...

class Printed:
    def text(self, width: int = 80, colours: bool = False) -> str: ...
    def html(self) -> str: ...
    def markdown(self) -> str: ...

class Profile:
    @property
    def notes(self) -> List[str]: ...
    def json(self) -> str: ...
    def write(self, path: PathLike) -> None: ...
    def operations(self) -> str: ...
    def page(self) -> Printed: ...
    def __len__(self) -> int: ...

def load(
    path: PathLike, format: Optional[str] = None, columns: Optional[str] = None
) -> Profile: ...
def parse(text: str, origin: str) -> Profile: ...
def join(profiles: List[Profile]) -> Profile: ...

class Comparison:
    def json(self) -> str: ...
    def summary(self) -> str: ...
    def summary_text(self) -> str: ...
    def warnings(self) -> List[str]: ...
    def by_weight(self) -> str: ...
    def gate(
        self, strict: bool, allow_missing: bool, require_decided: bool
    ) -> Tuple[str, int, List[str], List[str]]: ...
    def page(
        self, gate: Optional[Tuple[str, int, List[str], List[str]]], notes: List[str]
    ) -> Printed: ...
    def print_summary(self) -> str: ...
    def print_regressions(self, top_n: int) -> str: ...
    def print_improvements(self, top_n: int) -> str: ...

def check_threshold(fraction: float) -> None: ...
def compare(
    baseline: List[Profile],
    current: List[Profile],
    threshold: float,
    *,
    history: List[Profile],
    percent: bool = False,
    metric: str = "time",
    alpha: float = 0.05,
    relative: bool = False,
    plain_threshold: bool = False,
    budget: Optional[PathLike] = None,
) -> Comparison: ...

class Advice:
    def json(self) -> str: ...
    def conclusion(self) -> str: ...
    def caveats(self) -> List[str]: ...
    def page(self, top_n: int) -> Printed: ...
    def print_suggestions(self, top_n: int) -> str: ...
    def print_critical_suggestions(self) -> str: ...
    def export(self, path: PathLike) -> None: ...

def advise(profile: Profile, evidence: List[Profile]) -> Advice: ...

class Swept:
    def page(self) -> Printed: ...
    def profile(self) -> Profile: ...
    def found(self) -> Optional[Tuple[float, List[float]]]: ...
    def constant(self) -> Optional[float]: ...

def sweep(
    name: str,
    sizes: Optional[List[int]],
    time_limit: float,
    make: Callable[[int], Any],
    cpu: Callable[[Any], Any],
    gpu: Callable[[Any], Any],
) -> Swept: ...

class Job:
    """A batch that was started."""

    @property
    def tasks(self) -> int: ...
    @property
    def done(self) -> int: ...
    def wait(self, timeout: float) -> bool: ...
    def cancel(self) -> None: ...
    def result(self) -> ExecutionResult[Any]: ...

class ExecutionResult(Generic[Result]):
    """All outputs of a batch, and how they were computed."""

    @property
    def outputs(self) -> Result:
        """One per task, in order: a list, or the return value of a function of a complete
        batch."""
    @property
    def errors(self) -> List[BaseException]:
        """Exceptions of the GPU's function: the first sixteen. Late calls and failed checks are in
        :meth:`to_dict`."""
    @property
    def gil_held(self) -> Optional[float]:
        """Fraction of the time in which the CPU's function held the GIL, 0 to 1; None if it was
        not measured."""
    @property
    def workers(self) -> int:
        """CPU workers that could take part."""
    @property
    def operation(self) -> str:
        """The operation's name."""
    @property
    def tasks(self) -> int:
        """Tasks of the batch."""
    @property
    def strategy_used(self) -> str:
        """Where tasks ran: cpu-only, gpu-only or hybrid:60/40, the GPU's share first."""
    @property
    def execution_time(self) -> float:
        """From the call to the last output, seconds."""
    @property
    def fallback_occurred(self) -> bool:
        """True if the CPU did tasks at which the GPU failed."""
    @property
    def cpu_tasks(self) -> int:
        """Tasks that the CPU did."""
    @property
    def gpu_tasks(self) -> int:
        """Tasks that the GPU did."""
    def to_dict(self) -> Dict[str, Any]:
        """The complete record of the execution without its outputs; times are {"secs",
        "nanos"}."""
    def explain(self) -> str:
        """What ran where, why, predicted and actual time, as text."""

class Operator:
    @property
    def name(self) -> str: ...
    @property
    def takes_images(self) -> bool: ...
    def output_shape(self, *shapes: Sequence[int]) -> List[int]: ...
    def then(self, next: Operator) -> Operator: ...
    def run(
        self,
        inputs: List[Any],
        operation: Optional[str],
        strategy: str,
        device: Optional[str],
    ) -> ExecutionResult[Any]: ...

def start(
    tasks: Any,
    cpu: Callable[[Any], Any],
    gpu: Optional[Callable[[Any], Any]],
    asked: Dict[str, Any],
) -> Job: ...
def forget(operation: Optional[str], path: Optional[str]) -> None: ...
def devices() -> List[Tuple[str, str]]:
    """The GPUs of this machine: name and kind (discrete, integrated, software, …)."""

def ar_forecast(lags: int, steps: int) -> Operator: ...
def conv2d(filter: ArrayLike, stride: int = 1, padding: int = 0) -> Operator: ...
def pixel_entropy(window: int) -> Operator: ...
def image_segmentation(threshold: float, connectivity: int = 4) -> Operator: ...
def fused_conv_entropy_segment(
    filter: ArrayLike,
    window: int,
    threshold: float,
    stride: int = 1,
    padding: int = 0,
    connectivity: int = 4,
) -> Operator: ...
def lstm_cell(weight_ih: ArrayLike, weight_hh: ArrayLike, bias_ih: ArrayLike, bias_hh: ArrayLike) -> Operator: ...
def dendritic_integration(
    weights: ArrayLike, conductances: ArrayLike, nonlinearity: str, **parameters: float
) -> Operator: ...
def vector_add() -> Operator: ...
def dot_product() -> Operator: ...
def matrix_multiply() -> Operator: ...
def tensor_core_matmul() -> Operator: ...
