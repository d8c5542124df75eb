"""Functions of many items (`batched=True`) and processes, compared with what a user would write.

`METRIC python_batched/<case>/<rows>/warm` is the time of `be.run` divided by that of one direct
call on the complete array: medians of seven, in turns; `/first` is the first batch of a function,
the median of seven names.
Cases whose library is not installed are skipped. `METRIC python_processes/<case>` is the time
compared with joblib's (loky). `METRIC python_trivial` is a batch of one trivial task.
"""

from __future__ import annotations

import functools
import os
import statistics
import time
from typing import Any, Callable, Dict, Tuple

import numpy as np

import breakeven as be

ROWS = (2_000, 10_000)
TIMES = 7


def seconds(function: Callable[[], Any]) -> float:
    began = time.perf_counter()
    function()
    return time.perf_counter() - began


def sleeps(rows: Any) -> Any:
    time.sleep(0.005)
    return rows


def spins(rows: Any) -> Any:
    end = time.perf_counter() + 0.005
    while time.perf_counter() < end:
        pass
    return rows


def expression(rows: Any) -> Any:
    return np.exp(-(rows * rows)).sum(axis=1)


def cases() -> Dict[str, Tuple[Callable[[Any], Any], int, Any]]:
    """Per case: the function, the columns of its rows, and the conversion from an array."""
    same = np.asarray
    found = {
        "5_ms_asleep": (sleeps, 4, same),
        "5_ms_at_work": (spins, 4, same),
        "numpy": (expression, 256, same),
    }
    random = np.random.default_rng(1)
    try:
        from sklearn.ensemble import RandomForestClassifier
        from sklearn.linear_model import LogisticRegression

        rows = random.normal(size=(2_000, 100))
        classes = (rows[:, 0] * 3).round().clip(-2, 2)
        forest = RandomForestClassifier(random_state=1).fit(rows, classes)
        line = LogisticRegression(max_iter=1_000).fit(rows, classes)
        found["forest"] = (forest.predict, 100, same)
        found["logistic"] = (line.predict, 100, same)
    except ImportError:
        pass
    try:
        import torch

        layers = [torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10)]
        model = torch.nn.Sequential(*layers).eval()

        def infer(rows: Any) -> Any:
            with torch.no_grad():
                return model(rows)

        found["torch"] = (infer, 256, torch.from_numpy)
    except ImportError:
        pass
    try:
        import jax

        weights = jax.numpy.ones((256, 512))
        compiled = jax.jit(lambda rows: jax.numpy.tanh(rows @ weights).sum(axis=1))
        found["jax"] = (lambda rows: compiled(rows).block_until_ready(), 256, jax.numpy.asarray)
    except ImportError:
        pass
    return found


def batched() -> None:
    random = np.random.default_rng(2)
    for name, (function, columns, made) in cases().items():
        for count in ROWS:
            rows = made(random.normal(size=(count, columns)).astype(np.float32))

            def ours(operation: str = f"{name}{count}") -> Any:
                return be.run(rows, function, batched=True, operation=operation)

            function(rows)
            direct = statistics.median(seconds(lambda: function(rows)) for _ in range(TIMES))
            new = [seconds(lambda: ours(f"{name}{count} {n}")) for n in range(TIMES)]
            first = statistics.median(new) / direct
            for _ in range(7):
                ours()  # In these, both ways are tried.
            turns = [(seconds(ours), seconds(lambda: function(rows))) for _ in range(TIMES)]
            ratio = statistics.median(a for a, _ in turns) / statistics.median(b for _, b in turns)
            metric = f"METRIC python_batched/{name}/{count}"
            print(f"{metric}/direct {direct * 1e3:.3f} ms")
            print(f"{metric}/first {first:.2f} ratio\n{metric}/warm {ratio:.2f} ratio", flush=True)


def tiny(task: int) -> int:
    return task + 1


def look_up(table: Any, task: int) -> float:
    return float(table[task])


def processes() -> None:
    try:
        from joblib import Parallel, delayed
    except ImportError:
        return
    cores = os.cpu_count() or 1
    table = np.arange(2_000_000.0)
    found: Dict[str, Tuple[Any, range]] = {
        "100000_tiny_tasks": (tiny, range(100_000)),
        "16_MB_argument": (functools.partial(look_up, table), range(200)),
    }
    for name, (function, tasks) in found.items():

        def ours() -> Any:
            return be.run(tasks, function, workers="processes").outputs

        def theirs() -> Any:
            return Parallel(n_jobs=cores)(delayed(function)(task) for task in tasks)

        assert ours() == theirs()
        turns = [(seconds(ours), seconds(theirs)) for _ in range(TIMES)]
        ratio = statistics.median(a for a, _ in turns) / statistics.median(b for _, b in turns)
        print(f"METRIC python_processes/{name} {ratio:.2f} ratio", flush=True)


def trivial() -> None:
    taken = [seconds(lambda: be.run([1], tiny)) for _ in range(300)]
    print(f"METRIC python_trivial {statistics.median(taken) * 1e6:.1f} us")


if __name__ == "__main__":
    batched()
    processes()
    trivial()
