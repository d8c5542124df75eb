"""The nodes that take part in a batch, and the processes on them."""

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
    #: Its name in results and messages.
    name: str
    share: NodeShare
    #: What each of its processes reserves.
    resources: dict[str, Any]
    #: Recordings, one entry per process.
    profiles: list[Optional[dict[str, Any]]] = field(default_factory=list)
    #: Processes that died since the last finished span.
    crashes: int = 0

    @classmethod
    def of(
        cls,
        told: dict[str, Any],
        names: set[str],
        num_cpus: Optional[float],
        gpu_resource: Optional[str],
    ) -> Optional[Node]:
        """Builds it from Ray's description of a node; None if it has no cores."""
        id, address, there = told["NodeID"], told["NodeManagerAddress"], told["Resources"]
        cores = min(num_cpus or there.get("CPU", 0), there.get("CPU", 0))
        if cores <= 0:
            return None
        gpus = int(there.get(gpu_resource, 0)) if gpu_resource else 0
        deciders = max(gpus, 1)
        # Ray accepts fractions of one core, but only whole numbers above one.
        each = cores // deciders if cores >= deciders else cores / deciders
        resources: dict[str, Any] = {"num_cpus": each}
        if gpus and gpu_resource == "GPU":
            resources["num_gpus"] = 1
        elif gpus:
            resources["resources"] = {gpu_resource: 1}
        # Several nodes may have one address: on one machine, or after a restart.
        name = f"{address}-{id[:8]}" if address in names else address
        share = NodeShare(id, address, deciders, max(int(each), 1), gpus > 0)
        return cls(id, name, share, resources)

    def start(self, functions: Any, options: dict[str, Any]) -> Process:
        """Starts a deciding process."""
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
    #: Its index in the profiles of its node.
    place: int
    ready: bool = False
    #: Its running span.
    span: Optional[Span] = None

    def control(self, method: str, *arguments: Any) -> Any:
        """Calls it in parallel to the running span; returns a reference for ``ray.get``."""
        called = getattr(self.actor, method).options(concurrency_group="control")
        return called.remote(*arguments)

    def recorded(self, profile: Optional[dict[str, Any]]) -> None:
        """The recording of this process so far."""
        if profile:
            # Names the node for the cluster's administrator.
            profile.setdefault("environment", {})["host"] = self.node.name
            self.node.profiles[self.place] = profile
