"""What the tests have in common: a recorder that starts from nothing, profiles by hand."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Sequence

import pytest

import breakeven as be

pytest_plugins = ["pytester"]


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BREAKEVEN_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("BREAKEVEN_STRATEGY", raising=False)


@pytest.fixture
def profiler() -> Iterator[be.Profiler]:
    profiler = be.get_profiler()
    profiler.reset()
    yield profiler
    be.get_profiler(True).reset()


def operation(name: str, runs: Sequence[Sequence[float]], **more: Any) -> Dict[str, Any]:
    """An operation whose runs have those samples, ns."""
    runs_of: List[Dict[str, Any]] = [{"samples_ns": list(run)} for run in runs]
    return {"name": name, "device": "cpu", "runs": runs_of, **more}


def profile(*operations: Dict[str, Any]) -> Dict[str, Any]:
    """The parsed JSON of a profile."""
    return {"format": "breakeven-profile", "version": 1, "operations": list(operations)}


def five_runs(median_ns: float) -> List[List[float]]:
    """Five runs of nine samples, whose medians differ by half a percent."""
    return [[median_ns * part] * 9 for part in (0.996, 0.998, 1.0, 1.002, 1.004)]
