"""The pytest plugin: ``pytest --breakeven`` records the duration of each test, and
``--breakeven-baseline`` compares it. The options are in ``breakeven_pytest``.

One session is one run; a verdict needs four per side, five or more are better.
``--breakeven-runs 5`` repeats the session in separate processes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from typing import Any, Callable, Generator, Optional, TypeVar

import pytest

from . import _breakeven
from ._compare import Comparison, Verdict, compare
from ._errors import BreakevenError
from ._profile import Profile, load

T = TypeVar("T")

#: File to which a run started by another session writes its times.
_RUN = "BREAKEVEN_PYTEST_RUN"

#: Shortest sample, ns: a hundred steps of a coarse clock.
_LEAST_NS = 100_000

#: Time for the samples of one `measure`, ns; at least five samples are taken.
_MOST_NS = 2_000_000_000


class Measure:
    """The fixture ``measure``."""

    def __init__(self, keep: Callable[[list[float]], None]) -> None:
        self._keep = keep
        #: Most times that are kept per callable.
        self.samples = 30

    def __call__(self, function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        def timed(calls: int) -> int:
            start = time.perf_counter_ns()
            for _ in range(calls):
                function(*args, **kwargs)
            return time.perf_counter_ns() - start

        start = time.perf_counter_ns()
        result = function(*args, **kwargs)
        first = time.perf_counter_ns() - start
        calls = 1
        # Short calls are timed together; this warms up too.
        while max(timed(calls), first) < _LEAST_NS and calls < 1_000_000:
            calls *= 2
        samples: list[float] = []
        began = time.perf_counter_ns()
        while len(samples) < self.samples:
            samples.append(timed(calls) / calls)
            if len(samples) >= 5 and time.perf_counter_ns() - began > _MOST_NS:
                break
        self._keep(samples)
        return result


def fraction(text: str) -> float:
    """A fraction: ``5%`` or ``0.05``."""
    try:
        value = float(text[:-1]) / 100 if text.endswith("%") else float(text)
        _breakeven.check_threshold(value)
    except ValueError:
        raise pytest.UsageError(
            f"--breakeven-threshold {text}: give 0.1 % to 100 %, as in 5% or 0.05"
        ) from None
    return value


class Session:
    """State of a session with ``--breakeven``."""

    def __init__(self, config: pytest.Config) -> None:
        option = config.getoption
        if option("numprocesses", None) or option("dist", "no") != "no":
            raise pytest.UsageError(
                "--breakeven measures one test at a time, and tests that run side by side "
                "disturb each other: leave out pytest-xdist's -n and --dist"
            )
        self.config = config
        self.threshold = fraction(option("--breakeven-threshold"))
        self.accept: bool = option("--breakeven-accept")
        self.baseline: Optional[str] = option("--breakeven-baseline")
        self.out: Optional[str] = option("--breakeven-out")
        self.runs: int = option("--breakeven-runs")
        #: The file for the times, in a run of another session.
        self.child = os.environ.get(_RUN)
        if self.runs < 1:
            raise pytest.UsageError("--breakeven-runs: give 1 or more")
        if self.accept and self.baseline is None:
            self.baseline = "breakeven-baseline.json"
        elif self.baseline and not os.path.exists(self.baseline) and not self.accept:
            raise pytest.UsageError(
                f"--breakeven-baseline {self.baseline}: there is no such file; "
                "--breakeven-accept makes it"
            )
        self._times: dict[str, list[float]] = {}
        #: Tests that pytest-benchmark measures: it chooses its own number of repetitions.
        self._benchmarks = 0
        #: Times of tests that have not passed yet.
        self._pending: dict[str, list[float]] = {}
        #: The text at the end.
        self._said: list[str] = []
        self._judged: Optional[tuple[Comparison, Verdict]] = None

    def measure(self, item: pytest.Item) -> Measure:
        def keep(samples: list[float]) -> None:
            name, again = item.nodeid, 1
            while name in self._pending:
                again += 1
                name = f"{item.nodeid} #{again}"
            self._pending[name] = samples

        return Measure(keep)

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, None]:
        self._pending = {}
        start = time.perf_counter_ns()
        outcome = yield
        taken = time.perf_counter_ns() - start
        if outcome.excinfo is not None:
            return
        fixtures = getattr(item, "fixturenames", ())
        self._benchmarks += "benchmark" in fixtures
        if not self._pending and not {"benchmark", "measure"} & set(fixtures):
            self._pending[item.nodeid] = [float(taken)]
        for name, samples in self._pending.items():
            self._times.setdefault(name, []).extend(samples)

    def _profile(self) -> Profile:
        """This session's run."""
        environment = Profile._of(_breakeven.snapshot(), "").to_dict()["environment"]
        environment.pop("recorder", None)  # nothing here was recorded by it
        operations = [
            {"name": name, "device": "cpu", "runs": [{"samples_ns": samples}]}
            for name, samples in self._times.items()
        ]
        head = {"format": "breakeven-profile", "version": 1, "generator": "pytest"}
        return Profile({**head, "environment": environment, "operations": operations})

    def _further_runs(self) -> list[Profile]:
        """The other runs, each a process that repeats this one's work."""
        invoked = self.config.invocation_params
        command = [sys.executable, "-m", "pytest", *map(str, invoked.args)]
        profiles = []
        with tempfile.TemporaryDirectory() as folder:
            for run in range(2, self.runs + 1):
                self._print(f"breakeven: run {run} of {self.runs}")
                file = os.path.join(folder, f"{run}.json")
                done = subprocess.run(
                    command, cwd=invoked.dir, env={**os.environ, _RUN: file}, text=True,
                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace",
                )
                if done.returncode != 0 or not os.path.exists(file):
                    last = "\n".join(done.stdout.splitlines()[-15:])
                    raise BreakevenError(
                        f"run {run} of the tests ended with {done.returncode}:\n{last}"
                    )
                profiles.append(load(file))
        return profiles

    def _print(self, line: str) -> None:
        reporter: Any = self.config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:
            reporter.write_line(line)

    def _judge(self) -> None:
        run = self._profile()
        if self.child:
            run.write(self.child)
            return
        raw = [each._raw for each in (run, *self._further_runs())]
        current = Profile._of(_breakeven.join(raw), "this session")
        if self.out:
            current.write(self.out)
            self._said.append(f"times of {len(current)} test(s) in {self.out}")
        if self.baseline is None:
            return
        if os.path.exists(self.baseline):
            baseline = load(self.baseline).to_dict()
            ran = [each for each in baseline["operations"] if each["name"] in self._times]
            left = len(baseline["operations"]) - len(ran)
            if ran and left:
                end = "are no longer in it" if self.accept else "are skipped"
                self._said.append(f"{left} test(s) of the baseline did not run and {end}")
                baseline["operations"] = ran
            before = max((len(each.get("runs", ())) for each in baseline["operations"]), default=0)
            if self.accept and self.runs < before:
                self._said.append(
                    f"warning: {self.baseline}: its {before} runs are replaced by {self.runs}: a "
                    f"comparison with fewer runs finds fewer changes; --breakeven-runs {before}"
                )
            comparison = compare(baseline, current, threshold=self.threshold)
            self._judged = comparison, comparison.gate(allow_missing=True)
        if self.accept:
            current.write(self.baseline)
            self._said.append(f"the baseline is now {self.baseline}")

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if session.exitstatus != 0:
            if session.exitstatus == 1:
                self._said.append("not judged: tests failed")
            return
        if self._benchmarks:
            self._said.append(
                f"{self._benchmarks} test(s) use pytest-benchmark's `benchmark`: compare its "
                "--benchmark-json files with `breakeven compare`"
            )
        if not self._times:
            self._said.append("nothing was measured: no other test passed")
            # A gate without a measurement does not pass.
            session.exitstatus = int(self.baseline is not None)
            return
        try:
            self._judge()
        except BreakevenError as error:
            self._said.append(f"error: {error}")
            session.exitstatus = 1
            return
        if self._judged and self._judged[1].exit_code in (1, 2) and not self.accept:
            session.exitstatus = 1

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self.child:
            return
        writer = terminalreporter
        writer.section("breakeven")
        if self._judged is not None:
            comparison, verdict = self._judged
            undecided = verdict.outcome == "inconclusive"
            if undecided:
                # The table shows each of them.
                comparison._gate = (verdict.outcome, verdict.exit_code, [], [])
            writer.write(comparison._page().text(writer._tw.fullwidth, writer._tw.hasmarkup))
            if undecided:
                writer.write_line("INCONCLUSIVE: this is not \"no regression\"", yellow=True)
                all = comparison.operations
                if any(min(each.baseline_runs, each.current_runs) < 4 for each in all):
                    writer.write_line(
                        "A verdict needs four runs per side, five or more are better: "
                        "--breakeven-runs 5, for the baseline too"
                    )
        for line in self._said:
            writer.write_line(line)
        if self._judged is None and not self._said:
            writer.write_line(
                f"{len(self._times)} test(s) measured; --breakeven-out FILE keeps the times"
            )
