"""Runs batches: arguments and waiting; the engine is in the library."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import contextvars
import functools
import hashlib
import inspect
import itertools
import os
import pickle
import sys
import time
import traceback
import types
import warnings
from concurrent.futures import BrokenExecutor
from typing import Any, Callable, Iterator, Literal, Optional, TypedDict, TypeVar, Union

from . import _breakeven
from ._breakeven import ExecutionResult
from ._check import costs_file, count, invalid, number, text
from ._errors import FallbackWarning, InvalidError, TaskError

#: Seconds between two checks for Ctrl-C and redraws while waiting for a batch.
_LOOK = 0.05

T = TypeVar("T")
Progress = Union[bool, Callable[[int, int], Any]]
Workers = Union[int, Literal["threads", "processes"], None]
Fallback = Union[Literal["allow", "deny"], float]
Costs = Union[str, "os.PathLike[str]", None, Literal[False]]


class Workload(TypedDict, total=False):
    """A description of the tasks, for the rule that decides before anything is measured:
    ``complexity``, the computation per byte on a scale on which 100 is usual; ``memory_per_task``,
    bytes on the GPU, by default those of arrays among the tasks; ``parallelization``, the fraction
    of the work that can run in parallel, 0 to 1."""

    complexity: float
    memory_per_task: int
    parallelization: float


def run(
    tasks: Any,
    cpu: Callable[[Any], Any],
    gpu: Optional[Callable[[Any], Any]] = None,
    *,
    operation: Optional[str] = None,
    strategy: str = "auto",
    batched: bool = False,
    batch_size: Optional[int] = None,
    min_batch: Optional[int] = None,
    workers: Workers = None,
    device: Optional[str] = None,
    workload: Optional[Workload] = None,
    fallback: Fallback = "allow",
    deadline: Optional[float] = None,
    timeout: Optional[float] = None,
    check: float = 0.0,
    tolerance: tuple[float, float] = (1e-4, 1e-6),
    return_exceptions: bool = False,
    progress: Progress = False,
    costs: Costs = None,
) -> ExecutionResult[Any]:
    """Runs every task on the CPU, the GPU or both, wherever it pays.

    Args:
        tasks: A list, or an array (NumPy, CuPy, PyTorch, JAX) with one item per entry of its
            first dimension, sliced as views, not copies; with ``batched`` also a table
            (pandas, Polars, Arrow), sliced into blocks of rows; or any object that is indexed
            by numbers or iterable.
        cpu: Does one task and returns its output; with ``batched``, several adjacent
            tasks, and returns a list or an array with one output for each.
        gpu: Does several tasks and returns a list or an array with one output for each. For lack
            of memory (``torch.cuda.OutOfMemoryError``, CuPy's, XLA's, ``MemoryError``) the
            batch is halved; after other errors the CPU does those tasks. Raise
            :class:`breakeven.DeviceError` to say more.
        operation: Its name in profiles and in the cost model; by default the CPU function's
            module and name with a hash of its code. The cost model learns from each batch for
            the next one of the same name.
        strategy: ``auto``, ``cpu-only``, ``gpu-only`` or ``hybrid:60/40`` (GPU's share first).
        batched: ``cpu`` takes several tasks per call.
        batch_size: Most items per call, with ``batched``.
        min_batch: Fewest items per call, with ``batched``, except in the last call.
        workers: Workers of the CPU: a number, ``"threads"`` (as many as there are cores) or
            ``"processes"`` (as many, each a Python of its own: ``cpu``, tasks and outputs are
            pickled). By default as many threads as pay, which is measured.
        device: The GPU's name in profiles and in the cost model; by default as PyTorch
            or CuPy report it if one of them is loaded, else ``gpu:0``.
        workload: A description of the tasks, a :class:`breakeven.Workload`.
        fallback: Whether the CPU may do tasks at which the GPU fails: ``allow``, ``deny``, or
            the largest fraction of the tasks that may fall back, 0 to 1.
        deadline: Seconds after which the batch ends with :class:`breakeven.DeadlineExceeded`.
        timeout: Seconds that a call of ``gpu`` may take; after that its result is ignored (its
            thread continues) and the CPU does those tasks. ``gpu`` then runs on a separate
            thread.
        check: Fraction of the GPU's outputs that are compared with ``cpu``'s, 0 to 1; a call
            with a different output counts as failed.
        tolerance: Relative and absolute difference that ``check`` accepts.
        return_exceptions: Every task has an output or a :class:`breakeven.TaskError` of its
            own; else the first error ends the batch. Not with ``batched``.
        progress: True for a bar (needs ``tqdm``), or a function that gets
            the number of finished tasks and the total, about twenty times a second.
        costs: The file of the cost model of CPU and GPU, False for none; by default this
            user's.

    Returns:
        The outputs in the order of the tasks, and how they were computed.

    Raises:
        TaskError: ``cpu`` raised; ``__cause__`` is its exception.
        DeviceError: The GPU failed and ``fallback`` does not let the CPU take over.
        DeadlineExceeded: ``deadline`` passed.
        InvalidError: The request is invalid, or the outputs of ``cpu`` and ``gpu`` have
            different types.
        KeyboardInterrupt: At Ctrl-C, which waits for running calls; a second one does not.
    """
    return _ended(_waited(tasks, _asked(locals()), progress))


def _waited(tasks: Any, asked: dict[str, Any], progress: Progress) -> ExecutionResult[Any]:
    """The result of a batch, which ends early if Ctrl-C or ``progress`` raise."""
    job = _started(tasks, asked)
    if job.wait(0.0):
        return job.result()
    try:
        with _shown(progress, asked["operation"], job.tasks) as show:
            while not job.wait(_LOOK):
                show(job.done)
            show(job.done)
    except BaseException:
        # Ctrl-C, or an exception of the progress function: no task stays running, unless Ctrl-C
        # comes again.
        job.cancel()
        with contextlib.suppress(KeyboardInterrupt):
            while not job.wait(_LOOK):
                pass
        raise
    return job.result()


def _started(tasks: Any, asked: dict[str, Any]) -> _breakeven.Job:
    cpu = asked["cpu"]
    if asked["pools"]:
        cpu = _processes(cpu, asked)
    if asked["gpu"] is not None:
        join = asked["join"] or functools.partial(_join, library=_kind(tasks)[0])
        asked = {**asked, "join": join, "one_type": None if asked["each"] else _one_type}
    return _breakeven.start(tasks, cpu, asked["gpu"], asked)


async def run_async(
    tasks: Any,
    cpu: Callable[[Any], Any],
    gpu: Optional[Callable[[Any], Any]] = None,
    *,
    batched: bool = False,
    **options: Any,
) -> ExecutionResult[Any]:
    """Like :func:`run`, without blocking the event loop; cancelling it cancels the batch."""
    known = {**_known(options, "run_async"), "batched": batched}
    asked = _asked({**_DEFAULTS, **known, "tasks": tasks, "cpu": cpu, "gpu": gpu})
    asked["here"] = False
    job, began = _started(tasks, asked), time.monotonic()
    try:
        with _shown(options.get("progress", False), asked["operation"], job.tasks) as show:
            while not job.wait(0.0):
                # The end is noticed at most a fiftieth of the time late.
                await asyncio.sleep(min((time.monotonic() - began) / 50, _LOOK))
                show(job.done)
            show(job.done)
    except BaseException:
        job.cancel()
        while not job.wait(0.0):
            await asyncio.sleep(0.001)
        raise
    return _ended(job.result())


def forget(operation: Optional[str] = None, *, costs: Costs = None) -> None:
    """Deletes the measurements of an operation, or of all: in this process and in ``costs``. A
    GPU that failed is tried again."""
    name = None if operation is None else text("operation", operation)
    _breakeven.forget(name, costs_file(costs))


_DEFAULTS: dict[str, Any] = dict(run.__kwdefaults__ or {})
_OPTIONS = _DEFAULTS.keys() - {"batched", "operation"}


def _known(options: dict[str, Any], function: str) -> dict[str, Any]:
    for name in options:
        if name not in _DEFAULTS:
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}")
    return options


def _form(given: dict[str, Any]) -> dict[str, Any]:
    """The options in the engine's form."""
    workers, batched, each = given["workers"], given["batched"], bool(given["return_exceptions"])
    form = {**dict.fromkeys(Workload.__annotations__), **{name: given[name] for name in _DEFAULTS}}
    text("strategy", given["strategy"])
    if each and batched:
        raise InvalidError("return_exceptions needs a function of single tasks: batched=False")
    if workers not in (None, "threads", "processes"):
        remedy = "give 1 to 65 536, 'threads' or 'processes'"
        workers = count("workers", workers, 1, remedy, 1 << 16)

    def optional(name: str, check: Callable[..., Any], *limits: Any) -> None:
        if given[name] is not None:
            form[name] = check(name, given[name], *limits)

    optional("device", text)
    optional("deadline", number, "give seconds, 0 or more")
    optional("timeout", number, "give seconds, more than 0", 1e-9)
    for name in ("batch_size", "min_batch"):
        optional(name, count, 1)
        if form[name] is not None and not batched:
            raise InvalidError(f"{name} is for a function of several items: batched=True")
    if (form["min_batch"] or 0) > (form["batch_size"] or sys.maxsize):
        raise invalid("min_batch", given["min_batch"], "give at most the batch_size")
    workload = given["workload"] or {}
    if not isinstance(workload, dict):
        raise invalid("workload", workload, "give a breakeven.Workload, a dictionary")
    for name, value in workload.items():
        if name not in Workload.__annotations__:
            raise invalid("workload", name, f"give {', '.join(Workload.__annotations__)}")
        check = count if name == "memory_per_task" else number
        form[name] = check(f"workload: {name}", value)
    try:
        relative, absolute = (number("", part) for part in given["tolerance"])
    except (TypeError, ValueError):
        remedy = "give two numbers, (relative, absolute), 0 or more each"
        raise invalid("tolerance", given["tolerance"], remedy) from None
    part = given["fallback"]
    part = {"allow": 1.0, "deny": 0.0}.get(part, part) if isinstance(part, str) else part
    processes = workers == "processes"
    return {
        **form,
        "pools": processes,
        "processes": processes and not batched,
        "each": each and not processes,
        "workers": workers if isinstance(workers, int) else 0,
        "fixed": workers is not None,
        "here": True,
        "shown": bool(given["progress"]),
        "fallback": number("fallback", part, "give 'allow', 'deny' or a fraction, 0 to 1", 0, 1),
        "check": number("check", given["check"], "give a fraction, 0 to 1", 0, 1),
        "tolerance": (relative, absolute),
        "costs": costs_file(given["costs"], "tasks" in given),
        "keeps_costs": given["costs"] is not False,
        "join": _listed if processes and not batched else None,
        "one_type": None,
        "agree": _agree,
    }


def _asked(given: dict[str, Any]) -> dict[str, Any]:
    """The arguments in the engine's form."""
    cpu, gpu, operation = given["cpu"], given["gpu"], given["operation"]
    _check_function("cpu", cpu, given)
    if gpu is not None:
        _check_function("gpu", gpu, given)
    if operation is not None:
        text("operation", operation)
    if given["batched"] not in (True, False):
        raise invalid("batched", given["batched"], "give True or False")
    # Most batches have no options, and are quick.
    changed = [name for name in _OPTIONS if given[name] is not _DEFAULTS[name]]
    form = _form(given) if changed else _USUAL
    device, memory = form["device"] or "gpu:0", None
    if gpu is not None and form["device"] is None:
        device, memory = _device()
    return {
        **form,
        "cpu": cpu if form["pools"] else _carried(cpu),
        "gpu": gpu if gpu is None else _carried(gpu),
        "operation": operation or _name(cpu),
        "batched": bool(given["batched"]),
        "device": device,
        "device_bytes": memory,
        "context": contextvars.copy_context() or None,
    }


def _check_function(name: str, function: Any, given: dict[str, Any]) -> None:
    """Refuses what cannot be called, or does the work later, which only datasets take."""
    code = _code(_inner(function)) if "tasks" in given else None
    if not callable(function) or code is not None and code.co_flags & _LATER:
        swapped = "; are tasks and cpu swapped?" if callable(given.get("tasks")) else ""
        raise invalid(name, function, f"give a function, no coroutine or generator{swapped}")


def _inner(function: Any) -> Any:
    while isinstance(function, functools.partial):
        function = function.func
    return function


def _code(function: Any) -> Optional[types.CodeType]:
    code = getattr(function, "__code__", None)
    code = code or getattr(getattr(type(function), "__call__", None), "__code__", None)
    return code if isinstance(code, types.CodeType) else None


#: Flags of the code of coroutines and generators.
_LATER = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


def _name(function: Callable[..., Any]) -> str:
    """The name of a function: its module and name, and a hash of its code."""
    inner = _inner(function)
    function = getattr(inner, "__wrapped__", inner)
    of = function if hasattr(function, "__qualname__") else type(function)
    module = getattr(of, "__module__", None)
    name = of.__qualname__
    name = name if module in (None, "__main__", "builtins") else f"{module}.{name}"
    code = _code(function)
    return f"{name}#{_code_hash(code)}" if code else name


@functools.lru_cache(maxsize=4096)
def _code_hash(code: types.CodeType) -> str:
    parts: list[Any] = [code.co_code, code.co_names]
    for constant in code.co_consts:
        inner = isinstance(constant, types.CodeType)
        # The order in a set differs from process to process.
        parts.append(
            _code_hash(constant) if inner
            else sorted(map(repr, constant)) if isinstance(constant, frozenset)
            else constant
        )
    return hashlib.blake2b(repr(parts).encode(), digest_size=4).hexdigest()


def _carried(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The function with PyTorch's (and NumPy's, before 2.0) per-thread settings."""
    enter: list[Callable[[], contextlib.AbstractContextManager[Any]]] = []
    torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
    if torch is not None and not torch.is_grad_enabled():
        inference = torch.is_inference_mode_enabled()
        enter.append(torch.inference_mode if inference else torch.no_grad)
    if torch is not None and torch.cuda.is_initialized():
        enter.append(functools.partial(torch.cuda.device, torch.cuda.current_device()))
    if numpy is not None and numpy.__version__ < "2" and numpy.geterr() != _NUMPY_ERRORS:
        enter.append(functools.partial(numpy.errstate, **numpy.geterr()))
    if not enter:
        return function

    def called(part: Any) -> Any:
        with contextlib.ExitStack() as stack:
            for each in enter:
                stack.enter_context(each())
            return function(part)

    return called


_NUMPY_ERRORS = {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}


def _device() -> tuple[str, Optional[int]]:
    """The GPU that PyTorch or CuPy use, if one of them is loaded: its name and its memory."""
    with contextlib.suppress(Exception):
        torch = sys.modules.get("torch")
        if torch is not None and torch.cuda.is_available():
            device = torch.cuda.current_device()
            properties = torch.cuda.get_device_properties(device)
            return f"cuda:{device} {properties.name}", properties.total_memory
        cupy = sys.modules.get("cupy")
        if cupy is not None:
            found = cupy.cuda.Device()
            name = cupy.cuda.runtime.getDeviceProperties(found.id)["name"].decode()
            return f"cuda:{found.id} {name}", found.mem_info[1]
    return "gpu:0", None


def _join(parts: list[Any], library: str = "") -> Any:
    """Joins outputs that were returned in pieces: an array of arrays, a table of tables, else a
    list. If a GPU took part, arrays are of the tasks' ``library``."""
    if library == "numpy":
        parts = [_on_host(part) if _is_array(part) else part for part in parts]
    if library == "torch":
        parts = [part.cpu() if _kind(part)[0] == "torch" else part for part in parts]
    if len(parts) < 2:
        return parts[0] if parts else []
    kinds = {_kind(part): part for part in parts}
    if len({kind[0] for kind in kinds}) > 1 and all(map(_is_array, parts)):
        # Arrays of a GPU's library and of the CPU's are joined on the host.
        parts = [_on_host(part) for part in parts]
        kinds = {_kind(part): part for part in parts}
    if len(kinds) > 1:
        words = sorted(" of ".join(filter(None, kind)) for kind in kinds)
        raise InvalidError(
            f"outputs of different kinds: {', '.join(words)}; let the functions return the same, "
            "so that what comes out does not depend on where a task ran"
        )
    (library, _), first = kinds.popitem()
    if library == "torch":
        # Pieces may come from several devices; they are joined on the CPU.
        devices = {part.device for part in parts}
        parts = parts if len(devices) == 1 else [part.cpu() for part in parts]
        return sys.modules[library].cat(parts)
    if library in ("pandas", "polars"):
        return sys.modules[library].concat(parts)
    if library == "pyarrow" and hasattr(first, "schema"):
        return sys.modules["pyarrow"].concat_tables(parts)
    if library in ("numpy", "cupy", "jax", "jaxlib"):
        module = sys.modules["jax.numpy" if library.startswith("jax") else library]
        return module.concatenate(parts)
    return [item for part in parts for item in part]


def _kind(part: Any) -> tuple[str, str]:
    """The library and the type of an array."""
    if isinstance(part, (list, tuple)):
        return type(part).__name__, ""
    return type(part).__module__.partition(".")[0], str(getattr(part, "dtype", ""))


def _is_array(part: Any) -> bool:
    """True for arrays of any library, which move to the host; lists and tables do not."""
    return _kind(part)[0] not in ("list", "tuple", "pandas", "polars", "pyarrow")


def _one_type(outputs: list[Any], by_gpu: list[bool]) -> list[Any]:
    """Outputs of single tasks, converted so that their type does not depend on the device:
    numbers are Python's own, arrays of a GPU's library are moved to the host."""
    by_cpu = [not by for by in by_gpu]
    generic = sys.modules["numpy"].generic
    if any(issubclass(kind, generic) for kind in set(map(type, outputs))):
        outputs = [each.item() if isinstance(each, generic) else each for each in outputs]
    for _ in range(2):
        kinds = [_kinds(itertools.compress(outputs, by)) for by in (by_cpu, by_gpu)]
        if not all(kinds) or kinds[0] & kinds[1]:
            return outputs
        if not all(hasattr(each, "shape") and _is_array(each) for each in outputs):
            break
        outputs = list(map(_on_host, outputs))
    words = (
        " or ".join(sorted(f"{kind.__name__} {dtype}".strip() for kind, dtype in each))
        for each in kinds
    )
    raise InvalidError("cpu gives {}, gpu {}; let both give the same".format(*words))


def _kinds(given: Iterator[Any]) -> set[tuple[type, str]]:
    outputs = list(given)
    kinds = set(map(type, outputs))
    if not any(hasattr(kind, "dtype") for kind in kinds):
        return {(kind, "") for kind in kinds}
    return {(type(output), str(getattr(output, "dtype", ""))) for output in outputs}


def _listed(parts: list[Any]) -> list[Any]:
    """The outputs of processes as one list, errors of single tasks with their place."""
    all = [item for part in parts for item in (part if type(part) is list else part.tolist())]
    for index, output in enumerate(all):
        if type(output) is _Failed:
            all[index] = TaskError(index, str(output.error))
            all[index].__cause__ = output.error
    return all


def _on_host(part: Any) -> Any:
    """Converts an array of any library to NumPy."""
    import numpy

    name = {"cupy": "get", "torch": "cpu"}.get(_kind(part)[0])
    return numpy.asarray(getattr(part, name)() if name else part)


def _agree(gpu: Any, cpu: Any, relative: float, absolute: float) -> bool:
    """Whether two outputs are equal within a tolerance."""
    import numpy

    gpu, cpu = _on_host(gpu), _on_host(cpu)
    if gpu.shape != cpu.shape:
        return False
    if gpu.dtype.kind in "fc" or cpu.dtype.kind in "fc":
        return bool(numpy.allclose(gpu, cpu, rtol=relative, atol=absolute, equal_nan=True))
    return bool(numpy.array_equal(gpu, cpu))


_USUAL = _form(_DEFAULTS)


def _ended(result: ExecutionResult[T]) -> ExecutionResult[T]:
    """Warns about tasks that the CPU did instead of the GPU."""
    if result.fallback_occurred:
        known = result.to_dict()
        fallen, why = known["fallback"]["tasks"], known["errors"][0]
        errors = (error for error in result.errors if str(error) in why["message"])
        traces = (traceback.extract_tb(error.__traceback__)[-1:] for error in errors)
        place = "".join(f" ({os.path.basename(p.filename)}:{p.lineno})" for p in next(traces, ()))
        warnings.warn(
            f"{result.operation}: the CPU did {fallen} of {result.tasks} tasks instead of the GPU: "
            f"{why['kind']}: {why['message']}{place}",
            FallbackWarning,
            stacklevel=3,
        )
    return result


@contextlib.contextmanager
def _shown(progress: Progress, operation: str, tasks: int) -> Iterator[Callable[[int], Any]]:
    """Shows the progress of a batch."""
    if callable(progress) or not progress:
        yield lambda done: progress(done, tasks) if callable(progress) else None
        return
    try:
        from tqdm.auto import tqdm
    except ImportError as error:
        raise ImportError("progress=True needs tqdm: pip install tqdm") from error
    with tqdm(total=tasks, desc=operation, unit="task") as bar:
        yield lambda done: bar.update(done - bar.n)


class _Failed:
    """The exception of a task whose error does not end the batch."""

    def __init__(self, error: Exception) -> None:
        self.error = error


def _processes(cpu: Callable[[Any], Any], asked: dict[str, Any]) -> Callable[[Any], Any]:
    """The CPU's function for several tasks, executed in a process."""
    try:
        pickled = pickle.dumps(cpu, protocol=pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        raise InvalidError(
            f"workers='processes': {_name(cpu)} cannot be sent to a process ({error}); define it "
            "at the top level of a module"
        ) from error
    pool = _pool(os.getpid(), asked["workers"] or os.cpu_count() or 1)
    each = None if asked["batched"] else bool(asked["return_exceptions"])

    def call(tasks: Any) -> Any:
        try:
            return pool.submit(_in_process, pickled, tasks, each).result()
        except BrokenExecutor as error:
            _pool.cache_clear()
            main = "put the call under `if __name__ == '__main__':`"
            raise type(error)(f"a process has died; if none could start, {main}") from error

    return call


@functools.lru_cache(maxsize=None)
def _pool(owner: int, workers: int) -> Any:
    """Processes of the process ``owner``, which stay for its next batch."""
    import concurrent.futures
    import multiprocessing

    # Not by fork: this process has threads.
    context = multiprocessing.get_context("spawn")
    pool = concurrent.futures.ProcessPoolExecutor(workers, mp_context=context)
    atexit.register(pool.shutdown, wait=False, cancel_futures=True)
    return pool


_loaded = functools.lru_cache(maxsize=8)(pickle.loads)


def _in_process(pickled: bytes, tasks: Any, each: Optional[bool]) -> Any:
    """Does tasks in one of the processes: in one call, or one by one, in which case the first
    error ends them unless each task has its own."""
    function = _loaded(pickled)
    if each is None:
        return function(tasks)
    outputs: list[Any] = []
    for place, task in enumerate(tasks):
        try:
            outputs.append(function(task))
        except Exception as error:
            if not each:
                error.__breakeven_place__ = place  # type: ignore[attr-defined]
                raise
            outputs.append(_Failed(error))
    return outputs
