"""``breakeven.ray.map_batches``: Ray Data streams the batches, and in each of its workers
breakeven decides where they run."""

from __future__ import annotations

import contextlib
import functools
import time
import uuid
from typing import Any, Callable, Iterator, Literal, Optional, Union
from weakref import WeakKeyDictionary, finalize

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from .. import _run
from .._errors import InvalidError
from ._report import Report
from ._result import ClusterResult
from ._worker import TELL, Config, worker

#: Options of be.run that apply to a complete batch, or to single tasks.
_NOT_HERE = ("batched", "check", "deadline", "progress", "return_exceptions", "tolerance")
#: Seconds that a report waits for workers whose reports are incomplete.
_PATIENCE = 10.0

_Report = ray.remote(num_cpus=0)(Report)
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
    for name in ours:
        if name in _NOT_HERE:
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
        time.sleep(TELL)
    asked = actor.result.remote(config.id, config.options["operation"])
    result: ClusterResult = ray.get(asked)
    return result


