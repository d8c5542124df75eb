"""Batches over the nodes of a Ray cluster: Ray places the work and reports failures, and on each
node breakeven chooses between that node's devices, by that node's cost model.

>>> import breakeven.ray
>>> result = breakeven.ray.run(images, on_the_cpu, on_the_gpu)      # doctest: +SKIP
>>> dataset = breakeven.ray.map_batches(dataset, on_the_cpu, on_the_gpu)   # doctest: +SKIP

When that pays, and how to start a cluster: docs/cluster.md.
"""

try:
    import ray as _ray  # noqa: F401
except ImportError as error:
    raise ImportError("breakeven.ray needs Ray: pip install 'breakeven[ray]'") from error

from ._batch import run as run
from ._datasets import map_batches as map_batches
from ._datasets import report as report
from ._result import ClusterResult as ClusterResult
from ._result import NodeLost as NodeLost
from ._result import NodeShare as NodeShare
