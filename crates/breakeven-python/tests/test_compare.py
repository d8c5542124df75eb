"""Profiles as data, two sides compared, the gate."""

from __future__ import annotations

import dataclasses
import json
import sys
from typing import Any

import pytest

import breakeven as be
from conftest import five_runs, operation, profile


def sides(**medians: "tuple[float, float]") -> "tuple[Any, Any]":
    """Five runs a side of each operation, with those medians in ns."""
    before = profile(*(operation(name, five_runs(ns)) for name, (ns, _) in medians.items()))
    after = profile(*(operation(name, five_runs(ns)) for name, (_, ns) in medians.items()))
    return before, after


def test_verdicts_with_intervals() -> None:
    comparison = be.compare(*sides(slower=(8e6, 9.2e6), faster=(8e6, 4e6), same=(8e6, 8e6)))
    assert [each.change_type for each in comparison.operations] == [
        "REGRESSION",
        "IMPROVEMENT",
        "NO_CHANGE",
    ]
    slower = comparison.regressions()[0]
    assert slower.operation == "slower" and slower.is_significant
    assert slower.change_percent == pytest.approx(15)
    assert slower.change_ms == pytest.approx(1.2, rel=1e-4)
    assert slower.interval is not None and slower.interval[0] < 1.15 < slower.interval[1]
    assert slower.adjusted_p_value is not None and slower.adjusted_p_value < 0.01
    assert [each.operation for each in comparison.improvements()] == ["faster"]
    assert comparison.summary.regressions_count == 1


def test_the_gate_has_the_commands_exit_codes() -> None:
    passed = be.compare(*sides(same=(8e6, 8e6))).gate()
    assert passed.passed and (passed.outcome, passed.exit_code) == ("passed", 0)
    failed = be.compare(*sides(slower=(8e6, 9e6))).gate()
    assert (failed.outcome, failed.exit_code) == ("failed", 1)
    assert failed.reasons == ["slower on cpu: regression by +12.5 %"]
    one = profile(operation("a", [[8e6] * 9]))
    untold = be.compare(one, one)
    assert (untold.gate().outcome, untold.gate().exit_code) == ("inconclusive", 3)
    both = profile(operation("a", [[8e6] * 9]), operation("b", five_runs(8e6)))
    partly = be.compare(both, both)
    assert partly.gate().passed and len(partly.gate().undecided) == 1
    assert partly.gate(require_decided=True).exit_code == 3
    more = profile(operation("a", five_runs(8e6)), operation("b", five_runs(8e6)))
    missing = be.compare(more, profile(operation("a", five_runs(8e6))))
    assert missing.gate().exit_code == 2 and missing.gate(allow_missing=True).passed


def test_sides_may_be_paths_runs_parsed_or_profiles(tmp_path: Any) -> None:
    runs = []
    for place, samples in enumerate(five_runs(8e6)):
        path = tmp_path / f"{place}.json"
        path.write_text(json.dumps(profile(operation("a", [samples]))))
        runs.append(path)
    comparison = be.compare(runs, be.Profile(sides(a=(8e6, 9.2e6))[1]))
    assert comparison.operations[0].baseline_runs == 5
    assert comparison.summary.regressions_count == 1
    before, after = sides(a=(8e6, 8e6))
    assert be.compare([before], [str(runs[0]), after]).operations[0].current_runs == 6


def test_a_file_with_itself_passes_no_gate(tmp_path: Any) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(sides(a=(8e6, 8e6))[0]))
    same = be.compare(path, be.load(tmp_path / "." / "a.json"))
    assert same.summary.no_change_count == 1
    with pytest.raises(be.CompareError, match="on both sides"):
        same.gate()
    with pytest.raises(be.CompareError, match="named twice"):
        be.compare([path, str(path)], path)


def test_options_reach_the_judge(tmp_path: Any) -> None:
    before, after = sides(a=(8e6, 8.6e6))
    assert be.compare(before, after).summary.regressions_count == 1
    assert be.compare(before, after, threshold=0.2).summary.regressions_count == 0
    p95 = be.compare(before, after, metric="p95").operations[0].baseline_value
    assert p95 == pytest.approx(8, rel=0.05)
    one, other = (profile(operation("a", [[ns] * 9])) for ns in (8e6, 9.2e6))
    assert be.compare(one, other).summary.inconclusive_count == 1
    assert be.compare(one, other, plain_threshold=True).summary.regressions_count == 1
    assert be.compare(one, other, history=[before]).summary.regressions_count == 1
    budget = tmp_path / "budget.toml"
    budget.write_text('[[budget]]\noperation = "a"\nmax = "1 ms"\n')
    assert be.compare(before, before, budget=budget).gate().exit_code == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threshold": 5.0}, "a fraction"),
        ({"metric": "speed"}, "there are time, median"),
        ({"alpha": 2.0}, "alpha"),
    ],
)
def test_options_out_of_range(options: Any, message: str) -> None:
    before, after = sides(a=(8e6, 8e6))
    with pytest.raises(ValueError, match=message):
        be.compare(before, after, **options)


def test_input_from_which_nothing_follows(tmp_path: Any) -> None:
    a, b = profile(operation("a", five_runs(1e6))), profile(operation("b", five_runs(1e6)))
    with pytest.raises(be.CompareError, match="no operation is on both sides"):
        be.compare(a, b)
    with pytest.raises(be.CompareError, match="holds no operations"):
        be.compare(profile(), a)
    with pytest.raises(be.CompareError):
        be.compare([], a)
    with pytest.raises(be.FileError, match="missing.json"):
        be.compare(tmp_path / "missing.json", a)
    with pytest.raises(OSError):
        be.load(tmp_path / "missing.json")
    wrong = tmp_path / "wrong.json"
    wrong.write_text(json.dumps(profile({"name": "a", "device": "cpu", "samples_ns": [-1]})))
    with pytest.raises(be.ProfileError, match=r"wrong.json: operations\[0\]"):
        be.load(wrong)
    for data in ({}, {"format": "else"}, "not json", "", [1]):
        with pytest.raises((be.ProfileError, TypeError)):
            be.Profile(data)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="not int"):
        be.compare(3, a)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="hyperfine"):
        be.load(wrong, format="none of them")
    assert issubclass(be.ProfileError, be.BreakevenError)


GOOGLE = """{"context": {"executable": "b", "num_cpus": 2}, "benchmarks": [
  {"name": "BM_sort", "run_name": "BM_sort", "run_type": "iteration", "repetitions": 2,
   "repetition_index": 0, "iterations": 9, "real_time": 1.5, "time_unit": "ms"},
  {"name": "BM_sort", "run_name": "BM_sort", "run_type": "iteration", "repetitions": 2,
   "repetition_index": 1, "iterations": 9, "real_time": 1.6, "time_unit": "ms"}]}"""


def test_files_of_other_tools(tmp_path: Any) -> None:
    path = tmp_path / "times.json"
    path.write_text('{"results": [{"command": "sort a", "times": [0.25, 0.26]}]}')
    assert be.load(path).operations[0].samples_ns == [[2.5e8, 2.6e8]]
    google = tmp_path / "google.json"
    google.write_text(GOOGLE)
    comparison = be.compare(google, google)
    assert any("google.json: repetitions" in each for each in comparison.warnings)
    assert "Notes" in str(comparison)
    table = tmp_path / "times.csv"
    table.write_text("case,wall\nsort,3\nsort,4\n")
    loaded = be.load(table, columns="name=case,time=wall,unit=ms")
    assert loaded.operations[0].median_ns == 3.5e6


def test_a_profile_as_data_frame_and_page(tmp_path: Any) -> None:
    before, _ = sides(a=(8e6, 8e6))
    loaded = be.Profile(before)
    [a] = loaded.operations
    assert (a.name, a.runs, a.calls, a.median_ns) == ("a", 5, 45, 8e6)
    assert loaded.to_dict()["operations"][0]["name"] == "a"
    assert repr(loaded) == "<breakeven.Profile of parsed data: 1 operation(s)>"
    assert "8.00ms" in str(loaded) and "<table>" in loaded._repr_html_()
    assert loaded.to_markdown().startswith("|")
    loaded.write(tmp_path / "kept.json")
    assert be.load(tmp_path / "kept.json").operations == loaded.operations


def test_a_data_frame_has_a_row_each() -> None:
    pytest.importorskip("pandas")
    before, after = sides(slower=(8e6, 9.2e6), same=(8e6, 8e6))
    frame = be.compare(before, after).to_pandas()
    assert list(frame["change_type"]) == ["REGRESSION", "NO_CHANGE"]
    assert frame["change_percent"][0] == pytest.approx(15)
    assert list(be.Profile(before).to_pandas()["median_ns"]) == [8e6, 8e6]


def test_without_pandas_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"breakeven\[pandas\]"):
        be.compare(*sides(a=(8e6, 8e6))).to_pandas()


def test_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    comparison = be.compare(*sides(slower=(8e6, 9.2e6)))
    comparison.gate()
    comparison.print(width=80)
    assert capsys.readouterr().out == str(comparison) + "\n"
    assert str(comparison).endswith("1 regression; gate failed")
    assert "slower on cpu: regression by +15.0 %" in str(comparison)
    assert repr(comparison) == "<breakeven.Comparison: 1 regression>"


def test_texts_of_a_profile_do_not_run_in_a_notebook() -> None:
    name = "<script>alert(1)</script>\x1b[31m"
    before = profile(operation(name, five_runs(8e6)))
    comparison = be.compare(before, before)
    for shown in (be.Profile(before)._repr_html_(), comparison._repr_html_()):
        assert "<script>" not in shown and "\x1b" not in shown
    assert "\x1b" not in str(comparison)


def test_the_data_classes_have_what_the_judge_says() -> None:
    comparison = be.compare(*sides(a=(8e6, 9e6)))
    data = comparison.to_dict()
    fields = {field.name for field in dataclasses.fields(be.OperationComparison)}
    assert fields <= set(data["operations"][0])
    fields = {field.name for field in dataclasses.fields(be.ComparisonSummary)}
    assert fields == set(data["summary"])


def test_profiles_that_are_made_up_raise_and_never_panic() -> None:
    """A small fuzz: every mutation of a profile is read or refused with a typed error."""
    text = json.dumps(sides(a=(8e6, 9e6))[0])
    for place in range(0, len(text), 3):
        for other in ('"', "9e999", "-", "}", ""):
            made_up = text[:place] + other + text[place + 1 :]
            try:
                made = be.Profile(made_up)
                str(made)
                be.compare(made, made)
                be.advise(made)
            except be.BreakevenError:
                pass
