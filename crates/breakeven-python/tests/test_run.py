"""`breakeven.run`: Python's functions on the library's engine."""

import asyncio
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
import warnings

import numpy as np
import pytest

import breakeven as be

STRATEGIES = ["auto", "cpu-only", "gpu-only", "hybrid:60/40"]


def double(task):
    return task * 2


def doubles(tasks):
    return [task * 2 for task in tasks]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("count", [0, 1, 9, 1000])
def test_outputs_are_in_order(strategy, count):
    result = be.run(range(count), double, doubles, strategy=strategy)
    assert result.outputs == [task * 2 for task in range(count)]
    assert (result.tasks, result.cpu_tasks + result.gpu_tasks) == (count, count)
    assert not result.fallback_occurred and result.errors == []


@pytest.mark.parametrize("tasks", [(1, 2, 3), {1: "a", 2: "b"}.keys(), iter([1, 2, 3])])
def test_whatever_can_be_iterated_is_a_list_of_tasks(tasks):
    if hasattr(tasks, "mapping") or type(tasks).__name__ == "dict_keys":
        assert be.run(tasks, double).outputs == [2, 4]
    else:
        assert be.run(tasks, double).outputs == [2, 4, 6]


@pytest.mark.parametrize("tasks", ["text", {"a": 1}, 3, None])
def test_what_is_no_list_of_tasks_is_refused(tasks):
    with pytest.raises(TypeError):
        be.run(tasks, double)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_arrays_go_in_as_views_and_come_out_as_one(strategy):
    rows = np.arange(60_000.0).reshape(-1, 3)
    views = []

    def sums(part):
        views.append(np.shares_memory(part, rows))
        return part.sum(axis=1)

    result = be.run(rows, sums, sums, batched=True, strategy=strategy, operation="sums")
    assert isinstance(result.outputs, np.ndarray)
    np.testing.assert_array_equal(result.outputs, rows.sum(axis=1))
    assert all(views)


def test_an_array_that_one_call_gave_is_not_copied():
    given = []

    def gpu(part):
        given.append(part * 2)
        return given[-1]

    tasks = np.arange(1000.0)
    result = be.run(tasks, gpu, gpu, batched=True, strategy="gpu-only", operation="one call")
    if len(given) == 1:
        assert result.outputs is given[0]
    np.testing.assert_array_equal(result.outputs, tasks * 2)


def test_very_many_items_are_taken_in_blocks():
    rows = np.arange(3_000_001, dtype=np.uint32)
    result = be.run(rows, lambda part: part + 1, batched=True, workers=1)
    np.testing.assert_array_equal(result.outputs, rows + 1)
    assert result.tasks == len(rows)


def test_a_row_of_an_array_is_a_task():
    rows = np.arange(12.0).reshape(4, 3)
    assert be.run(rows, lambda row: float(row.sum())).outputs == [3.0, 12.0, 21.0, 30.0]


def test_a_task_that_fails_is_named_with_its_cause_and_traceback():
    def fails(task):
        if task == 7:
            raise KeyError("seven")
        return task

    with pytest.raises(be.TaskError) as caught:
        be.run(range(20), fails)
    error = caught.value
    assert error.index == 7 and isinstance(error.__cause__, KeyError)
    assert error.__cause__.__traceback__.tb_next is None
    assert error.__cause__.__traceback__.tb_frame.f_code.co_name == "fails"
    again = pickle.loads(pickle.dumps(error))
    assert (again.index, str(again)) == (error.index, str(error))


def test_each_task_may_have_an_exception_of_its_own():
    def fails(task):
        return 1 // task

    outputs = be.run([1, 0, 2], fails, return_exceptions=True).outputs
    assert outputs[0] == 1 and outputs[2] == 0
    assert isinstance(outputs[1].__cause__, ZeroDivisionError)


def test_a_batched_function_must_give_an_output_for_each():
    with pytest.raises(be.TaskError, match="cpu returned 99 outputs for 100 tasks"):
        be.run(range(100), lambda part: list(part)[:-1], batched=True)
    with pytest.raises(be.TaskError, match="cpu returned a NoneType for 100 tasks; it must"):
        be.run(range(100), lambda part: None, batched=True)


def test_lack_of_memory_halves_the_batch():
    sizes = []

    class OutOfMemoryError(RuntimeError):
        """As PyTorch's and CuPy's are called."""

    def gpu(part):
        sizes.append(len(part))
        if len(part) > 100:
            raise OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
        return doubles(part)

    result = be.run(range(1000), double, gpu, strategy="gpu-only", operation="halves")
    assert result.outputs == doubles(range(1000))
    assert result.gpu_tasks == 1000 and max(sizes) > 100
    assert result.to_dict()["errors"][0]["kind"] == "out of memory"


@pytest.mark.parametrize(
    "raised, kind",
    [
        (RuntimeError("CUDA error: an illegal memory access was encountered"), "device lost"),
        (RuntimeError("something else"), "device error"),
        (ImportError("no module named cupy"), "unsupported"),
        (ValueError("a shape that it does not take"), "refused input"),
        (TimeoutError("late"), "device error"),
        (be.DeviceError("launch", "made up"), "launch error"),
    ],
)
def test_what_the_gpu_raises_is_the_devices_error_and_the_cpu_does_its_tasks(raised, kind):
    def gpu(part):
        raise raised

    device = operation = f"made up for {raised!r}"
    with pytest.warns(be.FallbackWarning, match=kind):
        result = be.run(
            range(100), double, gpu, strategy="gpu-only", operation=operation, device=device
        )
    assert result.outputs == doubles(range(100))
    assert result.fallback_occurred and result.cpu_tasks == 100
    assert result.errors[0] is raised
    assert result.to_dict()["errors"][0]["kind"] == kind


@pytest.mark.parametrize("returned", [[1], None, 3, np.float64(1), "text", {0: 1}, {0}])
@pytest.mark.parametrize("batched", [False, True])
def test_what_is_no_output_per_task_is_one_wrong_result(returned, batched):
    calls, device = [], f"returns {returned!r}, {batched}"

    def gpu(part):
        calls.append(len(part))
        return returned

    cpu = doubles if batched else double
    with pytest.warns(be.FallbackWarning, match="wrong result: gpu returned .* tasks?; it must"):
        result = be.run(
            range(25), cpu, gpu, batched=batched, strategy="gpu-only", operation=device,
            device=device, batch_size=25 if batched else None,
        )
    assert result.outputs == doubles(range(25)) and len(calls) == 1
    [error] = result.errors
    assert isinstance(error, be.DeviceError) and error.kind == "wrong_result"


def test_the_gpu_functions_exception_has_its_place():
    def gpu(part):
        raise RuntimeError("odd")

    with pytest.warns(be.FallbackWarning, match=r"odd \(test_run.py:\d+\)$"):
        result = be.run(range(9), double, gpu, strategy="gpu-only", device="place")
    assert result.errors[0].__traceback__.tb_frame.f_code.co_name == "gpu"


@pytest.mark.parametrize("name", ["mended", None])
def test_a_mended_gpu_function_is_used_after_forget(name):
    def gpu(part):
        raise ImportError("not yet")

    options = dict(strategy="gpu-only", operation="mended", device="mended")
    with pytest.warns(be.FallbackWarning, match="not yet"):
        be.run(range(9), double, gpu, **options)
    be.forget(name)
    assert be.run(range(9), double, doubles, **options).gpu_tasks == 9


def test_a_deadline_that_passes_with_the_last_task_is_no_error():
    def slow(task):
        time.sleep(0.05)
        return task

    assert be.run([1], slow, deadline=0.01, workers=1).outputs == [1]
    assert be.run([1, 2], lambda part: slow(list(part)), batched=True, deadline=0.01).tasks == 2


def test_a_fallback_may_be_forbidden():
    def gpu(part):
        raise be.DeviceError("device_lost", "it is gone")

    with pytest.raises(be.DeviceError, match="it is gone") as caught:
        be.run(
            range(100), double, gpu,
            strategy="gpu-only", fallback="deny", device="lost", operation="denied",
        )
    assert caught.value.kind == "device_lost"
    assert isinstance(caught.value.__cause__, be.DeviceError)


def test_a_gpu_that_hangs_is_given_up():
    release = threading.Event()

    def gpu(part):
        release.wait(60)
        return doubles(part)

    began = time.monotonic()
    with pytest.warns(be.FallbackWarning, match="timeout"):
        result = be.run(
            range(10), double, gpu,
            strategy="gpu-only", timeout=0.2, device="hangs", operation="hangs",
        )
    release.set()
    assert result.outputs == doubles(range(10))
    assert time.monotonic() - began < 30


def test_outputs_of_a_gpu_are_held_against_the_cpus():
    def wrong(part):
        return [task * 2 + (task == 50) for task in part]

    with pytest.warns(be.FallbackWarning, match="wrong result"):
        result = be.run(
            range(100), double, wrong,
            strategy="gpu-only", check=1, device="wrong", operation="wrong",
        )
    assert result.outputs == doubles(range(100))
    rows = np.linspace(0, 1, 999)
    result = be.run(
        rows, np.sqrt, lambda part: np.sqrt(part).astype(np.float32),
        batched=True, strategy="gpu-only", check=0.5, operation="nearly",
    )
    assert result.gpu_tasks == 999 and result.to_dict()["checked"] > 0


def test_a_deadline_ends_the_batch():
    began = time.monotonic()
    with pytest.raises(be.DeadlineExceeded) as caught:
        be.run(range(10_000), lambda task: time.sleep(0.01), deadline=0.1)
    assert time.monotonic() - began < 20
    assert 0 <= caught.value.done < caught.value.tasks == 10_000
    assert isinstance(caught.value, TimeoutError)


def test_a_progress_function_is_reported_and_what_it_raises_ends_the_batch():
    reported = []
    be.run(range(30), lambda task: time.sleep(0.01), progress=lambda *at: reported.append(at))
    assert reported[-1] == (30, 30) and all(tasks == 30 for _, tasks in reported)

    def fails(done, tasks):
        raise LookupError("enough")

    done = []
    with pytest.raises(LookupError):
        be.run(range(5000), lambda task: time.sleep(0.01) or done.append(1), progress=fails)
    seen = len(done)
    time.sleep(0.1)
    assert len(done) == seen < 5000


def test_a_bar_is_drawn(capsys):
    pytest.importorskip("tqdm")
    be.run(range(10), lambda task: time.sleep(0.01), progress=True, operation="barred")
    assert "barred: 100%" in capsys.readouterr().err


def test_ctrl_c_ends_the_batch():
    program = """
        import os, signal, threading, time
        import breakeven as be
        # A shell's background jobs begin with it ignored.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        done = []
        def slow(task):
            time.sleep(0.02)
            done.append(task)
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        began = time.monotonic()
        try:
            be.run(range(100_000), slow)
        except KeyboardInterrupt:
            seen = len(done)
            time.sleep(0.2)
            assert seen == len(done) < 100_000
            print("interrupted", time.monotonic() - began < 30)
    """
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=60
    )
    assert (ran.stdout, ran.returncode) == ("interrupted True\n", 0), ran.stderr


def test_an_event_loop_goes_on_and_cancelling_cancels():
    async def goes_on():
        ticks = 0
        running = asyncio.ensure_future(be.run_async(range(20), lambda task: time.sleep(0.02)))
        while not running.done():
            await asyncio.sleep(0.005)
            ticks += 1
        return ticks, running.result().tasks

    ticks, tasks = asyncio.run(goes_on())
    assert ticks > 3 and tasks == 20

    async def cancelled():
        done = []

        def slow(task):
            time.sleep(0.01)
            done.append(task)

        running = asyncio.ensure_future(be.run_async(range(100_000), slow))
        await asyncio.sleep(0.1)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        seen = len(done)
        await asyncio.sleep(0.1)
        return seen == len(done)

    assert asyncio.run(cancelled())


def spin(task):
    """Holds the interpreter's lock for 2 ms."""
    end = time.perf_counter() + 0.002
    while time.perf_counter() < end:
        pass
    return task


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one core has one worker anyway")
@pytest.mark.skipif(
    hasattr(sys, "_is_gil_enabled") and not sys._is_gil_enabled(), reason="there is no lock"
)
def test_a_function_that_holds_the_lock_has_one_worker_and_others_have_all():
    def measured(function):
        """The median of three measurements: other programs may disturb any one, and delay it
        until the batch has ended."""
        found = []
        for name in ("a", "b", "c"):
            runs = (be.run(range(200), function, operation=name + function.__name__) for _ in range(9))
            found.append(next(run for run in runs if run.gil_held is not None))
        return sorted(found, key=lambda run: run.gil_held)[1]

    held = measured(spin)
    assert held.gil_held > 0.5 and held.workers == 1
    assert "held the interpreter's lock" in held.explain()
    assert be.run(range(100), spin, operation=held.operation).workers == 1

    def waits(task):
        time.sleep(0.002)

    free = measured(waits)
    assert free.gil_held < 0.5 and free.workers > 1
    asked = be.run(range(10), spin, workers=2)
    assert asked.workers == 2 and asked.gil_held is None
    # No more threads than tasks.
    assert be.run(range(3), spin, workers=10_000).workers <= max(4, os.cpu_count() or 1)


def in_which_process(task):
    return task, os.getpid()


def fails_in_a_process(task):
    raise ValueError(f"task {task}")


def test_a_function_may_run_in_processes():
    outputs = be.run(range(20), in_which_process, workers="processes").outputs
    assert [task for task, _ in outputs] == list(range(20))
    assert os.getpid() not in {process for _, process in outputs}
    with pytest.raises(be.TaskError) as caught:
        be.run(range(3), fails_in_a_process, workers="processes")
    assert isinstance(caught.value.__cause__, ValueError)
    with pytest.raises(be.InvalidError, match="top level"):
        be.run(range(3), lambda task: task, workers="processes")


def test_a_child_that_was_forked_has_threads_of_its_own():
    be.run(range(10), double)
    context = multiprocessing.get_context("fork")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        with context.Pool(1) as pool:
            outputs = pool.apply_async(_run_in_child).get(60)
    assert outputs == doubles(range(10))


def _run_in_child():
    return be.run(range(10), double).outputs


def test_batches_run_side_by_side_and_inside_each_other():
    outputs = {}

    def batch(number):
        outputs[number] = be.run(range(200), double, doubles, operation=f"batch {number}").outputs

    threads = [threading.Thread(target=batch, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert outputs == {number: doubles(range(200)) for number in range(8)}
    nested = be.run(range(4), lambda task: sum(be.run(range(task), double).outputs))
    assert nested.outputs == [0, 0, 2, 6]


@pytest.mark.parametrize(
    "options",
    [
        {"strategy": "both"},
        {"strategy": "hybrid:60/50"},
        {"workers": 0},
        {"workers": "fibres"},
        {"fallback": "perhaps"},
        {"fallback": 1.5},
        {"deadline": -1},
        {"timeout": float("nan")},
        {"workload": {"complexity": float("nan")}},
        {"workload": {"parallelization": 2.0}},
        {"workload": {"complex": 1}},
        {"check": 2},
        {"workers": True},
        {"batch_size": 3},
        {"batched": True, "batch_size": 0},
        {"batched": True, "return_exceptions": True},
    ],
)
def test_wrong_use_is_reported(options):
    with pytest.raises(be.InvalidError):
        be.run([1, 2], double, doubles, **options)


def test_what_cannot_be_called_is_reported():
    with pytest.raises(be.InvalidError, match="cpu"):
        be.run([1], 3)
    with pytest.raises(be.InvalidError, match="gpu"):
        be.run([1], double, 3)
    with pytest.raises(be.InvalidError, match="gpu"):
        asyncio.run(be.run_async([1], double, 3))
    with pytest.raises(TypeError, match="no_such"):
        asyncio.run(be.run_async([1], double, no_such=1))


def test_the_cost_model_is_learned_and_kept(tmp_path):
    costs = tmp_path / "costs.json"

    def slow(task):
        time.sleep(0.002)
        return task

    for _ in range(5):
        result = be.run(
            range(100), slow, lambda part: list(part), operation="learned", costs=costs,
            workload={"complexity": 1e6},
        )
    assert result.gpu_tasks > 90, result.explain()
    assert "why:" in result.explain() and "learned" in repr(result)
    assert result._repr_html_().startswith("<pre>")


def _script(tmp_path, text):
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(text))
    return subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60)


def test_processes_without_a_main_guard_say_what_to_do(tmp_path):
    ran = _script(
        tmp_path,
        """
        import breakeven as be
        be.run(range(10), abs, workers="processes")
        """,
    )
    assert "put the call under `if __name__ == '__main__':`" in ran.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
def test_a_second_ctrl_c_does_not_wait_and_has_one_traceback(tmp_path):
    ran = _script(
        tmp_path,
        """
        import os, signal, time
        import breakeven as be

        # A background job of a shell ignores it.
        signal.signal(signal.SIGINT, signal.default_int_handler)

        def gpu(part):
            for _ in range(2):
                time.sleep(0.5)
                os.kill(os.getpid(), signal.SIGINT)
            time.sleep(50)

        be.run(range(10), int, gpu, strategy="gpu-only")
        """,
    )
    assert ran.stderr.count("Traceback") == 1 and "KeyboardInterrupt" in ran.stderr
