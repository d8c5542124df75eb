"""A running batch: sends tasks to the nodes, and collects the outputs."""

from __future__ import annotations

import logging
import time
import warnings
from typing import Any, Callable, Optional, Union

import ray
from ray.exceptions import RayError, RayTaskError

from .. import _run
from .._errors import DeadlineExceeded, FallbackWarning, InvalidError
from ._decider import Done, Failure, owned
from ._nodes import Node, Process
from ._result import ClusterResult, NodeLost
from ._spans import Free, Span

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
        #: Pending answers: the process, and what it was asked.
        self._awaited: dict[Any, tuple[Process, str]] = {}
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
        for told in ray.nodes():
            node = self._nodes.get(told["NodeID"])
            if told["Alive"] and node is None:
                names = {node.name for node in self._nodes.values()}
                node = Node.of(told, names, self._num_cpus, self._gpu_resource)
                # A strategy that needs a GPU only uses nodes that have one.
                if node is not None and (node.share.gpu or self._elsewhere != "gpu-only"):
                    self._nodes[node.id] = node
            elif not told["Alive"] and node is not None and not node.share.left_out:
                node.share.left_out = "the node died"
                for process in [each for each in self._processes if each.node is node]:
                    self._lost(process, "the node died")
        for node in self._nodes.values():
            here = sum(process.node is node for process in self._processes)
            for _ in range(0 if node.share.left_out else node.share.deciders - here):
                strategy = self._options["strategy"] if node.share.gpu else self._elsewhere
                options = {**self._options, "strategy": strategy}
                process = node.start(self._functions[node.share.gpu], options)
                self._processes.append(process)
                self._awaited[process.actor.ready.remote()] = process, "ready"
        self._check_that_somebody_works(now)

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
        now = time.monotonic()
        ready = [process for process in self._processes if process.ready]
        ready.sort(key=lambda process: process.pace.wave(now))
        for process in ready:
            others = [other.pace for other in ready if other is not process]
            tasks = process.pace.next(len(self._free), others, now, self._most)
            if tasks < 1:
                continue
            process.span = span = self._free.take(tasks)
            process.pace.give(len(span), now)
            part = self._tasks[span.start : span.stop]
            self._awaited[process.actor.do.remote(part)] = process, "do"

    def _ended(self, seconds: float) -> list[Any]:
        """The pending answers that have arrived; waits for the first."""
        if not self._awaited:
            time.sleep(seconds)
            return []
        ended: list[Any]
        ended, others = ray.wait(list(self._awaited), num_returns=1, timeout=seconds)
        return ended + (ray.wait(others, num_returns=len(others), timeout=0)[0] if others else [])

    def _take(self, ref: Any) -> None:
        """An answer has arrived, or its process has died."""
        if ref not in self._awaited:
            return
        process, what = self._awaited.pop(ref)
        try:
            reply = ray.get(ref)
        except RayTaskError as error:
            raise InvalidError(f"outputs cannot be sent: {error.cause!r}") from error
        except RayError as error:
            self._lost(process, str(error))
            return
        if what == "ready":
            process.ready = True
        elif process.span is not None:
            span, process.span = process.span, None
            self._took_span(process, span, reply)

    def _took_span(self, process: Process, span: Span, reply: Union[Done, Failure]) -> None:
        node, share = process.node, process.node.share
        if isinstance(reply, Failure):
            raise reply.raised(span.start, node.name)
        process.pace.done(reply.seconds)
        node.crashes = 0
        outputs, record = owned(reply.outputs), reply.record
        if self._options["return_exceptions"]:
            where = span.start, node.name
            outputs = [o.raised(*where) if isinstance(o, Failure) else o for o in outputs]
        self._outputs[span.start] = outputs
        self._done += len(span)
        self._records.append({"node": node.name, "start": span.start, **record})
        share.batches += 1
        share.tasks += len(span)
        # Very many items are grouped into blocks, which are the engine's tasks.
        on_gpu = round(len(span) * record["gpu"]["tasks"] / max(record["tasks"], 1))
        share.gpu_tasks += on_gpu
        share.cpu_tasks += len(span) - on_gpu
        share.fallback_tasks += record["fallback"]["tasks"]
        share.busy += reply.seconds
        share.explanation = reply.explanation

    def _lost(self, process: Process, why: str) -> None:
        """A process died, perhaps with its node: its spans must be repeated."""
        if process not in self._processes:
            return
        self._processes.remove(process)
        self._awaited = {ref: of for ref, of in self._awaited.items() if of[0] is not process}
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
        asked = {process.control("recorded"): process for process in ready}
        ended = ray.wait(list(asked), num_returns=len(asked), timeout=_STOP)[0] if asked else []
        for ref in ended:
            try:
                asked[ref].recorded(ray.get(ref))
            except RayError:
                # It died after its last span.
                continue
        for process in self._processes:
            # Ends the processes that it started, too; killing it would not.
            process.actor.__ray_terminate__.remote()
        self._processes.clear()

    def stop(self) -> None:
        """Stops everything."""
        working = [process for process in self._processes if process.span]
        try:
            for process in working:
                process.control("stop")
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
        nodes = {node.name: node for node in self._nodes.values()}
        result = ClusterResult(
            outputs=parts[0] if len(parts) == 1 else _run._join(parts),
            operation=self._options["operation"],
            tasks=len(self._tasks),
            execution_time=self._took,
            nodes={name: node.share for name, node in nodes.items()},
            batches=sorted(self._records, key=lambda record: record["start"]),
            profiles={name: list(filter(None, node.profiles)) for name, node in nodes.items()},
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
