"""A process on a node that has its cores, and a GPU if there is one, and chooses between them."""

from __future__ import annotations

import functools
import pickle
import time
import traceback
from dataclasses import dataclass
from typing import Any, Callable, Optional

import numpy
from ray import cloudpickle

from .. import _run
from .._errors import Cancelled, TaskError
from .._record import get_profiler


@dataclass
class Done:
    """A span's outputs, and how they were computed."""

    outputs: Any
    #: The record, as in :meth:`breakeven.ExecutionResult.to_dict`.
    record: dict[str, Any]
    explanation: str
    seconds: float


@dataclass
class Failure:
    """The error of a span, or of one of its tasks (``index``, in the span)."""

    error: BaseException
    #: As text, because tracebacks cannot be sent.
    trace: str
    cause: Optional[BaseException] = None

    @classmethod
    def of(cls, error: BaseException) -> Failure:
        source = error.__cause__ or error
        trace = "".join(traceback.format_exception(type(source), source, source.__traceback__))
        cause = error.__cause__ and _portable(error.__cause__)
        return cls(_portable(error), trace, cause)

    def raised(self, start: int, node: str) -> BaseException:
        """The exception as it would be without a cluster."""
        error, cause = self.error, self.cause
        if isinstance(error, TaskError):
            error = TaskError(start + error.index, error._message)
        remote = _Remote(f'on {node}:\n"""\n{self.trace}"""')
        if cause is None:
            error.__cause__ = remote
        else:
            cause.__cause__ = remote
            error.__cause__ = cause
        return error


class _Remote(Exception):
    """The origin of an exception."""


def _portable(error: BaseException) -> BaseException:
    """The exception, or its text if it cannot be sent."""
    try:
        copy: BaseException = pickle.loads(cloudpickle.dumps(error))
        return copy if isinstance(copy, type(error)) else RuntimeError(repr(error))
    except Exception:
        return RuntimeError(repr(error))


@functools.lru_cache(maxsize=8)
def _loaded(pickled: bytes) -> Callable[[Any], Any]:
    function: Callable[[Any], Any] = cloudpickle.loads(pickled)
    return function


def _call(pickled: bytes, task: Any) -> Any:
    """Calls a function that any process can load, wherever it was defined."""
    return _loaded(pickled)(task)


def on_host(outputs: Any) -> Any:
    """Outputs that can be sent to another node: arrays on a device as NumPy arrays."""
    kind = type(outputs).__module__.partition(".")[0]
    if kind == "torch":
        return outputs.cpu()
    if kind in ("cupy", "jax", "jaxlib"):
        return _run._on_host(outputs)
    return outputs


def owned(outputs: Any) -> Any:
    """Copies outputs out of Ray's shared memory, which they would fill."""
    if isinstance(outputs, list):
        return [each.copy() if isinstance(each, numpy.ndarray) else each for each in outputs]
    return outputs.copy() if isinstance(outputs, numpy.ndarray) else outputs


def gpu_of(resource: str) -> dict[str, Any]:
    """What a process reserves to have one of those GPUs."""
    return {"num_gpus": 1} if resource == "GPU" else {"resources": {resource: 1}}


def recording() -> dict[str, Any]:
    """This process's recording, as the parsed JSON of a profile."""
    return get_profiler().snapshot().to_dict()


class Decider:
    """Does one span after another. ``stop`` is called in parallel."""

    def __init__(self, functions: tuple[Any, Any], options: dict[str, Any], cores: int) -> None:
        cpu, gpu = functions
        self._workers = options.pop("workers")
        if self._workers == "processes":
            cpu = functools.partial(_call, cloudpickle.dumps(cpu))
        self._cpu = cpu
        self._gpu = gpu
        self._options = options
        self._cores = cores
        self._stopped = False
        # The process may have done something else before.
        get_profiler().reset()

    def ready(self) -> bool:
        return True

    def do(self, tasks: Any) -> Done | Failure:
        """Does a span."""
        began = time.perf_counter()
        try:
            result = self._run(tasks)
            outputs = on_host(result.outputs)
            if self._options["return_exceptions"]:
                outputs = [Failure.of(o) if isinstance(o, TaskError) else o for o in outputs]
            seconds = time.perf_counter() - began
            return Done(outputs, result.to_dict(), result.explain(), seconds)
        except Exception as error:
            return Failure.of(error)

    def _run(self, tasks: Any) -> Any:
        functions = {"cpu": self._cpu, "gpu": self._gpu, "workers": self._workers}
        asked = _run._asked({**_run._DEFAULTS, **self._options, **functions})
        # The cores that this process has reserved, if the machine has more.
        asked["workers"] = asked["workers"] or self._cores
        asked["shown"] = True
        return _run._waited(tasks, asked, self._look)

    def _look(self, done: int, tasks: int) -> None:
        if self._stopped:
            raise Cancelled(done, tasks)

    def recorded(self) -> dict[str, Any]:
        return recording()

    def stop(self) -> None:
        """Stops after the running tasks."""
        self._stopped = True
