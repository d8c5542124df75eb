"""Wrong arguments: one error each, with name, value and remedy."""

from __future__ import annotations

import os
from typing import Any, Callable

import numpy as np
import pytest

import breakeven as be
from conftest import five_runs, operation, profile


async def later(task: Any) -> Any:
    return task


def yields(task: Any) -> Any:
    yield task


RUN: list[tuple[dict[str, Any], str]] = [
    ({"strategy": None}, "strategy: None; give"),
    ({"workload": "big"}, "workload: 'big'; give"),
    ({"workload": {"memory_per_task": True}}, "memory_per_task: True; give"),
    ({"cpu": None}, "cpu: None; give"),
    ({"cpu": later}, "cpu: .*; give a function, no coroutine"),
    ({"cpu": yields}, "cpu: .*; give a function, no coroutine"),
    ({"gpu": later}, "gpu: .*; give a function, no coroutine"),
    ({"costs": True}, "costs: True; give"),
    ({"costs": ""}, "costs: ''; give"),
    ({"costs": os.sep}, "costs: .*; give a file"),
    ({"costs": "no such folder/costs.json"}, "costs: 'no such folder.*; give a file in a folder"),
    ({"batched": "yes"}, "batched: 'yes'; give True or False"),
    ({"batched": True, "batch_size": True}, "batch_size: True; give"),
    ({"batched": True, "batch_size": 10, "min_batch": 20}, "min_batch: 20; give at most"),
    ({"timeout": 0}, "timeout: 0; give seconds, more than 0"),
    ({"deadline": "5"}, "deadline: '5'; give"),
    ({"tolerance": (-1, 0)}, r"tolerance: \(-1, 0\); give"),
    ({"fallback": []}, r"fallback: \[\]; give"),
    ({"operation": ""}, "operation: ''; give"),
    ({"workers": -1}, "workers: -1; give"),
]


@pytest.mark.parametrize("options, text", RUN)
def test_a_wrong_option_is_named(
    options: dict[str, Any], text: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(be.InvalidError, match=text):
        be.run(**{"tasks": [1, 2], "cpu": int, "gpu": list, **options})
    assert not list(tmp_path.iterdir())


OTHERS: list[tuple[Callable[[], Any], str]] = [
    (lambda: be.compare([], [], threshold="5%"), "threshold: '5%'; give"),  # type: ignore
    (lambda: be.compare(SIDE, SIDE, threshold=7.0), "7"),
    (lambda: be.advise(SIDE[0], top="3"), "top: '3'; give"),  # type: ignore
    (lambda: be.advise(SIDE[0], top=-1), "top: -1; give"),
    (lambda: be.get_profiler("off"), "enabled: 'off'; give"),  # type: ignore
    (lambda: be.forget(5), "operation: 5; give"),  # type: ignore
    (lambda: be.forget(costs=True), "costs: True; give"),  # type: ignore
    (lambda: be.profile("a", device=0), "device: 0; give"),  # type: ignore
    (lambda: be.profile("a", items=-1), "items: -1; give a whole number, 0 or more"),
    (lambda: be.profile("a", size=1.5), "size: 1.5; give"),  # type: ignore
    (lambda: be.operators.pixel_entropy(-1), r"pixel_entropy\(-1\)"),
    (lambda: be.operators.conv2d([[1.0]], padding=-1), r"conv2d\(\[\[1.0\]\], padding=-1\)"),
    (lambda: be.operators.conv2d([[1, 2], [3]]), r"conv2d\(\[\[1, 2\], \[3\]\]\)"),
]
SIDE: list[Any] = [profile(operation("a", [run])) for run in five_runs(1e6)]


@pytest.mark.parametrize("call, text", OTHERS)
def test_a_wrong_argument_is_named(call: Callable[[], Any], text: str) -> None:
    with pytest.raises(be.InvalidError, match=text):
        call()


def test_swapped_arguments_are_named_and_shortened() -> None:
    with pytest.raises(be.InvalidError, match="are tasks and cpu swapped") as caught:
        be.run(int, list(range(100_000)))  # type: ignore[call-overload]
    assert len(str(caught.value)) < 200


def test_what_has_no_length_or_no_path_is_named() -> None:
    with pytest.raises(TypeError, match="ndarray is not a list of tasks"):
        be.run(np.array(1), int)
    with pytest.raises(TypeError, match=r"export_json\(\)"):
        be.get_profiler().export_json()  # type: ignore[call-arg]


def test_counts_may_be_of_any_whole_type(profiler: be.Profiler) -> None:
    three: Any = np.int64(3)
    run = be.run(
        range(10), list, batched=True, min_batch=three, batch_size=np.uint8(4), workers=three,
        workload={"memory_per_task": three},
    )
    assert run.outputs == list(range(10))
    counts: Any = {"bytes": 2e9, "flops": np.float64(4), "size": 1e3}
    with be.profile("a", **counts) as call:
        call.items(three)
        with pytest.raises(be.InvalidError, match="memory_bytes: -1; give"):
            call.memory_bytes(-1)
    [found] = [each for each in profiler.snapshot().operations if each.name == "a"]
    assert (found.bytes, found.items, found.flops, found.size) == (2_000_000_000, 3, 4, 1000)
    assert be.sweep(int, int, make=int, sizes=[1e2], time_limit=0.1).profile()  # type: ignore
    assert len(be.advise(SIDE[0], top=three, evidence=SIDE[0])) <= 3


def test_a_single_profile_is_a_history(tmp_path: Any) -> None:
    path = tmp_path / "one.json"
    be._profile.Profile(SIDE[0]).write(path)
    assert be.compare(SIDE, SIDE, history=path).operations


def test_a_damaged_file_of_costs_is_reported(tmp_path: Any) -> None:
    path = tmp_path / "costs.json"
    path.write_text("{")
    with pytest.warns(UserWarning, match=f"{path}.* as costs.json.damaged-1"):
        be.run([1, 2], int, list, costs=path)
