"""Programs written for the earlier designs: each call under its name, with its meaning.
Only the import differs."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from breakeven import (
    InconclusiveWarning,
    ProfilerOptimizer,
    compare_profiling_runs,
    get_profiler,
)
from conftest import five_runs, operation, profile

ENTRY = (
    "operation baseline_time_ms current_time_ms change_ms change_percent change_type is_significant"
)
SUGGESTION = (
    "operation type priority description expected_improvement implementation_hint "
    "current_time_ms estimated_time_ms potential_speedup"
)


def written(path: Any, *operations: Any) -> str:
    path.write_text(json.dumps(profile(*operations)))
    return str(path)


def test_the_recorder(tmp_path: Any) -> None:
    profiler = get_profiler(enabled=True)
    profiler.reset()
    with profiler.profile("decode"):
        sum(range(1000))
    path = str(tmp_path / "profile.json")
    profiler.export_json(path)
    with open(path) as file:
        assert json.load(file)["operations"][0]["name"] == "decode"
    profiler.reset()
    assert len(get_profiler().snapshot()) == 0


def test_the_comparison(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    before = [operation(name, five_runs(8e6)) for name in ("slower", "faster", "same")]
    after = [
        operation("slower", five_runs(9.2e6)),
        operation("faster", five_runs(4e6)),
        operation("same", five_runs(8e6)),
    ]
    baseline = written(tmp_path / "baseline.json", *before)
    current = written(tmp_path / "current.json", *after)

    comparison = compare_profiling_runs(baseline, current)
    summary = comparison.get_summary()
    assert (summary.regressions_count, summary.improvements_count) == (1, 1)
    for entry in (*comparison.get_regressions(top_n=5), *comparison.get_improvements(3)):
        assert all(hasattr(entry, name) for name in ENTRY.split())
    assert comparison.get_regressions()[0].change_percent == pytest.approx(15)
    assert comparison.get_regressions(top_n=0) == []

    comparison.print_summary()
    assert "1 regression, 1 improvement" in capsys.readouterr().out
    comparison.print_regressions()
    assert "slower on cpu" in capsys.readouterr().out
    comparison.print_improvements()
    assert "faster on cpu" in capsys.readouterr().out
    comparison.export_json(str(tmp_path / "comparison.json"))
    exported = json.loads((tmp_path / "comparison.json").read_text())
    assert exported["summary"]["regressions_count"] == 1

    # Percent: 10.0 was usual in CI, and 20 lets 15 % pass.
    lenient = compare_profiling_runs(baseline, current, significance_threshold=20.0)
    assert lenient.get_summary().regressions_count == 0
    with pytest.raises(ValueError, match="in percent"):
        compare_profiling_runs(baseline, current, 0.05)


def test_one_run_a_side_says_that_nothing_can_be_judged(
    tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    baseline = written(tmp_path / "baseline.json", operation("a", [[8e6] * 9]))
    current = written(tmp_path / "current.json", operation("a", [[9.2e6] * 9]))
    with pytest.warns(InconclusiveWarning, match='1 of 1 operation.* not "no regression"'):
        comparison = compare_profiling_runs(baseline, current, 10.0)
    assert comparison.get_summary().regressions_count == 0
    comparison.print_regressions()
    found = "no regressions found; 1 of 1 operation(s) are inconclusive\n"
    assert capsys.readouterr().out == found
    # What the earlier designs did.
    plain = compare_profiling_runs(baseline, current, 10.0, plain_threshold=True)
    assert plain.get_summary().regressions_count == 1


def test_the_optimizer(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    data = profile(
        operation("blur", [[8e6, 8.1e6, 8.05e6]]),
        operation("blur", [[1e6, 1.01e6, 1.005e6]], device="cuda:0"),
    )
    optimizer = ProfilerOptimizer(data)
    first = optimizer.get_suggestions(top_n=10)[0]
    assert all(hasattr(first, name) for name in SUGGESTION.split())
    assert first.priority == "CRITICAL" and optimizer.get_critical_suggestions()[0] == first
    optimizer.print_suggestions(top_n=5)
    assert "ROUTING" in capsys.readouterr().out
    optimizer.print_critical_suggestions()
    assert "CRITICAL" in capsys.readouterr().out
    path = tmp_path / "suggestions.json"
    optimizer.export_suggestions(str(path))
    assert json.loads(path.read_text())["suggestions"][0]["operation"] == "blur"


SCRIPT = """
import sys
from breakeven import compare_profiling_runs

comparison = compare_profiling_runs(sys.argv[1], sys.argv[2], significance_threshold=10.0)
if comparison.get_summary().regressions_count > 0:
    comparison.print_regressions()
    sys.exit(1)
comparison.print_improvements()
sys.exit(0)
"""


@pytest.mark.parametrize(
    ("after", "code", "out", "err"),
    [
        (five_runs(9.6e6), 1, "REGRESSION", ""),
        (five_runs(4e6), 0, "IMPROVEMENT", ""),
        (five_runs(8e6), 0, "no improvements", ""),
        ([[9.6e6] * 9], 0, "no improvements found; 1 of 1 operation(s) are inc", "InconclusiveW"),
    ],
)
def test_a_ci_script(tmp_path: Any, after: Any, code: int, out: str, err: str) -> None:
    baseline = written(tmp_path / "baseline.json", operation("a", five_runs(8e6)[: len(after)]))
    current = written(tmp_path / "current.json", operation("a", after))
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, baseline, current],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        timeout=120,
    )
    assert done.returncode == code and out in done.stdout
    assert err in done.stderr if err else not done.stderr
