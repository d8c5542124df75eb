"""Many threads at once in everything that the package shares between them: on a free-threaded
interpreter they really run at once."""

from __future__ import annotations

import gc
import os
import sys
import threading
import time
from typing import Any, Callable, List

import numpy as np
import pytest

import breakeven as be
from breakeven import operators
from conftest import five_runs, operation, profile

THREADS = 8
TURNS = 25
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
HAS_NO_LOCK = hasattr(sys, "_is_gil_enabled") and not sys._is_gil_enabled()


def on_all(work: Callable[[int], Any]) -> List[Any]:
    """What `work(number)` returns on eight threads that begin together, while the collector
    stops them now and then; raises what one of them raised."""
    barrier = threading.Barrier(THREADS + 1)
    found: List[Any] = [None] * THREADS
    raised: List[BaseException] = []

    def body(number: int) -> None:
        try:
            barrier.wait(60)
            found[number] = work(number)
        except BaseException as error:  # noqa: B036 - the test's thread raises it
            raised.append(error)

    threads = [threading.Thread(target=body, args=(number,), daemon=True) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    barrier.wait(60)
    until = time.monotonic() + 120
    while any(thread.is_alive() for thread in threads):
        assert time.monotonic() < until, "threads wait for each other"
        gc.collect()
        time.sleep(0.005)
    if raised:
        raise raised[0]
    return found


def double(task: int) -> int:
    return task * 2


def test_batches_of_the_same_operation_and_of_others() -> None:
    rows = np.arange(2000.0)

    def batches(number: int) -> None:
        for turn in range(TURNS):
            tasks = range(number, number + 97 + turn)
            expected = [task * 2 for task in tasks]
            name = f"threads {turn % 3}"
            both = be.run(tasks, double, lambda part: [double(each) for each in part],
                          strategy="hybrid:60/40", operation=name, costs=False)
            assert both.outputs == expected
            assert both.cpu_tasks + both.gpu_tasks == len(expected)
            whole = be.run(rows, np.sqrt, batched=True, operation=f"roots {number}", costs=False)
            np.testing.assert_array_equal(whole.outputs, np.sqrt(rows))

    on_all(batches)


def test_a_list_that_another_thread_changes_gives_no_more_than_errors() -> None:
    tasks = list(range(5000))
    ended = threading.Event()

    def change() -> None:
        while not ended.is_set():
            tasks.append(tasks.pop(0))

    changing = threading.Thread(target=change, daemon=True)
    changing.start()
    try:
        for _ in range(20):
            outputs = be.run(tasks, double, operation="changed", workers=4, costs=False).outputs
            assert len(outputs) in (4999, 5000) and all(each % 2 == 0 for each in outputs)
    except be.TaskError as error:
        assert isinstance(error.__cause__, IndexError)
    finally:
        ended.set()
        changing.join(60)


def test_every_block_is_recorded_once(profiler: be.Profiler) -> None:
    @be.profile("shared")
    def shared(value: int) -> int:
        return value

    kept = be.profile("kept", device="cuda:0")
    lost = profiler.losses()

    def record(number: int) -> None:
        for turn in range(TURNS * 20):
            with be.profile(f"name {turn % 50}", bytes=turn, number=number) as call:
                call.items(1)
                with kept:
                    shared(turn)
            if turn % 100 == number:
                assert len(profiler.snapshot()) >= 1

    on_all(record)
    calls = {each.name: each.calls for each in profiler.snapshot().operations}
    each_name = THREADS * TURNS * 20 // 50
    assert calls == {
        **{f"name {number}": each_name for number in range(50)},
        "kept": THREADS * TURNS * 20,
        "shared": THREADS * TURNS * 20,
    }
    assert profiler.losses() == lost


@pytest.mark.filterwarnings("ignore:a breakeven.profile block ended on another thread")
def test_blocks_that_end_on_another_thread_are_counted_and_no_others(
    profiler: be.Profiler,
) -> None:
    before = profiler.losses()["elsewhere"]
    moved = be.profile("moved")
    begun = threading.Barrier(THREADS)

    def move(number: int) -> None:
        for _ in range(TURNS):
            # One begins it, another ends it, all clear away what they began.
            moved.__enter__()
            begun.wait(60)
            ending = threading.Thread(target=moved.__exit__, args=(None, None, None))
            ending.start()
            ending.join(60)
            begun.wait(60)
            with be.profile("stays"):
                pass
            begun.wait(60)

    on_all(move)
    calls = {each.name: each.calls for each in profiler.snapshot().operations}
    assert calls == {"stays": THREADS * TURNS}
    assert profiler.losses()["elsewhere"] - before == THREADS * TURNS
    # Nothing is left that would make calls of the same block look as if they had moved.
    for _ in range(THREADS):
        with moved:
            pass
    assert {each.name: each.calls for each in profiler.snapshot().operations}["moved"] == THREADS


@pytest.mark.filterwarnings("ignore:a breakeven.profile block ended on another thread")
def test_a_call_that_moved_from_a_thread_that_is_gone_costs_no_other(
    profiler: be.Profiler,
) -> None:
    kept = be.profile("kept for good")
    beginning = threading.Thread(target=kept.__enter__)
    beginning.start()
    beginning.join(60)
    kept.__exit__(None, None, None)
    for _ in range(10):
        with kept, be.profile("inside"):
            pass
    calls = {each.name: each.calls for each in profiler.snapshot().operations}
    assert calls == {"kept for good": 10, "inside": 10}


@pytest.mark.filterwarnings("ignore:a breakeven.profile block ended on another thread")
def test_each_block_that_ended_on_another_thread_is_taken_off_once(
    profiler: be.Profiler,
) -> None:
    before = profiler.losses()["elsewhere"]
    kept = be.profile("kept by all")
    together = threading.Barrier(THREADS)

    def work(number: int) -> None:
        for _ in range(TURNS * 4):
            kept.__enter__()
            together.wait(60)
            if number == 0:
                ending = threading.Thread(target=kept.__exit__, args=(None, None, None))
                ending.start()
                ending.join(60)
            together.wait(60)
            # One block of it is to be taken off, and all eight look for it.
            with be.profile("next"):
                pass
            together.wait(60)
            if number != 0:
                kept.__exit__(None, None, None)

    on_all(work)
    moved = profiler.losses()["elsewhere"] - before
    assert TURNS * 4 <= moved <= THREADS * TURNS * 4
    profiler.reset()
    for _ in range(2 * THREADS * TURNS * 4):
        with kept, be.profile("inside"):
            pass
    calls = {each.name: each.calls for each in profiler.snapshot().operations}
    assert calls["kept by all"] >= THREADS * TURNS * 4


def test_a_recording_may_be_switched_and_reset_meanwhile(profiler: be.Profiler) -> None:
    def work(number: int) -> None:
        for turn in range(TURNS * 4):
            with be.profile("at odds", turn=turn):
                pass
            if number == 0:
                profiler.reset()
            elif number == 1:
                profiler.timeline(turn % 3 * 100)
            elif number == 2:
                be.get_profiler(turn % 2 == 0)

    try:
        on_all(work)
    finally:
        be.get_profiler(True)
        profiler.timeline(0)
    assert sum(each.calls for each in profiler.snapshot().operations) <= THREADS * TURNS * 4


def test_generators_that_move_between_threads(profiler: be.Profiler) -> None:
    @be.profile("parts")
    def parts() -> Any:
        yield from range(50)

    shared = [parts() for _ in range(THREADS)]

    def take(number: int) -> List[int]:
        taken = []
        for turn in range(50 * THREADS):
            try:
                taken.append(next(shared[(number + turn) % THREADS]))
            except StopIteration:
                pass
            except ValueError as error:
                # Another thread is at it.
                assert "already executing" in str(error)
        return taken

    taken = [each for found in on_all(take) for each in found]
    for generator in shared:
        taken.extend(generator)
    assert sorted(taken) == sorted(list(range(50)) * THREADS)


def test_profiles_are_compared_read_and_printed() -> None:
    before = be.Profile(profile(*(operation(f"op {n}", five_runs(8e6)) for n in range(20))))
    after = be.Profile(profile(*(operation(f"op {n}", five_runs(9e6)) for n in range(20))))
    expected = str(be.compare(before, after))
    assert "REGRESSION" in expected

    def judge(number: int) -> None:
        for _ in range(TURNS):
            comparison = be.compare(before, after)
            assert str(comparison) == expected and len(comparison.regressions()) == 20
            assert len(be.Profile(before.to_dict())) == 20
            be.advise(after)

    on_all(judge)


def test_operators_on_the_same_array() -> None:
    images = (np.arange(4 * 16 * 16) % 256).reshape(4, 16, 16).astype(np.float32) / 256
    edges = operators.conv2d([[1, 0, -1], [2, 0, -2], [1, 0, -1]], padding=1)
    texture = operators.chain(edges, operators.pixel_entropy(5), operators.image_segmentation(1.0))
    expected = texture(images)

    def work(number: int) -> None:
        for turn in range(TURNS):
            strategy = ("auto", "cpu-only")[turn % 2]
            name = f"texture {number}"
            result = texture.run(images, strategy=strategy, operation=name)
            np.testing.assert_array_equal(result.outputs, expected)

    on_all(work)


def spin(task: int) -> int:
    """Python's own code for 2 ms."""
    end = time.perf_counter() + 0.002
    while time.perf_counter() < end:
        pass
    return threading.get_ident()


@pytest.mark.skipif(CORES < 2, reason="one core has one worker anyway")
@pytest.mark.skipif(not HAS_NO_LOCK, reason="the interpreter has a lock, and it is on")
def test_without_the_lock_pythons_own_code_runs_on_all_threads() -> None:
    result = be.run(range(200), spin, operation="spins")
    assert result.gil_held is None and result.workers == CORES
    assert len(set(result.outputs)) > 1
    assert f"the interpreter's lock was off when the batch began: {result.workers} threads" in (
        result.explain()
    )
    asked = be.run(range(10), spin, operation="spins", workers=2)
    assert asked.workers == 2 and "lock" not in asked.explain()
