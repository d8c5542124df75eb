"""Recording: blocks, functions, coroutines, threads, and what cannot be recorded."""

from __future__ import annotations

import asyncio
import inspect
import json
import subprocess
import sys
import threading
import time
from typing import Any, Iterator

import pytest

import breakeven as be


def by_name(profiler: be.Profiler) -> "dict[str, be.Operation]":
    return {each.name: each for each in profiler.snapshot().operations}


def test_a_block_is_recorded_with_what_it_was_given(profiler: be.Profiler) -> None:
    for _ in range(3):
        with be.profile("decode", bytes=100, items=2, device="cuda:0", size=64, path="x") as call:
            call.flops(1000)
            call.attribute("ratio", 0.5)
            call.gpu_use(0.25)
            call.memory_bytes(4096)
            time.sleep(0.002)
    decode = by_name(profiler)["decode"]
    assert (decode.calls, decode.device, decode.size) == (3, "cuda:0", 64)
    assert (decode.bytes, decode.items, decode.flops) == (100, 2, 1000)
    assert decode.attributes == {"path": "x", "ratio": 0.5}
    assert (decode.gpu_use, decode.memory_bytes) == (0.25, 4096)
    assert decode.min_ns is not None and 2e6 <= decode.min_ns < 5e9
    assert len(decode.samples_ns[0]) == 3


def test_blocks_nest_and_their_own_times_add_up(profiler: be.Profiler) -> None:
    with be.profile("outer"):
        with be.profile("inner"):
            time.sleep(0.02)
    operations = by_name(profiler)
    outer, inner = operations["outer"], operations["inner"]
    assert outer.own_ns <= outer.total_ns - inner.total_ns + 1e3
    assert inner.own_ns == inner.total_ns >= 2e7


def test_a_block_that_raises_is_recorded_and_raises(profiler: be.Profiler) -> None:
    with pytest.raises(ZeroDivisionError):
        with be.profile("raises"):
            1 / 0
    assert by_name(profiler)["raises"].calls == 1


def test_functions_methods_and_their_names(profiler: be.Profiler) -> None:
    class Codec:
        @be.profile
        def decode(self, n: int) -> int:
            """Decodes."""
            return n + 1

        @be.profile("packed", device="cuda:0")
        def pack(self) -> int:
            return 2

        @be.profile(bytes=7)
        def unpack(self) -> int:
            return 3

        @be.profile
        @staticmethod
        def fixed() -> int:
            return 4

    codec = Codec()
    assert (codec.decode(1), codec.pack(), codec.unpack(), codec.fixed()) == (2, 2, 3, 4)
    assert Codec.decode.__doc__ == "Decodes." and Codec.decode.__name__ == "decode"
    operations = by_name(profiler)
    own = "test_functions_methods_and_their_names.Codec."
    assert set(operations) == {own + "decode", "packed", own + "unpack", own + "fixed"}
    assert operations["packed"].device == "cuda:0"
    assert operations[own + "unpack"].bytes == 7


def test_a_coroutine_is_one_call_and_its_waiting_is_not_its_own(profiler: be.Profiler) -> None:
    @be.profile("fetch", items=1)
    async def fetch(value: int) -> int:
        await asyncio.sleep(0.03)
        return value

    async def main() -> Any:
        return await asyncio.gather(fetch(1), fetch(2), fetch(3))

    assert inspect.iscoroutinefunction(fetch)
    assert asyncio.run(main()) == [1, 2, 3]
    found = by_name(profiler)["fetch"]
    assert found.calls == 3 and found.items == 1
    assert found.min_ns is not None and found.min_ns >= 2.5e7
    assert found.own_ns < found.total_ns / 2
    assert profiler.losses()["misnested"] == 0


def test_a_cancelled_coroutine_ends(profiler: be.Profiler) -> None:
    ended = []

    @be.profile("cancelled")
    async def wait() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(True)

    async def main() -> None:
        task = asyncio.ensure_future(wait())
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert ended == [True]
    assert by_name(profiler)["cancelled"].calls == 1


def test_generators_send_throw_return_and_close(profiler: be.Profiler) -> None:
    @be.profile("generated")
    def generate() -> Any:
        got = yield 1
        try:
            yield got
        except KeyError:
            yield "caught"
        return "done"

    generator = generate()
    assert [next(generator), generator.send("sent")] == [1, "sent"]
    assert generator.throw(KeyError("x")) == "caught"
    with pytest.raises(StopIteration) as stopped:
        next(generator)
    assert stopped.value.value == "done"
    generator = generate()
    next(generator)
    generator.close()
    assert by_name(profiler)["generated"].calls == 2


def test_a_generator_may_move_between_threads(profiler: be.Profiler) -> None:
    @be.profile("moves")
    def generate() -> Iterator[int]:
        yield 1
        yield 2

    generator, got = generate(), []
    for _ in range(2):
        thread = threading.Thread(target=lambda: got.append(next(generator)))
        thread.start()
        thread.join()
    assert list(generator) == [] and got == [1, 2]
    assert by_name(profiler)["moves"].calls == 1


def test_a_block_that_ends_on_another_thread_is_not_recorded_and_says_so(
    profiler: be.Profiler,
) -> None:
    before = profiler.losses()["elsewhere"]
    began, end = threading.Event(), threading.Event()
    block = be.profile("moved")

    def begin() -> None:
        block.__enter__()
        began.set()
        end.wait(60)
        with be.profile("after it"):
            pass

    thread = threading.Thread(target=begin)
    thread.start()
    assert began.wait(60)
    with pytest.warns(RuntimeWarning, match="another thread"):
        block.__exit__(None, None, None)
    end.set()
    thread.join()
    snapshot = profiler.snapshot()
    assert [each.name for each in snapshot.operations] == ["after it"]
    # What the thread does later is not inside it.
    assert [stack["frames"] for stack in snapshot.to_dict()["stacks"]] == [["after it"]]
    assert profiler.losses()["elsewhere"] == before + 1


def test_tasks_of_one_thread_that_take_turns_keep_their_times(profiler: be.Profiler) -> None:
    async def task(name: str, wait: float) -> None:
        with be.profile(name):
            await asyncio.sleep(wait)

    async def main() -> None:
        await asyncio.gather(task("short", 0.01), task("long", 0.05))

    asyncio.run(main())
    operations = by_name(profiler)
    assert operations["short"].calls == operations["long"].calls == 1
    assert operations["short"].total_ns >= 9e6 and operations["long"].total_ns >= 4.5e7


def test_one_block_kept_nests_in_itself_and_serves_threads(profiler: be.Profiler) -> None:
    kept = be.profile("kept")

    def work() -> None:
        for _ in range(200):
            with kept:
                with kept:
                    pass

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert by_name(profiler)["kept"].calls == 1600


def test_off_records_nothing_and_the_handle_says_so(profiler: be.Profiler) -> None:
    assert profiler.enabled and repr(profiler) == "<breakeven.Profiler, on>"
    off = be.get_profiler(False)
    with off.profile("unseen"):
        pass
    assert not off.enabled and len(off.snapshot()) == 0
    off.enabled = True
    with off.profile("seen"):
        pass
    assert list(by_name(off)) == ["seen"]


def test_reset_forgets_and_an_open_block_is_not_recorded(profiler: be.Profiler) -> None:
    with be.profile("before"):
        pass
    with be.profile("open"):
        profiler.reset()
    with be.profile("after"):
        pass
    assert list(by_name(profiler)) == ["after"]


def test_export_writes_a_profile_and_nothing_is_an_error(
    profiler: be.Profiler, tmp_path: Any
) -> None:
    path = tmp_path / "profile.json"
    with pytest.raises(be.RecordingError, match="nothing was recorded"):
        profiler.export_json(path)
    assert not path.exists()
    with be.profile("decode"):
        pass
    profiler.export_json(path)
    assert json.loads(path.read_text())["format"] == "breakeven-profile"
    assert [each.name for each in be.load(path).operations] == ["decode"]
    with pytest.raises(be.FileError, match="no such folder"):
        profiler.export_json(tmp_path / "no such folder" / "profile.json")


def test_a_timeline_has_single_calls(profiler: be.Profiler) -> None:
    profiler.timeline(64)
    try:
        for _ in range(3):
            with be.profile("tick"):
                pass
        events = profiler.snapshot().to_dict()["timeline"]["events"]
    finally:
        profiler.timeline(0)
    assert len(events) == 3


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (lambda: be.profile("a", "b"), TypeError, "one name or function"),  # type: ignore
        (lambda: be.profile("a", bytes=1.5), be.InvalidError, "bytes: 1.5"),  # type: ignore
        (lambda: be.profile("a", bytes=-1), be.InvalidError, "bytes: -1; give"),
        (lambda: be.profile("a", path=object()), TypeError, "path: an attribute is"),  # type: ignore
        (lambda: be.profile(3), TypeError, "not 3"),  # type: ignore
        (lambda: be.profile().__enter__(), TypeError, "no name"),
        (lambda: be.profile("a").bytes(3), RuntimeError, "not open"),
        (lambda: be.profile("a").__exit__(None, None, None), RuntimeError, "has not begun"),
    ],
)
def test_wrong_use_is_a_typed_error(wrong: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        wrong()


def test_a_function_costs_a_fraction_while_recording_is_off(profiler: be.Profiler) -> None:
    """A generous bound, for a loaded machine; `benches/guard.py` has the figure."""
    function = be.profile(lambda: None)

    def taken(on: bool) -> int:
        be.get_profiler(on)
        start = time.perf_counter_ns()
        for _ in range(1000):
            function()
        return time.perf_counter_ns() - start

    turns = [(taken(False), taken(True)) for _ in range(100)]
    assert min(off for off, _ in turns) < 0.5 * min(on for _, on in turns)


def test_an_asynchronous_generator_says_what_to_do() -> None:
    with pytest.raises(TypeError, match="put `with breakeven.profile"):

        @be.profile
        async def generate() -> Any:
            yield 1


def test_any_text_is_a_name(profiler: be.Profiler) -> None:
    for name in ("", "µ" * 3000, "a\x00b", "\x1b[31m"):
        with be.profile(name):
            pass
    assert profiler.snapshot().operations[0].name == "(unnamed)"
    with pytest.raises(UnicodeEncodeError):
        be.profile("\ud800")


def test_importing_needs_neither_pandas_nor_a_gpu_library() -> None:
    code = (
        "import sys, breakeven; "
        "assert not {'pandas', 'pytest', 'IPython'} & set(sys.modules); "
        "maps = open('/proc/self/maps').read() if sys.platform == 'linux' else ''; "
        "assert 'vulkan' not in maps and 'libcuda' not in maps"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_a_guard_costs_little() -> None:
    """A generous bound, for a loaded machine; `benches/guard.py` has the figure."""
    kept = []
    for _ in range(30):
        start = time.perf_counter_ns()
        for _ in range(1000):
            with be.profile("cheap", bytes=1):
                pass
        kept.append((time.perf_counter_ns() - start) / 1000)
    assert min(kept) < 10_000


def test_the_handle_alone_switches_nothing(profiler: be.Profiler) -> None:
    be.get_profiler(False)
    assert not be.get_profiler().enabled
    be.get_profiler(True)
    assert be.get_profiler().enabled


def test_a_block_made_while_recording_is_off_records_once_it_is_on(profiler: be.Profiler) -> None:
    be.get_profiler(False)
    block = be.profile("made off", bytes=3)

    @be.profile("decorated off")
    def function() -> None:
        pass

    with block:
        block.items(1)
        be.get_profiler(True)
    with block:
        function()
    found = {operation.name: operation.calls for operation in profiler.snapshot().operations}
    assert found == {"made off": 1, "decorated off": 1}


def test_a_block_waits_for_its_device(profiler: be.Profiler) -> None:
    calls = []
    with be.profile("kernel", device="cuda:0", sync=lambda: calls.append(1)):
        assert calls == [1]
    assert calls == [1, 1]
    with pytest.raises(TypeError, match="torch.cuda.synchronize"):
        be.profile("kernel", sync=3)  # type: ignore[call-overload]


def test_a_class_is_no_function() -> None:
    class Model:
        pass

    with pytest.raises(TypeError, match="not <class .*Model"):
        be.profile(Model)
