"""``breakeven.ray.run``: arguments and waiting."""

from __future__ import annotations

from typing import Any, Callable, Optional

import ray

from .. import _run
from .._errors import InvalidError
from ._batch import Batch
from ._result import ClusterResult


def run(
    tasks: Any,
    cpu: Callable[[Any], Any],
    gpu: Optional[Callable[[Any], Any]] = None,
    *,
    batch_size: Optional[int] = None,
    num_cpus: Optional[float] = None,
    gpu_resource: str = "GPU",
    retries: int = 3,
    deadline: Optional[float] = None,
    progress: _run.Progress = False,
    **options: Any,
) -> ClusterResult:
    """Like :func:`breakeven.run`, over the nodes of a Ray cluster.

    Each node has a process for this call (a node with several GPUs has one per GPU), which
    reserves the node's cores, and a GPU if there is one. It runs batches with
    :func:`breakeven.run`. Faster processes get more tasks, and batches shrink towards the end.
    Tasks of a process or node that died are done by the others, and new nodes take part.

    Args:
        tasks: A list or an array, as for :func:`breakeven.run`. Each slice is sent once, to
            the node that works on it. There, arrays are read-only.
        cpu: As for :func:`breakeven.run`. The functions are sent once.
        gpu: Called only on nodes that have ``gpu_resource``. With ``strategy="gpu-only"`` only
            they take part.
        batch_size: Most tasks that are sent at a time; by default as many as take half a
            second on that node, at most 256 MiB of an array.
        num_cpus: Cores to reserve on each node; by default all that Ray counts there.
        gpu_resource: Ray's name for the GPUs of a node.
        retries: How often tasks may be lost with a process or node before the batch fails.
        deadline: Seconds after which the batch ends with :class:`breakeven.DeadlineExceeded`.
        progress: As for :func:`breakeven.run`; counts tasks whose outputs have arrived.
        options: The other options of :func:`breakeven.run`. ``costs`` is a path on each node,
            and a fraction in ``fallback`` applies to each batch.

    Returns:
        The outputs in the order of the tasks, exactly one for each, and what each node did.
        Tasks of a process that died may have run twice.

    Raises:
        TaskError: ``cpu`` raised; ``__cause__`` is its exception, whose cause names the node.
        NodeLost: The same tasks were lost more than ``retries`` times, or no node works.
        KeyboardInterrupt: At Ctrl-C; running tasks get five seconds to end.

    It also raises the other exceptions of :func:`breakeven.run`.
    """
    known = _run._known(options, "ray.run")
    asked = _run._asked({**_run._DEFAULTS, **known, "cpu": cpu, "gpu": gpu, "deadline": deadline})
    for name, value in (("batch_size", batch_size), ("num_cpus", num_cpus)):
        if value is not None and not value > 0:
            raise InvalidError(f"{name}: {value!r}; give more than 0, or leave it out")
    tasks = _listed(tasks)
    if not ray.is_initialized():
        ray.init()
    options = {**_run._DEFAULTS, **options, "operation": asked["operation"]}
    for name in ("deadline", "progress"):
        del options[name]
    batch = Batch(tasks, cpu, gpu, options, batch_size, num_cpus, gpu_resource, retries)
    with _run._shown(progress, asked["operation"], len(tasks)) as show:
        try:
            batch.run(deadline, show)
            batch.end()
        except BaseException:
            batch.stop()
            raise
    return batch.result()


def _listed(tasks: Any) -> Any:
    """Tasks with a length and slices."""
    if hasattr(tasks, "iloc") or (isinstance(tasks, (dict, str, bytes))):
        kind = type(tasks).__name__
        raise TypeError(f"tasks: {kind} is not a list of tasks; give a list or an array")
    if hasattr(tasks, "__getitem__") and hasattr(tasks, "__len__"):
        return tasks
    return list(tasks)
