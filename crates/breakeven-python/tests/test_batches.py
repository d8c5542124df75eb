"""`breakeven.run` with the functions and the inputs that people have."""

import collections
import contextvars
import functools
import pickle
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import breakeven as be

from conftest import operation, profile


def counted(function):
    """The function, and the sizes of the parts that it got."""
    sizes = []

    @functools.wraps(function)
    def call(part):
        sizes.append(len(part))
        return function(part)

    return call, sizes


def test_the_first_batch_is_one_call_on_the_callers_thread():
    threads = []

    def function(rows):
        threads.append(threading.get_ident())
        return rows * 2

    function, sizes = counted(function)
    rows = np.arange(10_000.0)
    result = be.run(rows, function, batched=True)
    assert sizes == [10_000] and threads == [threading.get_ident()]
    assert (result.tasks, result.cpu_tasks, result.workers) == (10_000, 10_000, 1)
    np.testing.assert_array_equal(result.outputs, rows * 2)


def test_a_function_that_parts_do_not_help_gets_one_call_in_the_end():
    lock = threading.Lock()

    def function(rows):
        with lock:
            time.sleep(0.005)
        return rows

    function, sizes = counted(function)
    rows = np.arange(1000.0)
    for _ in range(7):
        be.run(rows, function, batched=True, operation="parts do not help")
    assert sizes[-1] == 1000
    result = be.run(rows, function, batched=True, operation="parts do not help")
    assert "as one call" in result.explain() and result.workers == 1


def test_a_first_call_that_is_slow_does_not_decide():
    lock = threading.Lock()

    def function(rows):
        with lock:
            time.sleep(0.1 if len(sizes) == 1 else 0.02)
        return rows

    function, sizes = counted(function)
    rows = np.arange(1000.0)
    for _ in range(7):
        be.run(rows, function, batched=True, operation="slow at first")
    assert sizes[-1] == 1000


@pytest.mark.skipif(be._run.os.cpu_count() < 2, reason="one core")
def test_a_function_that_parts_help_gets_one_for_each_worker():
    def function(rows):
        time.sleep(len(rows) * 5e-5)  # Long compared with what other programs delay.
        return rows

    function, sizes = counted(function)
    rows = np.arange(4000.0)
    for _ in range(8):
        result = be.run(rows, function, batched=True, operation="parts help")
    assert sizes[-1] == sizes[-2] == -(-4000 // result.workers)
    be.forget("parts help")
    be.run(rows, function, batched=True, operation="parts help")
    assert sizes[-1] == 4000


def test_batch_size_and_min_batch_bound_a_call():
    function, sizes = counted(lambda rows: rows + 1)
    rows = np.arange(1000)
    for gpu in (None, lambda rows: rows + 1):
        outputs = be.run(
            rows, function, gpu, batched=True, batch_size=100, device="bounded"
        ).outputs
        np.testing.assert_array_equal(outputs, rows + 1)
    assert max(sizes) <= 100
    sizes.clear()
    be.run(rows, function, batched=True, min_batch=800, workers=2)
    assert sorted(sizes) == [200, 800]


def test_large_items_of_a_list_reach_the_gpu_in_the_first_call():
    images = [np.zeros(65_536) for _ in range(100)]

    def cpu(image):
        time.sleep(0.01)
        return 0.0

    result = be.run(images, cpu, lambda part: [0.0] * len(part), device="large items")
    assert result.gpu_tasks > 50


def test_tasks_of_unknown_size_are_measured():
    def cpu(path):
        time.sleep(0.01)
        return path

    names = [f"{number}.png" for number in range(60)]
    result = be.run(names, cpu, lambda part: list(part), device="unknown sizes")
    assert result.outputs == names and result.gpu_tasks > 20


def test_one_functions_mistake_leaves_the_gpu_to_others():
    def wrong(part):
        raise KeyError("a mistake in the program")

    for operation in ("one", "two", "three"):
        with pytest.warns(be.FallbackWarning):
            be.run(
                range(100), lambda task: task, wrong, operation=operation, strategy="gpu-only",
                device="shared by all",
            )
    result = be.run(
        range(100), lambda task: task, lambda part: list(part), operation="right",
        strategy="gpu-only", device="shared by all",
    )
    assert result.gpu_tasks == 100


@pytest.mark.parametrize("raised", [KeyboardInterrupt, SystemExit])
def test_what_ends_a_program_reaches_the_caller(raised):
    def ends(part):
        raise raised

    with pytest.raises(raised):
        be.run(range(100), lambda task: task, ends, strategy="gpu-only", device="ends")
    for workers in (None, 2):
        with pytest.raises(raised):
            be.run(range(100), ends, workers=workers)


def test_a_coroutine_is_no_result():
    async def gpu(part):
        return part

    with pytest.warns(be.FallbackWarning, match="gpu returned a coroutine"):
        be.run(
            [1], lambda task: task, lambda part: gpu(part), strategy="gpu-only", device="coroutine"
        )


def test_functions_that_differ_have_names_that_differ():
    name = be._run._name
    assert name(lambda task: task + 1) != name(lambda task: task + 2)
    assert name(lambda task: [task + i for i in (1, 2)]) != name(
        lambda task: [task - i for i in (1, 2)]
    )

    def function(task):
        return task in {"a", "b", "c"}

    first = name(function)
    assert name(functools.partial(function)) == first
    script = "def f(x): return x in {'a', 'b', 'c', 'd'}\nimport breakeven as be"
    script += "\nprint(be._run._name(f))"
    seen = {
        subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True,
            env={**be._run.os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(seen) == 1 and seen.pop().startswith("f#")


VARIABLE = contextvars.ContextVar("VARIABLE", default="nobody's")


@pytest.mark.parametrize("workers", [None, 2])
def test_functions_see_the_callers_context(workers):
    VARIABLE.set("the caller's")
    with np.errstate(divide="raise"):
        seen = be.run(
            range(20), lambda task: (VARIABLE.get(), np.geterr()["divide"]), workers=workers
        ).outputs
        by_gpu = be.run(
            range(20), lambda task: 0, lambda part: [VARIABLE.get()] * len(part),
            strategy="gpu-only", device="context",
        ).outputs
    assert set(seen) == {("the caller's", "raise")}
    assert set(by_gpu) == {"the caller's"}


def test_torch_keeps_no_gradients_where_the_caller_wants_none():
    torch = pytest.importorskip("torch")
    model = torch.nn.Linear(4, 2)
    with torch.no_grad():
        outputs = be.run(torch.ones(100, 4), model, batched=True, workers=2).outputs
    assert outputs.shape == (100, 2) and not outputs.requires_grad


def test_the_lowest_index_is_named():
    def fails(task):
        time.sleep(0.0005 if task < 50 else 0)
        if task in (20, 90):
            raise ValueError(task)
        return task

    for _ in range(5):
        with pytest.raises(be.TaskError) as caught:
            be.run(range(100), fails, workers=2)
        assert caught.value.index == 20


def test_a_part_that_fails_is_named_with_its_bounds():
    def fails(part):
        if 250 in part:
            raise ValueError("bad row")
        return part

    with pytest.raises(be.TaskError, match="tasks 200 to 299: ValueError: bad row") as caught:
        be.run(np.arange(1000), fails, batched=True, batch_size=100)
    assert (caught.value.index, caught.value.end) == (200, 300)


def test_what_comes_out_does_not_depend_on_where_a_task_ran():
    rows = np.arange(1000.0)
    with pytest.raises(be.InvalidError, match="float32.*float64"):
        be.run(
            rows, lambda part: part, lambda part: part.astype(np.float32), batched=True,
            strategy="hybrid:50/50", device="another dtype",
        )
    outputs = be.run(
        list(range(100)), lambda task: float(task), lambda part: np.array(part, float),
        strategy="hybrid:50/50", device="one type",
    ).outputs
    assert {type(output) for output in outputs} == {float}
    for strategy in ("cpu-only", "gpu-only"):
        outputs = be.run(
            list(range(100)), np.float64, lambda part: np.array(part, float), strategy=strategy,
            device="one type",
        ).outputs
        assert {type(output) for output in outputs} == {float}
    with pytest.raises(be.InvalidError, match="float.*str"):
        be.run(
            list(range(100)), lambda task: float(task), lambda part: [str(x) for x in part],
            strategy="hybrid:50/50", device="two types",
        )


def test_arrays_are_of_the_tasks_library_wherever_they_ran():
    torch = pytest.importorskip("torch")
    rows = np.ones((100, 3), np.float32)
    for strategy in ("gpu-only", "cpu-only", "hybrid:50/50"):
        outputs = be.run(
            rows, lambda part: part * 2, lambda part: torch.from_numpy(part) * 2, batched=True,
            strategy=strategy, device="library",
        ).outputs
        assert isinstance(outputs, np.ndarray) and outputs.dtype == np.float32


def test_processes_take_a_function_from_where_no_gradients_are_kept():
    torch = pytest.importorskip("torch")
    with torch.no_grad():
        assert be.run(range(10), square, workers="processes").outputs[3] == 9


def test_a_batch_without_items_gives_an_array_without_items():
    outputs = be.run(np.zeros((0, 3), np.float32), lambda rows: rows.sum(axis=1), batched=True)
    assert outputs.outputs.shape == (0,) and outputs.outputs.dtype == np.float32
    assert be.run([], lambda rows: 1 / 0, batched=True).outputs == []


def test_a_call_writes_no_file(tmp_path, monkeypatch):
    monkeypatch.setenv("BREAKEVEN_CACHE_DIR", str(tmp_path / "none"))
    script = """
        import os, breakeven as be
        be.run(range(10), lambda task: task)
        be.run(list(range(10)), lambda part: part, batched=True)
        assert not os.path.exists(os.environ["BREAKEVEN_CACHE_DIR"])
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=True)


class Dataset:
    """As PyTorch's: indexed by numbers."""

    def __len__(self):
        return 30

    def __getitem__(self, index):
        return index * 2


@pytest.mark.parametrize(
    "made",
    [lambda: collections.deque(range(0, 60, 2)), lambda: (n * 2 for n in range(30)), Dataset],
)
@pytest.mark.parametrize("batched", [False, True])
def test_whatever_is_indexed_or_iterated_is_taken(made, batched):
    function = list if batched else int
    outputs = be.run(made(), function, batched=batched, workers=2).outputs
    assert outputs == list(range(0, 60, 2))


def test_a_data_frame_is_taken_in_blocks_of_rows():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": range(100), "b": range(100)}, index=range(100, 0, -1))
    outputs = be.run(frame, lambda rows: rows.a + rows.b, batched=True, workers=2).outputs
    pandas.testing.assert_series_equal(outputs, frame.a + frame.b)
    with pytest.raises(TypeError, match="batched=True"):
        be.run(frame, lambda row: row)


@pytest.mark.parametrize("of_numpy", [False, True])
def test_a_table_and_an_array_are_not_joined(of_numpy):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": range(100)})
    tasks = frame.a.to_numpy() if of_numpy else frame
    for kind in (pandas.Series, pandas.DataFrame):
        def series(rows):
            return kind(np.asarray(rows).ravel())

        with pytest.raises(be.InvalidError, match="numpy of int64, pandas"):
            be.run(
                tasks, series, lambda rows: np.asarray(rows).ravel(), batched=True,
                strategy="hybrid:50/50", operation="mixes", device="mixes",
            )


def test_tables_of_polars_and_arrow_are_taken_in_blocks_of_rows():
    polars, arrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    frame = polars.DataFrame({"a": range(100)})
    table = arrow.table({"a": range(100)})
    for given in (frame, table):
        outputs = be.run(given, lambda rows: rows, batched=True, workers=2).outputs
        assert outputs.equals(given)
        with pytest.raises(TypeError, match="batched=True"):
            be.run(given, lambda row: row)


def square(task):
    if task == 77:
        raise ValueError("seventy-seven")
    return task * task


def test_processes_name_the_task_that_failed():
    with pytest.raises(be.TaskError, match="seventy-seven") as caught:
        be.run(range(100), square, workers="processes")
    assert caught.value.index == 77 and isinstance(caught.value.__cause__, ValueError)
    outputs = be.run(range(100), square, workers="processes", return_exceptions=True).outputs
    assert outputs[76] == 76 * 76 and outputs[77].index == 77


def test_profiles_comparisons_and_operators_pickle():
    def again(value):
        return pickle.loads(pickle.dumps(value))

    runs = [profile(operation("a", [[base] * 9])) for base in (100.0, 101.0, 99.0, 100.5)]
    assert again(be._profile.Profile(runs[0])).to_dict() == be._profile.Profile(runs[0]).to_dict()
    comparison = be.compare(runs, runs[::-1])
    comparison.gate()
    assert again(comparison).to_dict() == comparison.to_dict()
    image = np.full((1, 8, 8), 0.5, np.float32)
    edges = be.operators.conv2d([[1, 0, -1]] * 3, padding=1)
    chain = be.operators.chain(edges, be.operators.pixel_entropy(window=3))
    np.testing.assert_array_equal(again(chain)(image), chain(image))
    frame = comparison.to_pandas() if "pandas" in sys.modules else None
    assert frame is None or {"interval_low", "interval_high"} <= set(frame.columns)


@pytest.mark.parametrize(
    "wrong",
    [
        {"operation": 3},
        {"device": 3},
        {"tolerance": 3},
        {"workload": {"memory_per_task": -1}},
        {"workload": {"memory_per_task": 1 << 70}},
    ],
)
def test_wrong_options_say_what_to_give(wrong):
    name = next(iter(wrong))
    with pytest.raises(be.InvalidError, match=f"{name}: .*; give"):
        be.run([1, 2], square, list, **wrong)


def test_an_explanation_counts_items_not_calls():
    rows = np.arange(1000.0)
    result = be.run(rows, lambda part: part, batched=True)
    assert "1 000 tasks in 1 span" in result.explain() and "1 task " not in result.explain()
    both = be.run(
        rows, lambda part: part, lambda part: part, batched=True, min_batch=100,
        strategy="hybrid:50/50", device="blocks",
    )
    assert f"blocks: {both.gpu_tasks} tasks" in both.explain()

    def fails(part):
        raise RuntimeError("odd")

    with pytest.warns(be.FallbackWarning, match="the CPU did 1000 of 1000 tasks"):
        result = be.run(
            rows, lambda part: part, fails, batched=True, batch_size=50, strategy="gpu-only",
            device="fails",
        )
    assert "fallback: 1 000 tasks (100.0 %)" in result.explain()


def test_an_explanation_says_an_error_once_and_what_each_side_did():
    def halved(part):
        if len(part) > 10:
            raise MemoryError("too many")
        return part

    result = be.run(range(1000), int, halved, strategy="gpu-only", device="halves all")
    assert result.explain().count("too many") == 1 and "times" in result.explain()
    ten = be.run(range(10), int, list, strategy="hybrid:99/1", device="ten")
    assert "cpu: no tasks" in ten.explain() and "ten: 10 tasks" in ten.explain()


def test_more_tasks_than_a_batch_can_have_are_refused() -> None:
    with pytest.raises(be.InvalidError, match="is the most"):
        be.run(range(2**61), str)


def test_what_is_no_list_of_tasks_or_outputs_is_named() -> None:
    with pytest.raises(TypeError, match="int is not a list of tasks"):
        be.run(5, str)
    with pytest.raises(be.TaskError, match="cpu returned a float64 for 9 tasks; it must return"):
        be.run(np.ones((9, 2)), lambda rows: rows.sum(), batched=True)


def test_a_batch_is_recorded_under_the_number_of_its_items(profiler: be.Profiler) -> None:
    for rows in (2_000, 20_000):
        be.run(np.ones((rows, 2)), lambda x: x.sum(axis=1), batched=True, operation="rowwise")
    recorded = profiler.snapshot().operations
    sizes = {each.size for each in recorded if each.name == "rowwise"}
    assert sizes == {2_000, 20_000}
