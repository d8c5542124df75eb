"""How much faster `breakeven.run` is on all threads than on one, in turns in one process: a pure
Python function, which runs in parallel only on a free-threaded interpreter, and a NumPy function,
which releases the GIL anyway.

METRIC python_threads, numpy_threads: the time on one thread divided by that on all, the median of
the turns.
"""

import argparse
import os
import statistics
import sys
import time

import numpy as np

import breakeven as be

TASKS = 400


def python(numbers):
    total = 0
    for number in numbers:
        total += number * number % 7
    return total


def numpy(array):
    return float(np.sort(array)[0])


def took(function, tasks, name, **options):
    began = time.perf_counter()
    result = be.run(tasks, function, operation=name, costs=False, **options)
    return time.perf_counter() - began, result


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--turns", type=int, default=31)
    turns = options.parse_args().turns
    lock = getattr(sys, "_is_gil_enabled", lambda: True)()
    cores = len(os.sched_getaffinity(0))
    print(f"# Python {sys.version.split()[0]}, the lock {'on' if lock else 'off'}, {cores} cores")
    inputs = {python: range(10_000), numpy: np.random.default_rng(1).random(40_000)}
    for function, task in inputs.items():
        name, tasks = function.__name__, [task] * TASKS
        ratios, alone = [], []
        for turn in range(turns + 2):
            one, first = took(function, tasks, name, workers=1)
            all_, second = took(function, tasks, name)
            assert first.outputs == second.outputs
            if turn >= 2:
                ratios.append(one / all_)
                alone.append(one / TASKS * 1e6)
        low, median, high = np.percentile(ratios, [25, 50, 75])
        print(f"# {TASKS} tasks of {statistics.median(alone):.0f} µs, {second.workers} workers")
        print(f"# quartiles of one / all: {low:.2f} {median:.2f} {high:.2f}")
        print(f"METRIC {name}_threads {median:.2f}")


main()
