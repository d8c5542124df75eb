"""The pytest plugin, in sessions of its own."""

from __future__ import annotations

import json
from typing import Any, Dict

import pytest

TESTS = """
import os, time

def test_slow():
    time.sleep(float(os.environ.get("TEST_SLOW", "0.02")))

def test_fails_never():
    pass

def test_measured(measure):
    measure.samples = 7
    assert measure(lambda x: x + 1, 2) == 3
"""


def operations(path: Any) -> "Dict[str, Any]":
    data = json.loads(path.read_text())
    return {each["name"]: each for each in data["operations"]}


@pytest.fixture
def tests(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makepyfile(test_it=TESTS)
    return pytester


def run(pytester: pytest.Pytester, *options: str) -> pytest.RunResult:
    return pytester.runpytest_subprocess("-p", "no:cacheprovider", *options, timeout=300)


def runs_of(operation: "Dict[str, Any]") -> Any:
    return operation["runs"] if "runs" in operation else [operation]


def test_nothing_happens_unless_asked_for(tests: pytest.Pytester) -> None:
    tests.makeconftest(
        "import sys\ndef pytest_sessionfinish(): assert 'breakeven' not in sys.modules"
    )
    result = run(tests)
    result.assert_outcomes(passed=3)
    result.stdout.no_fnmatch_line("*= breakeven =*")
    for option, value in (("out", "x.json"), ("runs", "5")):
        wrong = run(tests, f"--breakeven-{option}", value)
        assert wrong.ret == pytest.ExitCode.USAGE_ERROR
        wrong.stderr.fnmatch_lines(f"*--breakeven-{option} needs --breakeven*")


def test_times_are_kept_under_the_tests_ids(tests: pytest.Pytester) -> None:
    result = run(tests, "--breakeven", "--breakeven-out", "out.json")
    result.assert_outcomes(passed=3)
    found = operations(tests.path / "out.json")
    assert set(found) == {
        "test_it.py::test_slow",
        "test_it.py::test_fails_never",
        "test_it.py::test_measured",
    }
    [slow] = runs_of(found["test_it.py::test_slow"])
    assert 2e7 <= slow["samples_ns"][0] < 1e10
    [measured] = runs_of(found["test_it.py::test_measured"])
    assert len(measured["samples_ns"]) == 7
    result.stdout.fnmatch_lines("times of 3 test(s) in out.json")


def test_one_run_is_inconclusive_and_says_so(tests: pytest.Pytester) -> None:
    made = run(tests, "--breakeven", "--breakeven-accept")
    made.stdout.fnmatch_lines("the baseline is now breakeven-baseline.json")
    judged = run(tests, "--breakeven", "--breakeven-baseline", "breakeven-baseline.json")
    assert judged.ret == 0
    judged.stdout.fnmatch_lines(["*; gate*", "*INCONCLUSIVE: this is not*", "*four runs per side*"])


def test_runs_a_side_give_a_verdict(
    tests: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ["--breakeven", "--breakeven-runs", "5", "-k", "slow"]
    run(tests, *options, "--breakeven-accept").assert_outcomes(passed=1, deselected=2)
    [slow] = operations(tests.path / "breakeven-baseline.json").values()
    assert len(runs_of(slow)) == 5
    judge = [*options, "--breakeven-baseline", "breakeven-baseline.json"]
    monkeypatch.setenv("TEST_SLOW", "0.5")
    failed = run(tests, *judge)
    assert failed.ret == 1
    failed.assert_outcomes(passed=1, deselected=2)
    failed.stdout.fnmatch_lines(["REGRESSION", "test_it.py::test_slow*", "*gate failed"])
    # What is accepted passes.
    assert run(tests, *judge, "--breakeven-accept").ret == 0
    [slow] = operations(tests.path / "breakeven-baseline.json").values()
    assert runs_of(slow)[0]["samples_ns"][0] >= 5e8
    once = run(tests, "--breakeven", "-k", "measured or slow", "--breakeven-accept")
    warning = "warning: breakeven-baseline.json: its 5 runs are replaced by 1*"
    once.stdout.fnmatch_lines(warning)
    again = run(tests, "--breakeven", "-k", "measured or slow", "--breakeven-accept")
    again.stdout.no_fnmatch_line("warning: *")


def test_tests_that_fail_are_not_judged(tests: pytest.Pytester) -> None:
    tests.makepyfile(test_bad="def test_bad(): assert False")
    result = run(tests, "--breakeven", "--breakeven-accept")
    assert result.ret == 1
    result.stdout.fnmatch_lines("not judged: tests failed")
    assert not (tests.path / "breakeven-baseline.json").exists()


def test_a_baseline_that_cannot_be_used(tests: pytest.Pytester) -> None:
    missing = run(tests, "--breakeven", "--breakeven-baseline", "missing.json")
    assert missing.ret == pytest.ExitCode.USAGE_ERROR
    missing.stderr.fnmatch_lines("*missing.json: there is no such file*")
    tests.path.joinpath("wrong.json").write_text("{}")
    wrong = run(tests, "--breakeven", "--breakeven-baseline", "wrong.json")
    assert wrong.ret == 1
    wrong.stdout.fnmatch_lines("error: wrong.json:*")
    other = {"format": "breakeven-profile", "version": 1}
    other["operations"] = [{"name": "other", "device": "cpu", "samples_ns": [1e6]}]
    tests.path.joinpath("other.json").write_text(json.dumps(other))
    nothing = run(tests, "--breakeven", "--breakeven-baseline", "other.json")
    assert nothing.ret == 1
    nothing.stdout.fnmatch_lines("error: no operation is on both sides*")


@pytest.mark.parametrize("value", ["x", "%", "-5%", "900%"])
def test_a_threshold_that_is_none(tests: pytest.Pytester, value: str) -> None:
    result = run(tests, "--breakeven", "--breakeven-threshold", value)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines("*--breakeven-threshold*")


def test_a_run_that_ends_otherwise_is_an_error(tests: pytest.Pytester) -> None:
    tests.makepyfile(
        test_it="""
        import os
        def test_once():
            assert "BREAKEVEN_PYTEST_RUN" not in os.environ
        """
    )
    result = run(tests, "--breakeven", "--breakeven-runs", "2")
    assert result.ret == 1
    result.stdout.fnmatch_lines("error: run 2 of the tests ended with 1:")


BENCHMARKS = """
import pytest
@pytest.fixture
def benchmark(): return lambda call: call()
@pytest.mark.parametrize("n", range(3))
def test_b(benchmark, n): benchmark(lambda: n)
"""


def test_what_pytest_benchmark_measures_is_named_and_no_gate_passes(
    tests: pytest.Pytester,
) -> None:
    tests.makepyfile(test_it=BENCHMARKS)
    said = "3 test(s) use pytest-benchmark's `benchmark`: compare its --benchmark-json files*"
    once = run(tests, "--breakeven")
    assert once.ret == 0
    once.stdout.fnmatch_lines([said, "nothing was measured: *"])
    assert run(tests, "--breakeven", "--breakeven-accept").ret == 1
    tests.makepyfile(test_other=TESTS)
    mixed = run(tests, "--breakeven", "--breakeven-runs", "2", "--breakeven-accept")
    mixed.stdout.fnmatch_lines(["breakeven: run 2 of 2", said])
    assert mixed.ret == 0
    baseline = ["--breakeven-baseline", "breakeven-baseline.json", "test_it.py"]
    assert run(tests, "--breakeven", *baseline).ret == 1


def test_beside_xdist_and_pytest_benchmark(tests: pytest.Pytester) -> None:
    pytest.importorskip("xdist")
    result = run(tests, "--breakeven", "-n", "2")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines("*tests that run side by side disturb each other*")
    assert run(tests, "--breakeven", "-n", "0").ret == 0
    pytest.importorskip("pytest_benchmark")
    tests.makepyfile(test_other="def test_b(benchmark): benchmark(lambda: None)")
    run(tests, "--breakeven", "--breakeven-out", "out.json").assert_outcomes(passed=4)
    assert "test_other.py::test_b" not in operations(tests.path / "out.json")
