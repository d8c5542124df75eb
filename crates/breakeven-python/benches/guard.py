"""Measures the cost of recording a block, in turns with a pair of time.perf_counter() around it.

    python crates/breakeven-python/benches/guard.py

A round measures every kind of block, in a changing order. Costs are the minimum of all rounds
minus the empty loop's time, ratios the medians over rounds.
"""

from __future__ import annotations

import random
import statistics
import sys
import time

import breakeven as be

BLOCKS = 1_000
ROUNDS = 3_000


def empty() -> None:
    for _ in range(BLOCKS):
        pass


def perf_counter_pair() -> None:
    now = time.perf_counter
    for _ in range(BLOCKS):
        start = now()
        now() - start


def block() -> None:
    for _ in range(BLOCKS):
        with be.profile("block"):
            pass


def block_with_bytes() -> None:
    for _ in range(BLOCKS):
        with be.profile("block with bytes", bytes=4096):
            pass


def block_with_device() -> None:
    for _ in range(BLOCKS):
        with be.profile("block with device", device="cuda:0", size=4096):
            pass


def block_kept() -> None:
    kept = be.profile("kept block")
    for _ in range(BLOCKS):
        with kept:
            pass


def function() -> None:
    pass


decorated = be.profile(function)


def plain_calls() -> None:
    for _ in range(BLOCKS):
        function()


def decorated_calls() -> None:
    for _ in range(BLOCKS):
        decorated()


def main() -> None:
    kinds = [perf_counter_pair, block, block_with_bytes, block_with_device, block_kept]
    kinds += [plain_calls, decorated_calls, empty]
    suffix = "_off" if "off" in sys.argv[1:] else ""
    be.get_profiler(not suffix)
    times: dict[str, list[float]] = {kind.__name__: [] for kind in kinds}
    for _ in range(ROUNDS):
        for kind in random.sample(kinds, len(kinds)):
            start = time.perf_counter_ns()
            kind()
            times[kind.__name__].append((time.perf_counter_ns() - start) / BLOCKS)
    idle = times.pop("empty")
    for name, taken in times.items():
        print(f"METRIC python_{name}{suffix} {min(taken) - min(idle):.0f} ns")
    pairs = times["perf_counter_pair"]
    for name in ("block", "block_with_bytes"):
        beyond = min(times[name]) - min(pairs)
        ratios = ((a - c) / (b - c) for a, b, c in zip(times[name], pairs, idle))
        print(f"METRIC python_{name}_beyond_pair{suffix} {beyond:.0f} ns")
        print(f"METRIC python_{name}_vs_pair{suffix} {statistics.median(ratios):.2f} x")
    decorated = min(times["decorated_calls"]) - min(times["plain_calls"])
    print(f"METRIC python_decorator{suffix} {decorated:.0f} ns")


if __name__ == "__main__":
    main()
