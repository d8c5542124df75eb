"""`breakeven.ray`: real Ray, a cluster of three nodes on this machine."""

import contextlib
import os
import sys
import threading
import time

import numpy as np
import pytest

pytest.importorskip("ray", reason="UNTESTED: breakeven.ray, for Ray is not installed")
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
# Ray's workers give way to whatever else this machine does, unless asked not to.
os.environ.setdefault("RAY_worker_niceness", "0")

import ray
from ray.cluster_utils import Cluster

import breakeven as be
from breakeven.ray._spans import Free, Pace, Span

# The nodes do not have this file.
ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])

#: What the tests wait for at the most, seconds.
PATIENCE = 120


class Nodes:
    """The cluster, whose nodes know what they are called here."""

    def __init__(self, folder):
        self.folder = folder
        self.cluster = Cluster()
        self.add("head", num_cpus=1, include_dashboard=False)
        self.add("large", num_cpus=2)
        self.add("gpu", num_cpus=1, resources={"sim_gpu": 1})
        ray.init(address=self.cluster.address, log_to_driver=False)
        self.cluster.wait_for_nodes()

    def add(self, name, **resources):
        env = {"NODE": name, "BREAKEVEN_CACHE_DIR": str(self.folder / name)}
        memory = 100 << 20
        return self.cluster.add_node(object_store_memory=memory, env_vars=env, **resources)


@pytest.fixture(scope="module")
def nodes(tmp_path_factory):
    nodes = Nodes(tmp_path_factory.mktemp("nodes"))
    yield nodes
    ray.shutdown()
    nodes.cluster.shutdown()


def wait_for(file):
    until = time.monotonic() + PATIENCE
    while not file.exists() and time.monotonic() < until:
        time.sleep(0.01)


@contextlib.contextmanager
def victim(nodes, works):
    """A node that is killed when it has been at work for a while: `works` is there then."""
    node = nodes.add("victim", num_cpus=2)
    nodes.cluster.wait_for_nodes()

    def kill():
        wait_for(works)
        time.sleep(0.3)
        nodes.cluster.remove_node(node, allow_graceful=False)

    killer = threading.Thread(target=kill)
    killer.start()
    yield
    killer.join()


def where(task):
    time.sleep(0.002)
    return task, os.environ["NODE"]


def on_gpu(tasks):
    time.sleep(0.0002 * len(tasks))
    return [(task, "on " + os.environ["NODE"]) for task in tasks]


def test_each_node_decides_for_its_own_devices(nodes):
    count = 3000
    # The first batches measure, the others know.
    for _ in range(2):
        result = be.ray.run(
            range(count), where, on_gpu, gpu_resource="sim_gpu", workers="threads",
            operation="where",
        )
    assert [task for task, _ in result.outputs] == list(range(count))
    assert {node for _, node in result.outputs} == {"head", "large", "gpu", "on gpu"}
    shares = sorted(result.nodes.values(), key=lambda share: (share.gpu, share.cores))
    assert [(share.gpu, share.cores) for share in shares] == [(False, 1), (False, 2), (True, 1)]
    assert sum(share.tasks for share in shares) == count
    assert shares[0].gpu_tasks == shares[1].gpu_tasks == 0
    # Ten times as fast as a core, it has more than both others.
    assert shares[2].gpu_tasks == result.gpu_tasks > count / 3
    assert result.cpu_tasks + result.gpu_tasks == count and not result.fallback_occurred
    decided = {b["decision"]["strategy"] for b in result.batches if result.nodes[b["node"]].gpu}
    assert decided - {"cpu-only"}
    text = result.explain()
    assert "3 nodes" in text and "1 cores and a GPU" in text and "no GPU" in text
    # Where there is no GPU, there is nothing to decide and so nothing to keep.
    assert (nodes.folder / "gpu").exists()


def test_profiles_of_each_node_come_back(nodes, dataset, tmp_path):
    def work(task):
        with be.profile("inside"):
            time.sleep(0.002)
        return task

    sides = []
    for _ in range(2):
        result = be.ray.run(range(400), work, workers="threads", operation="recorded")
        assert result.profiles.keys() == result.nodes.keys()
        for name, profiles in result.profiles.items():
            (profile,) = map(be.Profile, profiles)
            inside = [each for each in profile.operations if each.name == "inside"]
            assert sum(each.calls for each in inside) == result.nodes[name].tasks
            assert profiles[0]["environment"]["host"] == name
        sides.append(result)
    name = next(iter(sides[0].profiles))
    comparison = be.compare(sides[0].profiles[name], sides[1].profiles[name])
    assert any(each.operation == "inside" for each in comparison.operations)
    paths = result.write_profiles(tmp_path)
    assert len(paths) == 3 and be.load(paths[0]).operations
    be.advise(paths[0], evidence=paths[1:])
    mapped = be.ray.map_batches(dataset, columns, operation="columns")
    mapped.materialize()
    profiles = [be.Profile(each) for all in be.ray.report(mapped).profiles.values() for each in all]
    of_it = [each for profile in profiles for each in profile.operations if each.name == "columns"]
    assert sum(each.calls for each in of_it) == 40


def test_a_node_that_dies_costs_neither_outputs_nor_order(nodes, tmp_path):
    def slowly(task):
        if os.environ["NODE"] == "victim":
            (tmp_path / "works").touch()
        time.sleep(0.003)
        return task

    with victim(nodes, tmp_path / "works"):
        result = be.ray.run(range(4000), slowly, workers="threads", deadline=PATIENCE)
    assert result.outputs == list(range(4000))
    # Every task has its output from one batch, whatever else was begun.
    spans = sorted((batch["start"], batch["tasks"]) for batch in result.batches)
    ends = [start + tasks for start, tasks in spans]
    assert [start for start, _ in spans] == [0, *ends[:-1]] and ends[-1] == 4000
    lost = [share for share in result.nodes.values() if share.lost]
    assert len(lost) == 1 and lost[0].cores == 2


def test_a_node_that_joins_takes_part(nodes, tmp_path):
    def slowly(task):
        (tmp_path / "works").touch()
        time.sleep(0.004)
        return os.environ["NODE"]

    results = []

    def run():
        results.append(be.ray.run(range(5000), slowly, workers="threads", deadline=PATIENCE))

    runner = threading.Thread(target=run)
    runner.start()
    wait_for(tmp_path / "works")
    late = nodes.add("late", num_cpus=2)
    runner.join()
    nodes.cluster.remove_node(late)
    (result,) = results
    assert set(result.outputs) >= {"late", "large"} and len(result.outputs) == 5000


def test_a_straggler_gets_little_and_holds_up_nothing(nodes):
    def work(task):
        time.sleep(0.03 if os.environ["NODE"] == "head" else 0.003)
        return task, os.environ["NODE"]

    result = be.ray.run(range(1500), work, workers="threads")
    assert [task for task, _ in result.outputs] == list(range(1500))
    slow = sum(node == "head" for _, node in result.outputs)
    # A third of the tasks would take it 15 s; all take the others 1.5 s.
    assert 0 < slow < 200 and result.execution_time < 10


def test_a_process_that_dies_is_replaced(nodes, tmp_path):
    def once(task):
        if task == 700 and not (tmp_path / "died").exists():
            (tmp_path / "died").touch()
            os._exit(1)
        return task

    result = be.ray.run(range(1000), once, deadline=PATIENCE)
    assert result.outputs == list(range(1000))
    assert sum(share.lost for share in result.nodes.values()) >= 1


def test_tasks_that_kill_every_process_are_named(nodes):
    def deadly(task):
        if task == 7:
            os._exit(1)
        return task

    with pytest.raises(be.ray.NodeLost, match="tasks .* were lost 2 times"):
        be.ray.run(range(10), deadly, retries=1, batch_size=10, num_cpus=1, deadline=PATIENCE)


def test_a_task_that_fails_is_named_with_its_place_in_the_whole(nodes):
    def fails(task):
        return 1 // (task - 900)

    with pytest.raises(be.TaskError) as caught:
        be.ray.run(range(1000), fails)
    assert caught.value.index == 900
    cause = caught.value.__cause__
    assert isinstance(cause, ZeroDivisionError)
    assert "in fails" in str(cause.__cause__) and "test_ray.py" in str(cause.__cause__)
    outputs = be.ray.run(range(899, 902), fails, return_exceptions=True).outputs
    assert outputs[0] == -1 and outputs[2] == 1
    assert outputs[1].index == 1 and isinstance(outputs[1].__cause__, ZeroDivisionError)


def test_a_gpu_that_fails_costs_time_and_is_reported(nodes):
    def gpu(tasks):
        raise be.DeviceError("device_lost", "made up")

    options = dict(gpu_resource="sim_gpu", strategy="gpu-only", operation="lost")
    with pytest.warns(be.FallbackWarning, match="made up"):
        result = be.ray.run(range(300), where, gpu, **options)
    assert [task for task, _ in result.outputs] == list(range(300))
    node = next(name for name, share in result.nodes.items() if share.gpu)
    assert result.errors[0]["node"] == node and result.errors[0]["kind"] == "device lost"
    # Other nodes have no GPU, which is what was asked for.
    assert result.nodes.keys() == {node} and result.nodes[node].fallback_tasks == 300
    # So many that the slowest process begins before the others are done.
    shared = be.ray.run(range(10_000), where, on_gpu, gpu_resource="sim_gpu", strategy="hybrid:50/50")
    assert len(shared.nodes) == 3 and shared.gpu_tasks and not shared.fallback_occurred


def test_arrays_are_sent_in_parts_and_come_back_as_one(nodes):
    rows = np.arange(300_000.0).reshape(-1, 3)
    result = be.ray.run(rows, lambda part: part.sum(axis=1), batched=True, operation="sums")
    np.testing.assert_array_equal(result.outputs, rows.sum(axis=1))
    result.outputs[0] = 1.0
    lists = be.ray.run(list(range(50)), lambda n: np.full(3, n), batch_size=7).outputs
    np.testing.assert_array_equal(lists, np.arange(50)[:, None] + np.zeros((1, 3), int))


def test_functions_of_the_main_program_run_in_processes(nodes):
    base = 10

    def local(task):
        return task + base, os.getpid()

    outputs = be.ray.run(range(40), local, workers="processes").outputs
    assert [value for value, _ in outputs] == list(range(10, 50))


def test_a_deadline_and_an_interrupt_end_the_batch(nodes):
    with pytest.raises(be.DeadlineExceeded, match="of 100000 tasks"):
        be.ray.run(range(100_000), where, deadline=3)

    def interrupt(done, tasks):
        if done:
            raise KeyboardInterrupt

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        be.ray.run(range(100_000), where, progress=interrupt)
    assert time.monotonic() - began < 30
    # Its cores are free again.
    assert be.ray.run(range(10), where, deadline=PATIENCE).tasks == 10


@pytest.mark.parametrize(
    "options, message",
    [
        ({"batch_size": 0}, "batch_size: 0"),
        ({"num_cpus": -1}, "num_cpus: -1"),
        ({"workers": "some"}, "workers: 'some'"),
        ({"deadline": -1}, "deadline: -1"),
    ],
)
def test_what_cannot_be_done_is_refused(nodes, options, message):
    with pytest.raises(be.InvalidError, match=message):
        be.ray.run([1], where, **options)


def test_what_is_no_option_is_refused(nodes):
    with pytest.raises(TypeError, match=r"ray.run\(\) got an unexpected .* 'worker'"):
        be.ray.run([1], where, worker=1)
    with pytest.raises(TypeError, match="dict is not a list"):
        be.ray.run({1: 2}, where)
    assert be.ray.run([], where).outputs == []


def simulate(rates, tasks, stalls=()):
    """Seconds that those take for these tasks, in virtual time, beside the best possible;
    ``stalls`` are ``(who, when, rate)`` from then on."""
    rates, free, now = dict(enumerate(rates)), Free(tasks), 0.0
    paces = {who: Pace(1) for who in rates}
    has, done = {}, []
    while len(done) < tasks:
        for stalled, when, rate in stalls:
            if now >= when:
                rates[stalled] = rate
        for who, pace in paces.items():
            if who not in has and len(free):
                others = [other for other in paces.values() if other is not pace]
                has[who] = free.take(pace.next(len(free), others, tasks)), now
        now += 0.001
        for who, (span, since) in list(has.items()):
            if (now - since) * rates[who] >= len(span):
                done.extend(range(span.start, span.stop))
                paces[who].done(len(span), now - since)
                del has[who]
        assert now < 1000, "nobody takes what is free"
    assert sorted(done) == list(range(tasks))
    return now


@pytest.mark.parametrize("rates", [[100], [100, 100], [1000, 100, 10], [2000, 3], [1, 1, 1]])
@pytest.mark.parametrize("seconds", [3, 20])
def test_everybody_ends_at_about_the_same_time(rates, seconds):
    tasks = int(seconds * sum(rates))
    # One task of the slowest is as long as that takes.
    assert simulate(rates, tasks) < seconds * 1.1 + 0.3 + 1 / min(rates)


def test_who_slows_down_gets_less():
    took = simulate([100, 100], 2000, stalls=[(0, 5.0, 5)])
    # 1000 by then, the rest by the other: ten seconds more. What the first had begun, half a
    # second's tasks, takes it as long.
    assert took < 5 + 10 + 2


def test_what_was_lost_comes_first_and_is_counted():
    free = Free(10)
    first = free.take(4)
    assert (first, len(free)) == (Span(0, 4), 6)
    free.give_back(Span(0, 4, 1))
    assert [free.take(3), free.take(3), free.take(9)] == [Span(0, 3, 1), Span(3, 4, 1), Span(4, 10)]
    assert len(free) == 0


ROWS = 40_000


def columns(batch):
    time.sleep(3e-5 * len(batch["id"]))
    return {"id": batch["id"], "node": np.full(len(batch["id"]), os.environ["NODE"])}


def columns_on_gpu(batch):
    time.sleep(0.001 + 1e-7 * len(batch["id"]))
    return {"id": batch["id"], "node": np.full(len(batch["id"]), "on " + os.environ["NODE"])}


@pytest.fixture
def dataset(nodes):
    ray.data.DataContext.get_current().enable_progress_bars = False
    return ray.data.range(ROWS, override_num_blocks=40)


def test_a_dataset_is_mapped_lazily_and_says_how(dataset):
    mapped = be.ray.map_batches(
        dataset, columns, columns_on_gpu, batch_size=1000, gpu_resource="sim_gpu"
    )
    assert be.ray.report(mapped).tasks == 0
    # The process of the GPU begins meanwhile, and then it is tried.
    for runs in range(1, 11):
        # What is made of the dataset has the GPU's process, too.
        table = mapped.filter(lambda row: row["id"] % 2 == 0).to_pandas()
        assert sorted(table["id"]) == list(range(0, ROWS, 2))
        report = be.ray.report(mapped)
        assert report.operation.startswith("test_ray.columns#") and report.tasks == runs * ROWS
        if report.gpu_tasks:
            break
    assert "on gpu" in set(table["node"])
    (gpu,) = [share for share in report.nodes.values() if share.gpu]
    assert report.gpu_tasks == gpu.gpu_tasks > 0 and not report.fallback_occurred
    assert all(batch["decision"]["candidates"] for batch in report.batches)
    assert "one core and no GPU" in report.explain()


@pytest.mark.parametrize("batch_format", ["pandas", "pyarrow"])
def test_batches_have_the_format_that_was_asked_for(dataset, batch_format):
    import pyarrow

    def cpu(batch):
        assert isinstance(batch, pyarrow.Table) == (batch_format == "pyarrow")
        yield batch
        yield batch

    # More than one core: parts of batches.
    mapped = be.ray.map_batches(dataset, cpu, batch_format=batch_format, num_cpus=2)
    assert mapped.count() == 2 * ROWS
    assert be.ray.report(mapped).batches[0]["tasks"] == 32


def test_a_class_is_made_once_for_each_worker(dataset):
    class Model:
        def __init__(self):
            self.calls = 0

        def __call__(self, batch):
            self.calls += 1
            return {"calls": np.full(1, self.calls)}

    calls = be.ray.map_batches(dataset, Model).to_pandas()["calls"]
    assert len(calls) == 40 and calls.max() > 5


def test_what_a_gpu_fails_at_rows_are_done_by_the_cpu(dataset):
    def gpu(batch):
        raise MemoryError("made up")

    mapped = be.ray.map_batches(
        dataset, columns, gpu, batch_size=1000, gpu_resource="sim_gpu",
        strategy="gpu-only", operation="fails",
    )
    assert sorted(mapped.to_pandas()["id"]) == list(range(ROWS))
    report = be.ray.report(mapped)
    assert report.fallback_occurred and report.gpu_tasks == 0
    assert {error["kind"] for error in report.errors} & {"out of memory", "never fits"}


def test_stages_share_a_gpu_and_a_process_of_it_that_dies_is_replaced(dataset, tmp_path):
    def dies(batch):
        if not (tmp_path / "died").exists():
            (tmp_path / "died").touch()
            os._exit(1)
        time.sleep(0.001)
        return batch

    def slow(batch):
        time.sleep(2e-5 * len(batch["id"]))
        return batch

    options = dict(batch_size=1000, gpu_resource="sim_gpu")
    first = be.ray.map_batches(
        dataset, slow, dies, operation="first", strategy="gpu-only", **options
    )
    second = be.ray.map_batches(first, slow, on_gpu_twice, operation="second", **options)
    table = second.to_pandas()
    assert sorted(table["id"]) == list(range(ROWS))
    reports = [be.ray.report(mapped) for mapped in (first, second)]
    assert all(report.tasks == ROWS for report in reports)
    assert "device lost" in {error["kind"] for error in reports[0].errors}


def on_gpu_twice(batch):
    time.sleep(0.001)
    return batch


def test_what_the_function_raises_is_raised_as_by_ray(dataset):
    def fails(batch):
        raise KeyError("seven")

    with pytest.raises(KeyError, match="seven"):
        be.ray.map_batches(dataset, fails, num_cpus=2).materialize()


def test_options_that_are_no_datasets_are_refused(dataset):
    with pytest.raises(be.InvalidError, match="return_exceptions: not for the batches"):
        be.ray.map_batches(dataset, columns, return_exceptions=True)
    with pytest.raises(be.InvalidError, match="workers: not for the batches"):
        be.ray.map_batches(dataset, columns, workers="processes")
    with pytest.raises(be.InvalidError, match="knows nothing of it"):
        be.ray.report(dataset)
    with pytest.raises(be.InvalidError, match="cpu: 3; give a function"):
        be.ray.map_batches(dataset, 3)


def test_a_dataset_survives_a_node(nodes, dataset, tmp_path):
    def slowly(batch):
        if os.environ["NODE"] == "victim":
            (tmp_path / "works").touch()
        time.sleep(0.2)
        return batch

    with victim(nodes, tmp_path / "works"):
        ids = be.ray.map_batches(dataset, slowly, batch_size=500).to_pandas()["id"]
    assert sorted(ids) == list(range(ROWS))
