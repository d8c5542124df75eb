"""Overhead of breakeven.ray: `map_batches` of one function, by Ray Data alone and by breakeven,
and `run` on a cluster of one node compared with `breakeven.run`, each in turns on this machine's
cores.

    python crates/breakeven-python/benches/ray_overhead.py [ROUNDS]

METRIC ray_overhead: breakeven's time divided by Ray Data's, the median of the rounds. METRIC
ray_run_overhead: `breakeven.ray.run`'s time divided by that of `breakeven.run`. METRIC
ray_run_start: the time of `breakeven.ray.run` for two tasks that do nothing.
"""

import os
import statistics
import sys
import tempfile
import time

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
# Ray's workers run at a lower priority (nice 15), which the other side does not.
os.environ["RAY_worker_niceness"] = "0"
os.environ["BREAKEVEN_CACHE_DIR"] = tempfile.mkdtemp()

import numpy as np  # noqa: E402
import ray  # noqa: E402

import breakeven.ray  # noqa: E402

ROWS, COLUMNS, BATCH, BLOCKS, TASKS = 512, 256, 512, 192, 4000
ROW = np.random.default_rng(1).random(8192)


def work(batch):
    """Some milliseconds of a core, without the GIL."""
    data = batch["data"]
    for _ in range(12):
        data = np.sin(data) * 1.01
    return {"data": data}


def clocked(function):
    began = time.perf_counter()
    function()
    return time.perf_counter() - began


def seconds(dataset):
    return clocked(lambda: list(dataset.iter_internal_ref_bundles()))


def sine(task):
    """Two milliseconds of a core, without the GIL."""
    data = ROW
    for _ in range(24):
        data = np.sin(data)
    return float(data[0])


def in_turns(rounds, ways):
    """Seconds of each variant, by name, round by round, without the first round."""
    times = {name: [] for name in ways}
    for turn in range(rounds + 1):
        for name in list(ways) if turn % 2 else reversed(ways):
            took = ways[name]()
            if turn:
                times[name].append(took)
    for name, all in times.items():
        print(f"METRIC {name} {statistics.median(all):.3f} s")
    return times


def ratio(name, ours, theirs):
    ratios = [a / b for a, b in zip(ours, theirs)]
    low, median, high = np.percentile(ratios, [25, 50, 75])
    print(f"# quartiles of {len(ratios)} rounds: {low:.3f} {median:.3f} {high:.3f}")
    print(f"METRIC {name} {median:.4f} ratio")


def main(rounds):
    cores = len(os.sched_getaffinity(0))
    ray.init("local", num_cpus=cores, log_to_driver=False, logging_level="error")
    ray.data.DataContext.get_current().enable_progress_bars = False
    blocks = np.random.default_rng(1).random((BLOCKS * ROWS, COLUMNS))
    dataset = ray.data.from_numpy(np.split(blocks, BLOCKS)).materialize()
    sample = {"data": blocks[:BATCH]}
    batches = [clocked(lambda: work(sample)) for _ in range(20)]
    print(f"METRIC ray_batch {statistics.median(batches) * 1e3:.2f} ms")
    times = in_turns(
        rounds,
        {
            "ray_data": lambda: seconds(dataset.map_batches(work, batch_size=BATCH, num_cpus=1)),
            "ray_breakeven": lambda: seconds(
                breakeven.ray.map_batches(dataset, work, batch_size=BATCH)
            ),
        },
    )
    ratio("ray_overhead", times["ray_breakeven"], times["ray_data"])
    starts = [clocked(lambda: breakeven.ray.run([1, 2], abs)) for _ in range(5)]
    print(f"METRIC ray_run_start {statistics.median(starts):.3f} s")
    times = in_turns(
        rounds,
        {
            "run_alone": lambda: clocked(lambda: breakeven.run(range(TASKS), sine)),
            "run_on_ray": lambda: clocked(lambda: breakeven.ray.run(range(TASKS), sine)),
        },
    )
    ratio("ray_run_overhead", times["run_on_ray"], times["run_alone"])
    ray.shutdown()


main(int(sys.argv[1]) if len(sys.argv) > 1 else 15)
