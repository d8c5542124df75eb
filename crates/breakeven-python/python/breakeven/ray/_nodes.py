"""The nodes that take part in a batch, and a process on each that decides there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Optional

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from ._decider import Decider
from ._result import NodeShare
from ._spans import Pace, Span

_as_actor = ray.remote(concurrency_groups={"control": 1}, max_restarts=0, max_task_retries=0)
_Decider = _as_actor(Decider)


@dataclass(eq=False)
class Node:
    """A node of the cluster, as the driver sees it."""

    id: str
    #: What results and messages call it.
    name: str
    share: NodeShare
    #: What each of its processes reserves.
    resources: dict[str, Any]
    #: What was recorded there, one entry for each process that began.
    profiles: list[Optional[dict[str, Any]]] = field(default_factory=list)
    #: Processes that died since a span was done here.
    crashes: int = 0

    @classmethod
    def of(
        cls,
        told: dict[str, Any],
        names: set[str],
        num_cpus: Optional[float],
        gpu_resource: Optional[str],
    ) -> Optional[Node]:
        """From what Ray tells of a node; None where it has no cores."""
        id, address, there = told["NodeID"], told["NodeManagerAddress"], told["Resources"]
        cores = min(num_cpus or there.get("CPU", 0), there.get("CPU", 0))
        if cores <= 0:
            return None
        gpus = int(there.get(gpu_resource, 0)) if gpu_resource else 0
        deciders = max(gpus, 1)
        # Ray takes parts of one core, but of several only whole ones.
        each = cores // deciders if cores >= deciders else cores / deciders
        resources: dict[str, Any] = {"num_cpus": each}
        if gpus and gpu_resource == "GPU":
            resources["num_gpus"] = 1
        elif gpus:
            resources["resources"] = {gpu_resource: 1}
        # Several nodes may have one address: of one machine, or one that was started again.
        name = f"{address}-{id[:8]}" if address in names else address
        share = NodeShare(id, address, deciders, max(int(each), 1), gpus > 0)
        return cls(id, name, share, resources)

    def start(self, functions: Any, options: dict[str, Any]) -> Process:
        """Starts a process that decides here."""
        place = NodeAffinitySchedulingStrategy(self.id, soft=False)
        made = _Decider.options(scheduling_strategy=place, **self.resources)
        self.profiles.append(None)
        actor = made.remote(functions, options, self.share.cores)
        return Process(self, actor, Pace(self.share.cores), len(self.profiles) - 1)


@dataclass(eq=False)
class Process:
    """A process on a node, as the driver sees it."""

    node: Node
    actor: Any
    pace: Pace
    #: Its place in the profiles of its node.
    place: int
    ready: bool = False
    #: What it has to do, by number.
    spans: dict[int, Span] = field(default_factory=dict)
    #: The span that it was asked to give back, 0 for none.
    asked_back: int = 0
    recorded_at: float = 0.0

    def control(self, method: str, *arguments: Any) -> Any:
        """Calls it beside the span under way; what ``ray.get`` takes."""
        called = getattr(self.actor, method).options(concurrency_group="control")
        return called.remote(*arguments)

    def recorded(self, profile: Optional[dict[str, Any]]) -> None:
        """What this process recorded until now."""
        if profile:
            # Who runs a cluster asks which node it was.
            profile.setdefault("environment", {})["host"] = self.node.name
            self.node.profiles[self.place] = profile
