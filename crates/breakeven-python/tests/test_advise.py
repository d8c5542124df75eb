"""Advice, and where a batch would run."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

import breakeven as be
from conftest import operation, profile


def two_devices() -> Any:
    return profile(
        operation("blur", [[800_000.0, 810_000.0, 805_000.0]]),
        operation("blur", [[100_000.0, 101_000.0, 100_500.0]], device="cuda:0"),
    )


def test_suggestions_have_their_evidence() -> None:
    advice = be.advise(two_devices())
    first = advice[0]
    assert (first.type, first.operation, first.target_device) == ("ROUTING", "blur", "cuda:0")
    assert "8.01 times as fast" in first.description
    assert first.potential_speedup == pytest.approx(8.01, abs=0.01)
    assert first.evidence and first.rank == 1
    assert len(advice) == len(list(advice)) >= 1
    assert advice.conclusion.startswith("Together:")
    assert "blur" in str(advice) and "<ul>" in advice._repr_html_()
    fields = {field.name for field in dataclasses.fields(be.OptimizationSuggestion)}
    assert fields == set(advice.to_dict()["suggestions"][0]) - {"software_gpu"}


def test_the_number_of_suggestions() -> None:
    assert len(be.advise(two_devices(), top=0)) == 0
    assert be.advise(two_devices(), top=1)[-1].rank == 1


def test_advice_as_data_frame() -> None:
    pytest.importorskip("pandas")
    assert list(be.advise(two_devices()).to_pandas()["type"])[0] == "ROUTING"


def test_evidence_of_another_machine_is_refused() -> None:
    here, there = two_devices(), two_devices()
    here["environment"] = {"cpu": {"model": "A"}}
    there["environment"] = {"cpu": {"model": "B"}}
    with pytest.raises(be.ProfileError, match="another machine"):
        be.advise(here, evidence=[there])
    assert len(be.advise(here, evidence=[here])) >= 1


def test_an_empty_profile_has_no_advice() -> None:
    assert list(be.advise(profile())) == []
    assert be.advise(profile()).conclusion.startswith("No advice")


MACHINE = 'cores = 16\n[[gpu]]\nname = "V100"\nlaunch = "20 us"\nspeedup = 20.0\n'


def test_a_plan_for_a_described_machine(tmp_path: Any) -> None:
    machine = tmp_path / "v100.toml"
    machine.write_text(MACHINE)
    planned = be.plan(1000, hardware=machine)
    assert (planned.strategy, planned.evidence) == ("gpu-only", "heuristic")
    assert planned.estimated_gpu_tasks == 1000 and planned.predicted_ns is None
    assert any("stage 6" in reason for reason in planned.reasoning)
    timed = be.plan(1000, hardware=machine, task_time=1e-3)
    assert timed.predicted_ns is not None and timed.predicted_ns < 1e9
    assert [each["strategy"] for each in timed.candidates][0] == "cpu-only"
    assert str(timed).startswith(timed.strategy) and timed.to_dict()["batch_size"] > 0
    assert be.plan(5, hardware=machine).strategy == "cpu-only"


def test_a_plan_takes_memory_as_it_is_stated(tmp_path: Any) -> None:
    machine = tmp_path / "v100.toml"
    machine.write_text(f'memory = "64 GiB"\n{MACHINE}memory = "32 GiB"\n')
    for complexity in (0.0, 1e5):
        planned = be.plan(1000, hardware=machine, task_bytes=2**20, complexity=complexity)
        assert "1 000 tasks of 1 MiB," in planned.workload.replace("\u202f", " ")
    too_large = be.plan(10, hardware=machine, task_bytes=2**35 + 2**30)
    assert too_large.strategy == "cpu-only" and "no GPU has the" in " ".join(too_large.reasoning)
    with pytest.raises(be.PlanError, match="the machine has 64 GiB"):
        be.plan(10, hardware=machine, task_bytes=2**40)


def test_a_plan_uses_what_run_measured() -> None:
    for _ in range(4):
        be.run(list(range(64)), lambda task: task, lambda tasks: tasks, operation="measured here")
    planned = be.plan(64, operation="measured here")
    assert not any("measured" in note for note in planned.notes), planned.notes
    assert planned.candidates[0]["predicted_ns"] is not None


def test_a_plan_for_this_machine_takes_the_operators_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert be.plan(3).strategy == "cpu-only"
    monkeypatch.setenv("BREAKEVEN_STRATEGY", "cpu-only")
    assert "BREAKEVEN_STRATEGY" in " ".join(be.plan(100_000).reasoning)
    assert any("nothing was measured" in n for n in be.plan(10, operation="unheard of").notes)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"complexity": float("nan")}, "complexity"),
        ({"parallel": 2.0}, "parallel"),
        ({"device": "cuda:99"}, "no such GPU"),
        ({"task_time": -1.0}, "time"),
    ],
)
def test_a_plan_from_which_nothing_follows(options: Any, message: str) -> None:
    with pytest.raises(be.PlanError, match=message):
        be.plan(100, **options)


def test_files_of_a_plan(tmp_path: Any) -> None:
    with pytest.raises(be.FileError, match="missing.toml"):
        be.plan(1, hardware=tmp_path / "missing.toml")
    wrong = tmp_path / "wrong.toml"
    wrong.write_text("cores = none")
    with pytest.raises(be.PlanError, match="wrong.toml"):
        be.plan(1, hardware=wrong)
    with pytest.raises(be.PlanError, match="wrong.toml"):
        be.plan(1, heuristics=wrong)
    assert be.plan(1, heuristics="hybrid-first").strategy == "cpu-only"
