"""Runs batches: arguments and waiting; the engine is the library's."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import pickle
import sys
import threading
import warnings
from typing import Any, Callable, Iterable, Iterator, Literal, Optional, Union

from . import _breakeven
from ._breakeven import ExecutionResult
from ._errors import FallbackWarning, InvalidError

#: How often who waits for a batch looks out for Ctrl-C and draws, seconds.
_LOOK = 0.05

Progress = Union[bool, Callable[[int, int], Any]]
Workers = Union[int, Literal["threads", "processes"], None]
Fallback = Union[Literal["allow", "deny"], float]


def run(
    tasks: Any,
    cpu: Callable[[Any], Any],
    gpu: Optional[Callable[[Any], Any]] = None,
    *,
    operation: Optional[str] = None,
    strategy: str = "auto",
    batched: bool = False,
    workers: Workers = None,
    device: Optional[str] = None,
    complexity: Optional[float] = None,
    memory_per_task: Optional[int] = None,
    parallelization: Optional[float] = None,
    fallback: Fallback = "allow",
    deadline: Optional[float] = None,
    timeout: Optional[float] = None,
    check: float = 0.0,
    tolerance: tuple[float, float] = (1e-4, 1e-6),
    return_exceptions: bool = False,
    progress: Progress = False,
    costs: Union[str, os.PathLike[str], None, Literal[False]] = None,
) -> ExecutionResult:
    """Runs every task on the CPU, the GPU or both, wherever it pays.

    Args:
        tasks: A list, or an array (NumPy, CuPy, PyTorch, JAX) with one item per entry of its
            first dimension; anything else is made a list. Parts of arrays are views, not
            copies.
        cpu: Does one task and returns its output; with ``batched``, some tasks that lie side
            by side, and returns a list or an array with one output for each.
        gpu: Does some tasks and returns a list or an array with one output for each. What it
            raises is the device's error: for lack of memory (``torch.cuda.OutOfMemoryError``,
            CuPy's, XLA's, ``MemoryError``) the batch is halved, after other errors the CPU
            does those tasks. Raise :class:`breakeven.DeviceError` to say more.
        operation: What profiles and the cost model call it; the CPU function's name unless
            given. What is learned of one batch helps the next of the same name.
        strategy: ``auto``, ``cpu-only``, ``gpu-only`` or ``hybrid:60/40`` (GPU's part first).
        batched: ``cpu`` takes several tasks a call.
        workers: Workers of the CPU: a number, ``"threads"`` (as many as there are cores) or
            ``"processes"`` (as many, each a Python of its own: ``cpu``, tasks and outputs are
            pickled). Unless given, threads, as many as the function keeps busy: one where it
            holds the interpreter's lock most of the time, which is measured on the first tasks;
            all where the interpreter runs without its lock (free-threaded builds).
        device: The GPU's name in profiles and in the cost model; unless given, what PyTorch or
            CuPy say of it if one of them is loaded, else ``gpu:0``.
        complexity: How hard a task is, on a scale on which 100 is usual: for the rule that
            decides while nothing was measured.
        memory_per_task: Bytes that a task takes on the GPU.
        parallelization: Part of the work that can be done side by side, 0 to 1.
        fallback: Whether the CPU may do what the GPU fails at: ``allow``, ``deny``, or the
            part of the tasks that may fall back.
        deadline: Seconds after which the batch ends with :class:`breakeven.DeadlineExceeded`.
        timeout: Seconds that a call of ``gpu`` may take; after that it is given up (its thread
            goes on, unheeded) and the CPU does those tasks. ``gpu`` then runs on a thread of
            its own.
        check: Part of the GPU's outputs that is held against ``cpu``'s, 0 to 1; a call with an
            output that differs counts as failed.
        tolerance: Relative and absolute difference that ``check`` lets pass.
        return_exceptions: Every task has an output or a :class:`breakeven.TaskError` of its
            own; else the first error ends the batch. Not with ``batched``.
        progress: True for a bar (by ``tqdm``, where it is installed), or a function that gets
            the number of tasks done and that of all, about twenty times a second.
        costs: The file that the cost model is kept in, False for none; unless given this
            user's.

    Returns:
        The outputs in the order of the tasks, and how they came about.

    Raises:
        TaskError: ``cpu`` raised; ``__cause__`` is what.
        DeviceError: The GPU failed and ``fallback`` does not let the CPU take over.
        DeadlineExceeded: ``deadline`` passed.
        InvalidError: What was asked for cannot be done.
        KeyboardInterrupt: At Ctrl-C, when the tasks under way have ended.
    """
    return _told(_waited(tasks, cpu, gpu, _asked(locals()), workers, progress))


def _waited(
    tasks: Any,
    cpu: Callable[[Any], Any],
    gpu: Optional[Callable[[Any], Any]],
    asked: dict[str, Any],
    workers: Workers,
    progress: Progress,
) -> ExecutionResult:
    """The result of a batch, which ends early where Ctrl-C or ``progress`` raise."""
    with _processes(workers, asked, cpu) as function:
        job = _breakeven.start(tasks, function, gpu, asked)
        try:
            with _shown(progress, asked["operation"], job.tasks) as show:
                while not job.wait(_LOOK):
                    show(job.done)
                show(job.done)
        except BaseException:
            # Ctrl-C, or what a progress function raised: no task is left running.
            job.cancel()
            while not job.wait(_LOOK):
                pass
            raise
        return job.result()


async def run_async(
    tasks: Any,
    cpu: Callable[[Any], Any],
    gpu: Optional[Callable[[Any], Any]] = None,
    **options: Any,
) -> ExecutionResult:
    """As :func:`run`, without blocking the event loop; cancelling it cancels the batch."""
    asked = _asked({**_DEFAULTS, **_known(options, "run_async"), "cpu": cpu, "gpu": gpu})
    loop = asyncio.get_running_loop()
    with _processes(options.get("workers"), asked, cpu) as function:
        job = _breakeven.start(tasks, function, gpu, asked)
        ended = asyncio.Event()

        def tell() -> None:
            # The loop may be gone: then nobody waits.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(ended.set)

        job.add_done_callback(tell)
        try:
            with _shown(options.get("progress", False), asked["operation"], job.tasks) as show:
                while not ended.is_set():
                    with contextlib.suppress(asyncio.TimeoutError):
                        await asyncio.wait_for(ended.wait(), _LOOK * 4)
                    show(job.done)
        except BaseException:
            job.cancel()
            while not job.wait(0.0):
                await asyncio.sleep(0.001)
            raise
        return _told(job.result())


_DEFAULTS: dict[str, Any] = dict(run.__kwdefaults__ or {})


def _known(options: dict[str, Any], function: str) -> dict[str, Any]:
    for name in options:
        if name not in _DEFAULTS:
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}")
    return options


def _asked(given: dict[str, Any]) -> dict[str, Any]:
    """The arguments as the engine takes them."""
    cpu, workers, fallback = given["cpu"], given["workers"], given["fallback"]
    for name in ("cpu", "gpu"):
        function = given.get(name)
        if function is not None and not callable(function):
            raise InvalidError(f"{name}: {function!r} cannot be called; give a function")
    if given["return_exceptions"] and given["batched"]:
        raise InvalidError("return_exceptions needs a function of single tasks: batched=False")
    if isinstance(workers, int) and workers < 1:
        raise InvalidError(f"workers: {workers}; give 1 or more, 'threads' or 'processes'")
    if not isinstance(workers, int) and workers not in (None, "threads", "processes"):
        raise InvalidError(f"workers: {workers!r}; give a number, 'threads' or 'processes'")
    parts = {"allow": 1.0, "deny": 0.0}
    part = parts.get(fallback, fallback) if isinstance(fallback, str) else fallback
    if not isinstance(part, (int, float)) or not 0 <= part <= 1:
        raise InvalidError(f"fallback: {fallback!r}; give 'allow', 'deny' or a part, 0 to 1")
    for name in ("deadline", "timeout"):
        time = given[name]
        if time is not None and not time >= 0:
            raise InvalidError(f"{name}: {time!r}; give seconds, 0 or more")
    name, memory = _device() if given["device"] is None else (given["device"], None)
    costs = given["costs"]
    return {
        "operation": given["operation"] or _name(cpu),
        "strategy": given["strategy"],
        "batched": bool(given["batched"]),
        "each": bool(given["return_exceptions"]),
        "workers": workers if isinstance(workers, int) else 0,
        "free": workers is not None,
        "device": name,
        "device_bytes": memory,
        "complexity": given["complexity"],
        "memory_per_task": given["memory_per_task"],
        "parallelization": given["parallelization"],
        "fallback": float(part),
        "deadline": given["deadline"],
        "timeout": given["timeout"],
        "check": float(given["check"]),
        "tolerance": given["tolerance"],
        "costs": os.fspath(costs) if costs else None,
        "keeps_costs": costs is not False,
        "join": _join,
        "agree": _agree,
    }


def _name(function: Callable[..., Any]) -> str:
    """What a function is called: the module's part tells those of two programs apart."""
    function = getattr(function, "func", function)
    name = getattr(function, "__qualname__", type(function).__qualname__)
    module = getattr(function, "__module__", None)
    return name if module in (None, "__main__", "builtins") else f"{module}.{name}"


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


def _join(parts: list[Any]) -> Any:
    """Outputs that were given in parts as one: an array of arrays, else a list."""
    kinds = {type(part).__module__.partition(".")[0] for part in parts}
    if kinds == {"numpy"}:
        import numpy

        return numpy.concatenate(parts)
    if kinds == {"torch"}:
        import torch

        # Parts may come from several devices; they meet on the CPU.
        devices = {part.device for part in parts}
        return torch.cat(parts if len(devices) == 1 else [part.cpu() for part in parts])
    if kinds & {"numpy", "cupy", "jax", "jaxlib", "torch"}:
        import numpy

        return numpy.concatenate([_on_host(part) for part in parts])
    joined: list[Any] = []
    for part in parts:
        joined.extend(part)
    return joined


def _on_host(part: Any) -> Any:
    """An array of whatever library as NumPy's."""
    import numpy

    for name in ("get", "cpu"):
        copied = getattr(part, name, None)
        if callable(copied):
            part = copied()
    return numpy.asarray(part)


def _agree(gpu: Any, cpu: Any, relative: float, absolute: float) -> bool:
    """Whether two outputs are equal within a tolerance."""
    import numpy

    gpu, cpu = _on_host(gpu), _on_host(cpu)
    if gpu.shape != cpu.shape:
        return False
    if gpu.dtype.kind in "fc" or cpu.dtype.kind in "fc":
        return bool(numpy.allclose(gpu, cpu, rtol=relative, atol=absolute, equal_nan=True))
    return bool(numpy.array_equal(gpu, cpu))


def _told(result: ExecutionResult) -> ExecutionResult:
    """Warns of what the CPU did in the GPU's place."""
    if result.fallback_occurred:
        told = result.to_dict()
        fallen, tasks = told["fallback"]["tasks"], told["tasks"]
        why = told["errors"][0]
        warnings.warn(
            f"{result.operation}: the CPU did {fallen} of {tasks} tasks in the GPU's place: "
            f"{why['kind']}: {why['message']}",
            FallbackWarning,
            stacklevel=3,
        )
    return result


@contextlib.contextmanager
def _shown(progress: Progress, operation: str, tasks: int) -> Iterator[Callable[[int], Any]]:
    """Shows how far a batch is, to whom it may concern."""
    if callable(progress):
        yield lambda done: progress(done, tasks)
        return
    if not progress:
        yield lambda done: None
        return
    try:
        from tqdm.auto import tqdm
    except ImportError as error:
        raise ImportError("progress=True needs tqdm: pip install tqdm") from error
    with tqdm(total=tasks, desc=operation, unit="task") as bar:
        yield lambda done: bar.update(done - bar.n)


_pools: dict[tuple[int, int], Any] = {}
_pools_lock = threading.Lock()


@contextlib.contextmanager
def _processes(
    workers: Workers, asked: dict[str, Any], cpu: Callable[[Any], Any]
) -> Iterator[Callable[[Any], Any]]:
    """The CPU's function, which runs in processes where that was asked for."""
    if workers != "processes":
        yield cpu
        return
    try:
        pickled = pickle.dumps(cpu, protocol=pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        raise InvalidError(
            f"workers='processes': {_name(cpu)} cannot be sent to a process ({error}); define it "
            "at the top level of a module"
        ) from error
    pool = _pool(asked["workers"] or os.cpu_count() or 1)

    def call(task: Any) -> Any:
        return pool.submit(_in_process, pickled, task).result()

    yield call


def _pool(workers: int) -> Any:
    """Processes that stay for the next batch; after a fork, and where one died, new ones."""
    import concurrent.futures
    import multiprocessing

    with _pools_lock:
        pool = _pools.get((os.getpid(), workers))
        if pool is None or getattr(pool, "_broken", False):
            # Not by fork: this process has threads.
            context = multiprocessing.get_context("spawn")
            pool = concurrent.futures.ProcessPoolExecutor(workers, mp_context=context)
            _pools[os.getpid(), workers] = pool
        return pool


@atexit.register
def _end_pools() -> None:
    for (process, _), pool in _pools.items():
        if process == os.getpid():
            pool.shutdown(wait=False, cancel_futures=True)


_functions: dict[bytes, Callable[[Any], Any]] = {}


def _in_process(pickled: bytes, task: Any) -> Any:
    """Does a task, in one of the processes."""
    function = _functions.get(pickled)
    if function is None:
        _functions.clear()
        function = _functions[pickled] = pickle.loads(pickled)
    return function(task)
