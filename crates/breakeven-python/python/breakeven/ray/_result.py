"""The result of a batch that ran on a cluster."""

from __future__ import annotations

import html
import os
import re
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Container, Optional

from .._errors import BreakevenError
from .._profile import Profile


class NodeLost(BreakevenError):
    """Nodes or their processes died more often than allowed; the message names the lost tasks
    and the cause that Ray reports."""


@dataclass
class NodeShare:
    """What one node did of a batch."""

    #: Ray's id of the node.
    node: str
    #: Its address.
    address: str
    #: Processes that decided there: one, or one per GPU.
    deciders: int = 0
    #: Cores of each of them.
    cores: int = 1
    #: True where it has a GPU.
    gpu: bool = False
    #: Batches, and their tasks, whose outputs came from this node.
    batches: int = 0
    tasks: int = 0
    cpu_tasks: int = 0
    gpu_tasks: int = 0
    #: Tasks that the CPU did instead of the GPU.
    fallback_tasks: int = 0
    #: Seconds of these batches, in all its processes.
    busy: float = 0.0
    #: Batches that were lost with a process or the node, and repeated elsewhere.
    lost: int = 0
    #: Why it did not take part, or stopped.
    left_out: Optional[str] = None
    #: The reason of its last decision, as text.
    explanation: str = field(default="", repr=False)

    def count(self, tasks: int, seconds: float, on_gpu: int, fallen: int) -> None:
        """Adds a batch."""
        self.batches += 1
        self.tasks += tasks
        self.gpu_tasks += on_gpu
        self.cpu_tasks += tasks - on_gpu
        self.fallback_tasks += fallen
        self.busy += seconds

    def named(self, names: Container[str]) -> str:
        """A name for the node: several may have one address, on one machine or after a restart."""
        return f"{self.address}-{self.node[:8]}" if self.address in names else self.address

    def __add__(self, more: NodeShare) -> NodeShare:
        """With the share of another process of this node."""
        names = "deciders", "batches", "tasks", "cpu_tasks", "gpu_tasks", "fallback_tasks", "busy"
        sums = {name: getattr(self, name) + getattr(more, name) for name in names}
        return replace(self, **sums, explanation=more.explanation)


@dataclass
class ClusterResult:
    """All outputs of a batch that ran on a cluster, and how they were computed."""

    #: One per task, in their order: a list, or an array where the functions gave arrays.
    outputs: Any = field(repr=False)
    #: The operation's name.
    operation: str
    #: Tasks of the batch.
    tasks: int
    #: From the call to the last output, seconds.
    execution_time: float
    #: What each node did, by its name in :attr:`profiles`.
    nodes: dict[str, NodeShare]
    #: Each batch: ``node``, ``start`` (its first task) and the fields of
    #: :meth:`breakeven.ExecutionResult.to_dict`: decision, devices, fallback, errors.
    batches: list[dict[str, Any]] = field(repr=False)
    #: Each node's recordings, by its name: the parsed JSON of a profile per process, for
    #: :func:`breakeven.compare` and :func:`breakeven.advise`.
    profiles: dict[str, list[dict[str, Any]]] = field(repr=False)

    def __post_init__(self) -> None:
        for name, profiles in self.profiles.items():
            for profile in profiles:
                # Names the node for the cluster's administrator.
                profile.setdefault("environment", {})["host"] = name

    @property
    def cpu_tasks(self) -> int:
        """Tasks that CPUs did."""
        return sum(share.cpu_tasks for share in self.nodes.values())

    @property
    def gpu_tasks(self) -> int:
        """Tasks that GPUs did."""
        return sum(share.gpu_tasks for share in self.nodes.values())

    @property
    def fallback_occurred(self) -> bool:
        """True if a CPU did tasks at which a GPU failed."""
        return any(share.fallback_tasks for share in self.nodes.values())

    @property
    def errors(self) -> list[dict[str, Any]]:
        """Errors of GPUs: ``node``, ``kind``, ``message`` and more."""
        return [
            {"node": batch["node"], **error} for batch in self.batches for error in batch["errors"]
        ]

    def to_dict(self) -> dict[str, Any]:
        """The complete record of the execution without its outputs."""
        names = "operation", "tasks", "execution_time", "fallback_occurred", "batches"
        known = {name: getattr(self, name) for name in names}
        return {**known, "nodes": {name: asdict(share) for name, share in self.nodes.items()}}

    def write_profiles(self, folder: str | os.PathLike[str]) -> list[str]:
        """Writes a profile file for each node's process, ``NODE.json``, ``NODE-2.json``, …:
        ``breakeven compare --baseline before/NODE*.json --current after/NODE*.json`` and
        ``breakeven advise`` read them. Returns their paths. Raises
        :class:`breakeven.FileError`."""
        os.makedirs(folder, exist_ok=True)
        paths = []
        for name, profiles in self.profiles.items():
            for number, profile in enumerate(profiles, 1):
                stem = re.sub(r"[^\w.-]", "_", name) + (f"-{number}" if number > 1 else "")
                path = os.path.join(folder, f"{stem}.json")
                Profile(profile).write(path)
                paths.append(path)
        return paths

    def explain(self) -> str:
        """What ran where and why, as text: each node, and its last decision."""
        time = f"{self.execution_time:.3f} s"
        text = f"{self.operation}: {self.tasks} tasks in {time} on {len(self.nodes)} nodes\n"
        for name, share in self.nodes.items():
            devices = f"{share.deciders * share.cores} cores" + (" and a GPU" if share.gpu else "")
            text += (
                f"{name} ({devices}): {share.tasks} tasks in {share.batches} batches, "
                f"{share.cpu_tasks} on the CPU, {share.gpu_tasks} on the GPU\n"
            )
            if share.lost:
                text += f"  {share.lost} batches were lost with a process and done again\n"
            if share.left_out:
                text += f"  left out: {share.left_out}\n"
            text += "".join(f"  {line}\n" for line in share.explanation.splitlines())
        return text

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.explain())}</pre>"
