"""Advice."""

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


def test_none_of_the_suggestions_is_no_rest(capsys: pytest.CaptureFixture[str]) -> None:
    advice = be.advise(profile(operation("a", [[8e6] * 12])))
    advice.print_critical_suggestions()
    assert capsys.readouterr().out.startswith("0 of 1 suggestions\n")


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
