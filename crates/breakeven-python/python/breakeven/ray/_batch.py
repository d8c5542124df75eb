"""``breakeven.ray.run``: sends tasks to the nodes of a cluster, and collects the outputs."""

from __future__ import annotations

import contextlib
import logging
import time
import warnings
from dataclasses import dataclass, field
from typing import Any, Callable, Optional, Union

import ray
from ray.exceptions import RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from .. import _run
from .._check import count, number
from .._errors import DeadlineExceeded, FallbackWarning, InvalidError
from ._decider import Decider, Done, Failure, gpu_of, owned
from ._result import ClusterResult, NodeLost, NodeShare
from ._spans import Free, Pace, Span

#: Seconds between two checks for new and dead nodes.
_LOOK_FOR_NODES = 1.0
#: Seconds without any usable node after which a message is logged.
_NOBODY = 10.0
#: Seconds that processes have to stop before they are killed.
_STOP = 5.0
#: Consecutive deaths of processes, without a finished span, after which a node is excluded.
_CRASHES = 3
#: Largest span of an array, bytes.
_BYTES = 256 << 20

_log = logging.getLogger("breakeven.ray")


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
    batch_size = None if batch_size is None else count("batch_size", batch_size, 1)
    if num_cpus is not None:
        num_cpus = number("num_cpus", num_cpus, "give more than 0", 1e-9)
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


_as_actor = ray.remote(concurrency_groups={"control": 1}, max_restarts=0, max_task_retries=0)
_Decider = _as_actor(Decider)


@dataclass(eq=False)
class Node:
    """A node of the cluster, as the driver sees it."""

    #: Its name in results and messages.
    name: str
    share: NodeShare
    #: What each of its processes reserves.
    resources: dict[str, Any]
    #: Recordings of its processes.
    profiles: list[dict[str, Any]] = field(default_factory=list)
    #: Processes that died since the last finished span.
    crashes: int = 0


@dataclass(eq=False)
class Process:
    """A process on a node, as the driver sees it."""

    node: Node
    actor: Any
    pace: Pace
    ready: bool = False
    #: Its running span.
    span: Optional[Span] = None


class Batch:
    """A running batch."""

    def __init__(
        self,
        tasks: Any,
        cpu: Callable[[Any], Any],
        gpu: Optional[Callable[[Any], Any]],
        options: dict[str, Any],
        batch_size: Optional[int],
        num_cpus: Optional[float],
        gpu_resource: str,
        retries: int,
    ) -> None:
        self._tasks, self._options = tasks, options
        self._num_cpus, self._retries = num_cpus, retries
        self._gpu_resource = gpu_resource if gpu is not None else None
        self._functions = {True: ray.put((cpu, gpu)), False: ray.put((cpu, None))}
        #: The strategy without a GPU.
        self._elsewhere = options["strategy"]
        if gpu is not None and self._elsewhere not in ("auto", "gpu-only"):
            self._elsewhere = "cpu-only"
        row = getattr(tasks, "nbytes", 0) / max(len(tasks), 1)
        self._most = batch_size or max(int(_BYTES / row) if row else len(tasks), 1)
        self._free = Free(len(tasks))
        #: By Ray's id; nodes that left stay for the result.
        self._nodes: dict[str, Node] = {}
        self._processes: list[Process] = []
        #: Pending answers, each with its process.
        self._awaited: dict[Any, Process] = {}
        self._began = self._worked = time.monotonic()
        self._looked = 0.0
        self._took = 0.0
        self._outputs: dict[int, Any] = {}
        self._records: list[dict[str, Any]] = []
        self._done = 0

    def run(self, deadline: Optional[float], show: Callable[[int], Any]) -> None:
        """Until every task has its output."""
        while self._done < len(self._tasks):
            self._look_for_nodes()
            self._hand_out()
            for ref in self._ended(_run._LOOK):
                self._take(ref)
            show(self._done)
            if deadline is not None and time.monotonic() - self._began > deadline:
                raise DeadlineExceeded(self._done, len(self._tasks))
        self._took = time.monotonic() - self._began

    def _look_for_nodes(self) -> None:
        now = time.monotonic()
        if now - self._looked < _LOOK_FOR_NODES:
            return
        self._looked = now
        for there in ray.nodes():
            node = self._nodes.get(there["NodeID"])
            if there["Alive"] and node is None:
                self._join(there)
            elif not there["Alive"] and node is not None and not node.share.left_out:
                node.share.left_out = "the node died"
                for process in [each for each in self._processes if each.node is node]:
                    self._lost(process, "the node died")
        for node in self._nodes.values():
            here = sum(process.node is node for process in self._processes)
            for _ in range(0 if node.share.left_out else node.share.deciders - here):
                self._start(node)
        self._check_that_somebody_works(now)

    def _join(self, there: dict[str, Any]) -> None:
        """Adds a node from Ray's description, if it has cores and what the strategy needs."""
        has = there["Resources"]
        cores = min(self._num_cpus or has.get("CPU", 0), has.get("CPU", 0))
        resource = self._gpu_resource
        gpus = int(has.get(resource, 0)) if resource else 0
        if cores <= 0 or not gpus and self._elsewhere == "gpu-only":
            return
        deciders = max(gpus, 1)
        # Ray accepts fractions of one core, but only whole numbers above one.
        each = cores // deciders if cores >= deciders else cores / deciders
        resources = {"num_cpus": each, **(gpu_of(resource) if gpus and resource else {})}
        id, address = there["NodeID"], there["NodeManagerAddress"]
        share = NodeShare(id, address, deciders, max(int(each), 1), gpus > 0)
        name = share.named({node.name for node in self._nodes.values()})
        self._nodes[id] = Node(name, share, resources)

    def _start(self, node: Node) -> None:
        """Starts a process on a node."""
        share = node.share
        place = NodeAffinitySchedulingStrategy(share.node, soft=False)
        made = _Decider.options(scheduling_strategy=place, **node.resources)
        strategy = self._options["strategy"] if share.gpu else self._elsewhere
        options = {**self._options, "strategy": strategy}
        actor = made.remote(self._functions[share.gpu], options, share.cores)
        process = Process(node, actor, Pace(share.cores))
        self._processes.append(process)
        self._awaited[actor.ready.remote()] = process

    def _check_that_somebody_works(self, now: float) -> None:
        if any(process.ready for process in self._processes):
            self._worked = now
        elif self._nodes and not self._processes:
            # Dead nodes may come back; nodes that cannot run a process are not tried again.
            why = [node.share.left_out for node in self._nodes.values() if node.crashes >= _CRASHES]
            if why:
                raise NodeLost(f"no node is left that could run this: {why[-1]}")
        if now - self._worked > _NOBODY:
            self._worked = now
            _log.warning(
                "no node can begin: each waits until %s of its cores are free%s; give num_cpus "
                "to reserve fewer, or see `ray status`",
                self._num_cpus or "all",
                f", and a {self._gpu_resource}" if self._gpu_resource else "",
            )

    def _hand_out(self) -> None:
        """Gives every idle process its next span, the fastest first."""
        ready = [process for process in self._processes if process.ready]
        ready.sort(key=lambda process: process.pace.rate or 0.0, reverse=True)
        for process in ready:
            if process.span is not None or not len(self._free):
                continue
            others = [other.pace for other in ready if other is not process]
            tasks = process.pace.next(len(self._free), others, self._most)
            process.span = span = self._free.take(tasks)
            part = self._tasks[span.start : span.stop]
            self._awaited[process.actor.do.remote(part)] = process

    def _ended(self, seconds: float) -> list[Any]:
        """The next pending answer, if there is one within that time."""
        if not self._awaited:
            time.sleep(seconds)
            return []
        ended: list[Any] = ray.wait(list(self._awaited), num_returns=1, timeout=seconds)[0]
        return ended

    def _take(self, ref: Any) -> None:
        """An answer has arrived, or its process has died."""
        if ref not in self._awaited:
            return
        process = self._awaited.pop(ref)
        try:
            reply = ray.get(ref)
        except RayTaskError as error:
            raise InvalidError(f"outputs cannot be sent: {error.cause!r}") from error
        except RayError as error:
            self._lost(process, str(error))
            return
        process.ready = True
        if process.span is not None:
            span, process.span = process.span, None
            self._took_span(process, span, reply)

    def _took_span(self, process: Process, span: Span, reply: Union[Done, Failure]) -> None:
        node, share = process.node, process.node.share
        if isinstance(reply, Failure):
            raise reply.raised(span.start, node.name)
        process.pace.done(len(span), reply.seconds)
        node.crashes = 0
        outputs, record = owned(reply.outputs), reply.record
        if self._options["return_exceptions"]:
            where = span.start, node.name
            outputs = [o.raised(*where) if isinstance(o, Failure) else o for o in outputs]
        self._outputs[span.start] = outputs
        self._done += len(span)
        self._records.append({"node": node.name, "start": span.start, **record})
        share.explanation = reply.explanation
        on_gpu, fallen = record["gpu"]["tasks"], record["fallback"]["tasks"]
        share.count(len(span), reply.seconds, on_gpu, fallen)

    def _lost(self, process: Process, why: str) -> None:
        """A process died, perhaps with its node: its spans must be repeated."""
        if process not in self._processes:
            return
        self._processes.remove(process)
        self._awaited = {ref: of for ref, of in self._awaited.items() if of is not process}
        # It may be alive if only the connection broke, and must not continue.
        ray.kill(process.actor, no_restart=True)
        node = process.node
        node.crashes += 1
        if node.crashes >= _CRASHES and not node.share.left_out:
            node.share.left_out = why
        if process.span is not None:
            span = process.span
            node.share.lost += 1
            if span.losses >= self._retries:
                raise NodeLost(
                    f"tasks {span.start} to {span.stop - 1} were lost {span.losses + 1} times, "
                    f"last on {node.name}: {why}"
                )
            self._free.give_back(Span(span.start, span.stop, span.losses + 1))
        self._looked = 0.0

    def end(self) -> None:
        """All tasks are done: recordings are collected, and the processes end."""
        ready = [process for process in self._processes if process.ready]
        asked = [process.actor.recorded.remote() for process in ready]
        if asked:
            ray.wait(asked, num_returns=len(asked), timeout=_STOP)
        for process, ref in zip(ready, asked):
            # Not of one that died after its last span.
            with contextlib.suppress(RayError):
                process.node.profiles.append(ray.get(ref, timeout=0))
        for process in self._processes:
            # Ends the processes that it started, too; killing it would not.
            process.actor.__ray_terminate__.remote()
        self._processes.clear()

    def stop(self) -> None:
        """Stops everything."""
        working = [process for process in self._processes if process.span]
        try:
            for process in working:
                process.actor.stop.options(concurrency_group="control").remote()
            ends = [process.actor.__ray_terminate__.remote() for process in working]
            if ends:
                ray.wait(ends, num_returns=len(ends), timeout=_STOP)
        finally:
            for process in self._processes:
                ray.kill(process.actor, no_restart=True)
            self._processes.clear()

    def result(self) -> ClusterResult:
        """The outputs of a finished batch; warns about fallbacks."""
        parts = [self._outputs[start] for start in sorted(self._outputs)]
        nodes = self._nodes.values()
        result = ClusterResult(
            outputs=parts[0] if len(parts) == 1 else _run._join(parts),
            operation=self._options["operation"],
            tasks=len(self._tasks),
            execution_time=self._took,
            nodes={node.name: node.share for node in nodes},
            batches=sorted(self._records, key=lambda record: record["start"]),
            profiles={node.name: node.profiles for node in nodes},
        )
        if result.fallback_occurred:
            fallen = sum(share.fallback_tasks for share in result.nodes.values())
            why = result.errors[0]
            warnings.warn(
                f"{result.operation}: CPUs did {fallen} of {result.tasks} tasks instead "
                f"of the GPU: on {why['node']}: {why['kind']}: {why['message']}",
                FallbackWarning,
                stacklevel=3,
            )
        return result
