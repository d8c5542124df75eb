"""``breakeven.ray.map_batches``: Ray Data streams the batches. Each of its workers decides for its
batches where they run, shares its node's GPUs with the others, and reports what it did."""

from __future__ import annotations

import contextlib
import functools
import itertools
import threading
import time
import uuid
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any, Callable, Iterator, Literal, Optional, Union
from weakref import WeakKeyDictionary, finalize

import ray
from ray.exceptions import RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from .. import _run
from .._breakeven import profile
from .._errors import DeviceError, InvalidError, TaskError
from ._decider import gpu_of, recording
from ._result import ClusterResult, NodeShare

#: Options of be.run that apply to a complete batch, or to single tasks.
_NOT_HERE = ("batched", "check", "deadline", "progress", "return_exceptions", "tolerance")
#: Seconds that a report waits for workers whose reports are incomplete.
_PATIENCE = 10.0
#: Seconds from a batch to the worker's report.
REPORT_EVERY = 1.0
#: Seconds that a GPU's process has to start while a batch would wait for it.
_BEGINS = 10.0
#: Pieces of a batch that devices share: enough for a split, few enough that the cost of a call is
#: small compared with its work.
_PIECES = 32
#: Idle seconds after which the processes of GPUs end.
IDLE = 10.0


_reports: WeakKeyDictionary[Any, Config] = WeakKeyDictionary()


@functools.lru_cache(maxsize=1)
def _report_of(job: str) -> tuple[str, Any]:
    """The actor that collects all workers' reports, on this node, and its name."""
    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=True)
    name = f"breakeven-{uuid.uuid4().hex}"
    return name, _Report.options(name=name, scheduling_strategy=here).remote()


def _forget(report: Any, id: str) -> None:
    # Calling an actor would start Ray again, and the actor may have ended before this.
    if ray.is_initialized():
        with contextlib.suppress(Exception):
            report.forget.remote(id)


def map_batches(
    dataset: ray.data.Dataset,
    cpu: Callable[[Any], Any],
    gpu: Optional[Callable[[Any], Any]] = None,
    *,
    batch_size: Union[int, None, Literal["auto"]] = None,
    batch_format: Optional[str] = "numpy",
    num_cpus: float = 1,
    gpu_resource: str = "GPU",
    **options: Any,
) -> ray.data.Dataset:
    """Like ``dataset.map_batches(cpu)``, with a second form of the function for GPUs.

    It is as lazy and streaming as Ray Data, with the same fault tolerance: the batches are Ray's
    tasks, which run again if a node dies. On a node that has ``gpu_resource``, each GPU has a
    process that all workers of the node share, and each worker decides for its batches, or for
    pieces of them, by the node's cost model. If ``gpu`` fails, the worker uses ``cpu``. On other
    nodes ``cpu`` gets complete batches.

    Args:
        dataset: Ray's dataset.
        cpu: Takes a batch and returns one, as for Ray; or yields several. Or a class: each
            worker creates an instance, without arguments, and calls it.
        gpu: The same on a GPU; it gets slices of batches, so omit it if rows of a batch
            depend on each other. A class is instantiated once per GPU.
        batch_size: Rows of a batch; None for Ray's blocks.
        batch_format: ``numpy``, ``pandas`` or ``pyarrow``, as for Ray.
        num_cpus: Cores that a worker reserves. With more than one, ``cpu`` gets slices
            of batches on as many threads.
        gpu_resource: Ray's name for the GPUs of a node.
        options: ``operation``, ``strategy``, ``device``, ``workload``, ``fallback``,
            ``timeout`` and ``costs`` as for :func:`breakeven.run`; all other options go to
            ``dataset.map_batches``.

    Returns:
        A dataset. :func:`breakeven.ray.report` says how its batches were computed.

    Raises:
        InvalidError: The request is invalid.

    Exceptions of ``cpu`` are raised by Ray as usual.
    """
    ours = {name: options.pop(name) for name in list(options) if name in _run._DEFAULTS}
    for name, value in ours.items():
        if name in _NOT_HERE or (name, value) == ("workers", "processes"):
            raise InvalidError(f"{name}: not for the batches of a dataset; see breakeven.ray.run")
    asked = _run._asked({**_run._DEFAULTS, **ours, "cpu": cpu, "gpu": gpu})
    ours["operation"] = operation = asked["operation"]
    ours["workers"] = ours.get("workers") or max(int(num_cpus), 1)
    if not ray.is_initialized():
        ray.init()
    name, report = _report_of(ray.get_runtime_context().get_job_id())
    config = Config(uuid.uuid4().hex, cpu, gpu is not None, gpu_resource, ours, name)
    if gpu is not None:
        ray.get(report.keep.remote(config.id, [ray.put(gpu)]))
    # Every dataset derived from this one has the function, and with it this object.
    finalize(config, _forget, report, config.id).atexit = False

    def mapped(batch: Any) -> Iterator[Any]:
        yield from worker(config).do(batch)

    # Its name in Ray's progress bars.
    mapped.__name__ = mapped.__qualname__ = operation
    made = dataset.map_batches(
        mapped, batch_size=batch_size, batch_format=batch_format, num_cpus=num_cpus, **options
    )
    _reports[made] = config
    return made


def report(dataset: ray.data.Dataset) -> ClusterResult:
    """What :func:`breakeven.ray.map_batches` did so far, over all nodes: tasks are rows, there are
    no outputs, and ``batches`` has the latest decision of each process, and the first at which a
    GPU failed.

    Args:
        dataset: What ``map_batches`` returned, itself: nothing that was made of it.
    """
    try:
        config = _reports[dataset]
    except (KeyError, TypeError):
        raise InvalidError(
            "dataset: breakeven knows nothing of it; give what breakeven.ray.map_batches returned"
        ) from None
    actor = ray.get_actor(config.report)
    # Workers report a moment later, unless they died.
    until = time.monotonic() + _PATIENCE
    while not ray.get(actor.complete.remote(config.id)) and time.monotonic() < until:
        time.sleep(0.1)
    asked = actor.result.remote(config.id, config.options["operation"])
    result: ClusterResult = ray.get(asked)
    return result


@dataclass
class Config:
    """Settings of the workers."""

    #: Of one call of ``map_batches``.
    id: str
    cpu: Callable[[Any], Any]
    has_gpu: bool
    gpu_resource: str
    options: dict[str, Any]
    #: The name of the reporting actor: with each task, Ray loads a name faster than an actor.
    report: str


_workers: dict[str, Worker] = {}
_lock = threading.Lock()


def worker(config: Config) -> Worker:
    """Belongs to the process: Ray loads the functions anew for each of its tasks."""
    with _lock:
        if config.id not in _workers:
            _workers[config.id] = Worker(config)
        return _workers[config.id]


def rows_of(batch: Any) -> int:
    """Rows of a batch: columns by name, a table or a data frame."""
    return len(next(iter(batch.values()), ())) if isinstance(batch, dict) else len(batch)


def cut(batch: Any, pieces: range, of: int) -> Any:
    """These pieces ``of`` a batch, in Ray's format."""
    if len(pieces) == of:
        return batch
    rows = rows_of(batch)
    start, stop = (at * rows // of for at in (pieces.start, pieces.stop))
    if isinstance(batch, dict):
        return {name: column[start:stop] for name, column in batch.items()}
    if hasattr(batch, "iloc"):
        return batch.iloc[start:stop]
    return batch.slice(start, stop - start)


def bytes_of(batch: Any) -> int:
    """Bytes of a batch, for the cost model."""
    columns = batch.values() if isinstance(batch, dict) else [batch]
    return sum(int(getattr(column, "nbytes", 0)) for column in columns)


class Worker:
    """State of a process for all its batches."""

    def __init__(self, config: Config) -> None:
        cpu = config.cpu
        self._cpu = cpu() if isinstance(cpu, type) else cpu
        options = {**_run._DEFAULTS, **config.options, "cpu": cpu, "gpu": None}
        self._asked = {**_run._asked(options), "batched": True}
        self._cores = int(config.options["workers"])
        self._config = config
        self._report: Any = ray.get_actor(config.report)
        self._process = uuid.uuid4().hex
        self._gpus: list[Any] = []
        self._number, self._lost = 0, -1
        self._turn = int(self._process[:8], 16)
        node = ray.get_runtime_context().get_node_id()
        self._reported = WorkerReport(NodeShare(node, "", 1, self._cores), began=time.time())
        self._lock = threading.Lock()
        #: A report is pending.
        self._will_send = False

    def _ask(self) -> None:
        """For the processes of the node's GPUs."""
        config = self._config
        self._ready: list[Any] = []
        if not config.has_gpu:
            return
        try:
            node = self._reported.share.node
            asked = self._report.gpus.remote(node, config.gpu_resource, self._lost)
            self._number, self._gpus = ray.get(asked)
        except RayError:
            # The program ends; this batch may continue.
            self._gpus = []
        self._reported.share.gpu = bool(self._gpus)
        self._ready = [gpu.ready.remote() for gpu in self._gpus]
        if self._ready and config.options.get("strategy", "auto") != "auto":
            # The end was requested.
            ray.wait(self._ready, timeout=_BEGINS)

    def do(self, batch: Any) -> Iterator[Any]:
        """Return values of the functions for a batch."""
        if self._lost == self._number or time.time() - self._reported.ended > IDLE / 2:
            self._ask()
        rows = rows_of(batch)
        pieces = min(_PIECES, rows)
        if pieces < 2 or not self._gpus and self._cores == 1:
            yield from self._alone(batch, rows)
            return
        asked = {**self._asked, "cpu": self._function(self._on_cpu, batch, pieces), "gpu": None}
        if self._gpus and self._has_gpu():
            asked["gpu"] = self._function(self._on_gpu, batch, pieces)
        if asked["memory_per_task"] is None:
            asked["memory_per_task"] = bytes_of(batch) // pieces
        try:
            result = _run._waited(range(pieces), asked, False)
        except TaskError as error:
            # As without breakeven.
            raise error.__cause__ or error from None
        self._note(rows, result.execution_time, result, pieces)
        yield from itertools.chain.from_iterable(result.outputs)

    def _function(self, does: Callable[[Any], list[Any]], batch: Any, of: int) -> Any:
        """Does some pieces of a batch; the first has all their outputs."""
        return lambda pieces: [does(cut(batch, pieces, of)), *[()] * (len(pieces) - 1)]

    def _alone(self, batch: Any, rows: int) -> Iterator[Any]:
        """A batch without a choice: the function is called as Ray would."""
        began = time.perf_counter()
        # In the profile as the engine's batches are.
        with profile(self._asked["operation"], device="cpu", size=rows, items=rows):
            outputs = self._on_cpu(batch)
        self._note(rows, time.perf_counter() - began)
        yield from outputs

    def _on_cpu(self, batch: Any) -> list[Any]:
        return outputs_of(self._cpu(batch))

    def _has_gpu(self) -> bool:
        """Whether the process of a GPU has started: other programs may occupy all GPUs."""
        if self._ready and ray.wait(self._ready, num_returns=1, timeout=0)[0]:
            self._ready.clear()
        return not self._ready

    def _on_gpu(self, batch: Any) -> list[Any]:
        self._turn += 1
        gpu = self._gpus[self._turn % len(self._gpus)]
        try:
            outputs: list[Any] = ray.get(gpu.do.remote(self._config.id, batch))
            return outputs
        except RayTaskError as error:
            raise error.cause from None
        except RayError as error:
            self._lost = self._number
            raise DeviceError("device_lost", f"the GPU's process: {error}") from None

    def _note(self, rows: int, seconds: float, result: Any = None, pieces: int = 1) -> None:
        """Counts a batch; it is reported later."""
        reported, fallen = self._reported, 0
        with self._lock:
            begins, self._will_send = not self._will_send, True
            if result is None:
                alone = f"{rows} rows in {seconds * 1e3:.3g} ms: one core and no GPU"
                reported.share.explanation = alone
            elif begins or result.fallback_occurred:
                # Takes a tenth of a millisecond, so not for every batch.
                reported.latest, reported.share.explanation = result.to_dict(), result.explain()
                if result.fallback_occurred:
                    # The first error has the cause; during the quarantine later ones refer to it.
                    reported.failed = reported.failed or reported.latest
                    fallen = round(rows * reported.latest["fallback"]["tasks"] / pieces)
            on_gpu = round(rows * result.gpu_tasks / pieces) if result else 0
            reported.share.count(rows, seconds, on_gpu, fallen)
            reported.ended = time.time()
        if begins:
            # Announced within the batch's task, and so before Ray has the batch.
            self._report.expect.remote(self._config.id)
            timer = threading.Timer(REPORT_EVERY, self._send)
            timer.daemon = True
            timer.start()

    def _send(self) -> None:
        """Reports what was done so far."""
        with self._lock:
            self._will_send = False
        profile = recording()
        with self._lock:
            share = replace(self._reported.share)
            reported = replace(self._reported, share=share, profile=profile)
        self._report.add.remote(self._config.id, self._process, reported)


@dataclass
class WorkerReport:
    """A worker's report so far."""

    #: What it did; tasks are rows.
    share: NodeShare
    #: Clock times, seconds: begin of its first batch and end of its last.
    began: float = 0.0
    ended: float = 0.0
    #: The latest batch, as in :meth:`breakeven.ExecutionResult.to_dict`, and the first at which a
    #: GPU failed.
    latest: Optional[dict[str, Any]] = None
    failed: Optional[dict[str, Any]] = None
    profile: Optional[dict[str, Any]] = field(default=None, repr=False)


def outputs_of(returned: Any) -> list[Any]:
    """The outputs of a function that returns one, or yields several."""
    return list(returned) if hasattr(returned, "__next__") else [returned]


class Gpu:
    """A GPU of a node, for all workers there and all datasets of a program."""

    def __init__(self, report: Any) -> None:
        self._report = report
        self._functions: dict[str, Any] = {}

    def ready(self) -> bool:
        return True

    def do(self, dataset: str, batch: Any) -> list[Any]:
        """The return value of a dataset's function for some rows."""
        if dataset not in self._functions:
            (function,) = ray.get(ray.get(self._report.functions.remote(dataset)))
            self._functions[dataset] = function() if isinstance(function, type) else function
        return outputs_of(self._functions[dataset](batch))


_Gpu = ray.remote(num_cpus=0)(Gpu)


class Report:
    """One for all datasets of a program. It owns the processes of the GPUs, which end with it."""

    def __init__(self) -> None:
        self._reported: dict[str, dict[str, WorkerReport]] = {}
        #: Number of announced reports.
        self._expected: Counter[str] = Counter()
        self._functions: dict[str, list[Any]] = {}
        #: By node and resource; recreated ones have another number.
        self._gpus: dict[tuple[str, str], tuple[int, list[Any]]] = {}
        self._number = 0
        self._touched = 0.0

    def keep(self, dataset: str, functions: list[Any]) -> None:
        """The GPU's function in Ray's store: only processes with a GPU load it."""
        self._functions[dataset] = functions

    def functions(self, dataset: str) -> list[Any]:
        """The stored function."""
        return self._functions[dataset]

    def gpus(self, node: str, resource: str, lost: int) -> tuple[int, list[Any]]:
        """The processes of that node's GPUs, with their number; without the ``lost`` ones."""
        self._touched = time.monotonic()
        number, gpus = self._gpus.get((node, resource), (lost, []))
        if number != lost:
            return number, gpus
        for gpu in gpus:
            ray.kill(gpu)
        if not self._gpus:
            threading.Thread(target=self._release, daemon=True).start()
        place = NodeAffinitySchedulingStrategy(node, soft=False)
        made = _Gpu.options(scheduling_strategy=place, **gpu_of(resource))
        report = ray.get_runtime_context().current_actor
        count = int(_there(node)["Resources"].get(resource, 0))
        self._number += 1
        self._gpus[node, resource] = self._number, [made.remote(report) for _ in range(count)]
        return self._gpus[node, resource]

    def _release(self) -> None:
        """Ends the GPUs' processes after some idle time, because others may wait for the GPUs."""
        while self._gpus:
            time.sleep(IDLE / 4)
            if time.monotonic() - self._touched < IDLE:
                continue
            gpus = [gpu for _, gpus in self._gpus.values() for gpu in gpus]
            asked = [gpu.ready.remote() for gpu in gpus]
            # A busy process does not answer, nor does one that waits for a GPU.
            if asked and len(ray.wait(asked, num_returns=len(asked), timeout=1)[0]) < len(asked):
                continue
            self._gpus = {}
            for gpu in gpus:
                ray.kill(gpu)

    def expect(self, dataset: str) -> None:
        """Announces a worker's report."""
        self._expected[dataset] += 1

    def add(self, dataset: str, process: str, reported: WorkerReport) -> None:
        """A worker's report, which replaces the one before."""
        self._touched = time.monotonic()
        self._reported.setdefault(dataset, {})[process] = reported
        self._expected[dataset] -= 1

    def forget(self, dataset: str) -> None:
        """No report will follow."""
        self._reported.pop(dataset, None)
        self._expected.pop(dataset, None)
        self._functions.pop(dataset, None)

    def complete(self, dataset: str) -> bool:
        """Whether every announced report has arrived."""
        return self._expected[dataset] <= 0

    def result(self, dataset: str, operation: str) -> ClusterResult:
        """The combined report."""
        nodes: dict[str, NodeShare] = {}
        names: dict[str, str] = {}
        batches: list[dict[str, Any]] = []
        profiles: dict[str, list[dict[str, Any]]] = {}
        all = self._reported.get(dataset, {}).values()
        for reported in all:
            node = reported.share.node
            if node in names:
                name = names[node]
                nodes[name] += reported.share
            else:
                share = replace(reported.share, address=_there(node)["NodeManagerAddress"])
                name = names[node] = share.named(nodes)
                nodes[name], profiles[name] = share, []
            batches += [{"node": name, **of} for of in (reported.failed, reported.latest) if of]
            profiles[name] += [reported.profile] if reported.profile else []
        time = max((t.ended for t in all), default=0.0) - min((t.began for t in all), default=0.0)
        rows = sum(reported.share.tasks for reported in all)
        return ClusterResult(None, operation, rows, time, nodes, batches, profiles)


def _there(node: str) -> dict[str, Any]:
    """Ray's description of a node."""
    found: dict[str, Any] = next(each for each in ray.nodes() if each["NodeID"] == node)
    return found


_Report = ray.remote(num_cpus=0)(Report)
