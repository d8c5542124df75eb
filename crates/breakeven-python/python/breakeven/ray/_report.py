"""Reports of a dataset's workers on their batches, and the GPUs that they share."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field, replace
from typing import Any, Optional

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from ._result import ClusterResult, NodeShare

#: Idle seconds after which the processes of GPUs end.
IDLE = 10.0


@dataclass
class Told:
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
    #: True if more reports will follow.
    follows: bool = False


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
        outputs = self._functions[dataset](batch)
        return list(outputs) if hasattr(outputs, "__next__") else [outputs]


_Gpu = ray.remote(num_cpus=0)(Gpu)


class Report:
    """One for all datasets of a program. It owns the processes of the GPUs, which end with it."""

    def __init__(self) -> None:
        self._told: dict[str, dict[str, Told]] = {}
        #: Workers whose reports are incomplete.
        self._expected: dict[str, set[str]] = {}
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
        one = {"num_gpus": 1} if resource == "GPU" else {"resources": {resource: 1}}
        place = NodeAffinitySchedulingStrategy(node, soft=False)
        made = _Gpu.options(scheduling_strategy=place, **one)
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

    def expect(self, dataset: str, process: str) -> None:
        """Announces a worker that will report."""
        self._expected.setdefault(dataset, set()).add(process)

    def add(self, dataset: str, process: str, told: Told) -> None:
        """Adds a worker's report."""
        self._touched = time.monotonic()
        all = self._told.setdefault(dataset, {})
        told.profile = told.profile or getattr(all.get(process), "profile", None)
        all[process] = told
        if not told.follows:
            self._expected.get(dataset, set()).discard(process)

    def forget(self, dataset: str) -> None:
        """No report will follow."""
        self._told.pop(dataset, None)
        self._expected.pop(dataset, None)
        self._functions.pop(dataset, None)

    def complete(self, dataset: str) -> bool:
        """Whether every worker's report is complete."""
        return not self._expected.get(dataset)

    def result(self, dataset: str, operation: str) -> ClusterResult:
        """The combined report."""
        nodes: dict[str, NodeShare] = {}
        names: dict[str, str] = {}
        batches: list[dict[str, Any]] = []
        profiles: dict[str, list[dict[str, Any]]] = {}
        all = self._told.get(dataset, {}).values()
        for told in all:
            node = told.share.node
            if node in names:
                name = names[node]
                nodes[name] += told.share
            else:
                address = _there(node)["NodeManagerAddress"]
                name = address if address not in nodes else f"{address}-{node[:8]}"
                names[node], profiles[name] = name, []
                nodes[name] = replace(told.share, address=address)
            for record in (told.failed, told.latest):
                if record is not None:
                    batches.append({"node": name, **record})
            if told.profile:
                told.profile.setdefault("environment", {})["host"] = name
                profiles[name].append(told.profile)
        time = max((t.ended for t in all), default=0.0) - min((t.began for t in all), default=0.0)
        rows = sum(told.share.tasks for told in all)
        return ClusterResult(None, operation, rows, time, nodes, batches, profiles)


def _there(node: str) -> dict[str, Any]:
    """Ray's description of a node."""
    told: dict[str, Any] = next(told for told in ray.nodes() if told["NodeID"] == node)
    return told
