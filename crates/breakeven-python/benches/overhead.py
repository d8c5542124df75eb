"""Overhead of `breakeven.run` compared with a bare `ThreadPoolExecutor.map`: 1 000 tasks of about
100 µs, a NumPy function that releases the GIL, in turns in one process.

METRIC python_overhead: breakeven's time divided by the bare pool's, minus 1, in percent, the
median of the turns.
"""

import argparse
import os
import statistics
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import breakeven as be

TASKS = 1000


def work(array):
    return float(np.sort(array)[0])


def task_of(microseconds):
    """An array on which `work` takes about this long."""
    length = 1000
    while True:
        array = np.random.default_rng(1).random(length)
        times = []
        for _ in range(20):
            began = time.perf_counter()
            work(array)
            times.append(time.perf_counter() - began)
        took = statistics.median(times) * 1e6
        if took >= microseconds:
            return array, took
        length = int(length * 1.1)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--turns", type=int, default=31)
    turns = options.parse_args().turns
    array, took = task_of(100)
    tasks = [array] * TASKS
    workers = len(os.sched_getaffinity(0))
    print(f"# {TASKS} tasks of {took:.0f} µs, {workers} workers, {turns} turns")
    ratios = []
    with ThreadPoolExecutor(workers) as pool:
        for turn in range(turns + 2):
            began = time.perf_counter()
            bare = list(pool.map(work, tasks))
            middle = time.perf_counter()
            ours = be.run(tasks, work, operation="overhead").outputs
            ended = time.perf_counter()
            assert bare == ours
            if turn >= 2:
                ratios.append((ended - middle) / (middle - began))
    low, median, high = np.percentile(ratios, [25, 50, 75])
    print(f"# quartiles of ours / bare: {low:.3f} {median:.3f} {high:.3f}")
    print(f"METRIC python_overhead {(median - 1) * 100:.1f} %")


main()
