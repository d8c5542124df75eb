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
    """As :func:`breakeven.run`, over the nodes of a Ray cluster.

    Each node has a process of this call (a node with several GPUs one for each), which
    reserves the node's cores, and a GPU where there is one. It runs batches with
    :func:`breakeven.run`. Who is faster gets more, and batches shrink towards the end. What a
    process or a node had when it died is done by the others, and nodes that join take part.

    Args:
        tasks: A list or an array, as for :func:`breakeven.run`. Each part is sent once, to
            the node that works on it. There, arrays are read-only.
        cpu: As for :func:`breakeven.run`. The functions are sent once.
        gpu: Called only on nodes that have ``gpu_resource``. With ``strategy="gpu-only"`` only
            they take part.
        batch_size: Most tasks that are sent at a time; unless given, as many as take half a
            second on that node, but 256 MiB of an array.
        num_cpus: Cores to reserve on each node; unless given, all that Ray counts there.
        gpu_resource: What Ray calls the GPUs of a node.
        retries: How often tasks may be lost with a process or node before the batch fails.
        deadline: Seconds after which the batch ends with :class:`breakeven.DeadlineExceeded`.
        progress: As for :func:`breakeven.run`; counts tasks whose outputs are here.
        options: The other options of :func:`breakeven.run`. ``costs`` is a path on each node,
            and ``fallback`` as a part is held against each batch.

    Returns:
        The outputs in the order of the tasks, exactly one for each, and what each node did.
        Tasks of a process that died may have run twice.

    Raises:
        TaskError: ``cpu`` raised; ``__cause__`` is what, and its cause says on which node.
        NodeLost: The same tasks were lost more than ``retries`` times, or no node works.
        KeyboardInterrupt: At Ctrl-C; what ran gets five seconds to end.

    And what else :func:`breakeven.run` raises.
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
    """Tasks that have a length and parts."""
    if hasattr(tasks, "iloc") or (isinstance(tasks, (dict, str, bytes))):
        kind = type(tasks).__name__
        raise TypeError(f"tasks: a {kind} is not a list of tasks; give a list or an array")
    if hasattr(tasks, "__getitem__") and hasattr(tasks, "__len__"):
        return tasks
    return list(tasks)
