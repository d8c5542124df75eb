"""The size from which a GPU function pays."""

import math
import time

import numpy as np
import pytest

import breakeven as be


def spin(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def sweep(cpu, gpu, **options):
    return be.sweep(cpu, gpu, make=lambda n: n, time_limit=2, **options)


def test_a_known_size_is_found():
    swept = sweep(lambda n: spin(n * 1e-7), lambda _: spin(1e-3), sizes=[1_000, 4_000, 16_000, 64_000])
    assert 5_000 < swept.size < 20_000
    low, high = swept.interval
    assert math.floor(low) <= swept.constant <= math.ceil(high)
    assert isinstance(swept.constant, int)
    assert "gpu pays from size" in str(swept)
    operations = swept.profile().operations
    assert {each.device for each in operations} == {"cpu", "gpu"}
    assert all("test_a_known_size" in each.name for each in operations)


def test_never_and_always():
    sizes = [10, 100, 1_000]
    never = sweep(lambda n: None, lambda n: spin(1e-4), sizes=sizes)
    assert (never.size, never.interval, never.constant) == (None, None, math.inf)
    sizes = np.array(sizes)
    always = sweep(lambda n: spin(1e-4), lambda n: None, sizes=sizes, name="f")
    assert (always.size, always.constant) == (None, 0)
    assert always.profile().operations[0].name == "f"


def test_a_size_that_fails_is_a_failure():
    def gpu(n):
        if n > 1_000:
            raise MemoryError("8 GB")
        spin(1e-4)

    swept = sweep(lambda n: spin(n * 1e-7), gpu, sizes=[10, 100, 1_000, 10_000])
    assert "gpu failed at size 10 000: out of memory" in str(swept)
    failed = [each for each in swept.profile().operations if each.failure]
    assert [(each.size, each.device) for each in failed] == [(10_000, "gpu")]


def test_what_cannot_be_measured_raises():
    def broken(n):
        raise KeyError("nothing")

    with pytest.raises(KeyError, match="nothing"):
        sweep(broken, lambda n: None, sizes=[10, 100])

    def interrupted(n):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep(lambda n: None, interrupted, sizes=[10, 100])


def test_wrong_use():
    for sizes, text in [
        ([0], "sizes: 0; give"), ([1.5], "sizes: 1.5; give"), ([], "give a list"), ([-3], "-3"),
        (1000, "sizes: 1000; give a list"), ("1k", "sizes: '1'; give"),
    ]:
        with pytest.raises(be.InvalidError, match=text):
            sweep(print, print, sizes=sizes)
    for limit in (-1, 0, "5"):
        with pytest.raises(be.InvalidError, match="time_limit: .*; give seconds"):
            be.sweep(print, print, make=int, time_limit=limit)
