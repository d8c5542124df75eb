"""Compares two sides of profiles, with a gate for CI."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import warnings
from typing import TYPE_CHECKING, Any, Optional

from . import _breakeven
from ._check import number
from ._errors import CompareError, FileError, InconclusiveWarning
from ._profile import Page, PathLike, Profile, Side, entry, frame, profiles_of

if TYPE_CHECKING:
    import pandas


@dataclasses.dataclass(frozen=True)
class OperationComparison:
    """One operation on two sides. A figure that a side lacks or that was not tested is None."""

    operation: str
    device: str
    size: Optional[int]
    #: Geometric mean of the runs' medians, ms.
    baseline_time_ms: Optional[float]
    current_time_ms: Optional[float]
    change_ms: Optional[float]
    #: Change of the time in percent of the baseline: 5.0 is 5 % slower.
    change_percent: Optional[float]
    #: REGRESSION, IMPROVEMENT, NO_CHANGE, NEW, REMOVED or INCONCLUSIVE.
    change_type: str
    #: True if the difference is significant after correction, however small.
    is_significant: bool
    #: The judged metric's values, in its unit (ms, bytes, calls, per second).
    baseline_value: Optional[float]
    current_value: Optional[float]
    #: Ratio current / baseline, and its interval at the confidence level 1 - alpha.
    ratio: Optional[float]
    interval: Optional[list[float]]
    p_value: Optional[float]
    #: Corrected for the number of operations.
    adjusted_p_value: Optional[float]
    #: Relative standard deviation between runs.
    noise: Optional[float]
    #: Runs per side that would decide an inconclusive operation.
    runs_needed: Optional[int]
    baseline_runs: int
    current_runs: int
    #: True if there are too few runs, but it changed by more than its samples vary.
    is_suspected: bool
    #: True if the current side's operation failed.
    failed: bool
    workload: Optional[str]
    #: How it was judged, or why it was not.
    method: Any = dataclasses.field(repr=False)
    #: How the mean, memory, allocations and calls changed.
    beside: list[dict[str, Any]] = dataclasses.field(repr=False)


@dataclasses.dataclass(frozen=True)
class ComparisonSummary:
    """Number of operations per verdict."""

    operations_count: int
    regressions_count: int
    improvements_count: int
    no_change_count: int
    #: Operations among them whose mean became worse, which the medians do not show.
    worse_mean_count: int
    inconclusive_count: int
    new_count: int
    removed_count: int
    left_out_count: int
    suspected_count: int
    changed_beside_count: int


@dataclasses.dataclass(frozen=True)
class Verdict:
    """The result of a gate."""

    #: passed, failed, mismatched or inconclusive.
    outcome: str
    #: 0 passed, 1 failed, 2 mismatched, 3 inconclusive: the command's exit codes.
    exit_code: int
    #: The reasons, the worst first; empty if it passed.
    reasons: list[str]
    #: Undecided operations that the gate accepts.
    undecided: list[str] = dataclasses.field(default_factory=list)

    @property
    def passed(self) -> bool:
        """True if no judged operation became worse."""
        return self.exit_code == 0


class Comparison(Page):
    """Two sides, operation by operation. From :func:`compare`."""

    __slots__ = ("_raw", "_notes", "_on_both", "_gate", "_made")

    def __init__(self, baseline: Side, current: Side, threshold: float, **options: Any) -> None:
        threshold = number("threshold", threshold)
        before, after = profiles_of(baseline), profiles_of(current)
        earlier = options["history"] = profiles_of(options.get("history", ()))
        #: Compares the same profiles in the same way.
        self._made = functools.partial(Comparison, before, after, threshold, **options)
        files, others = _files(before), _files(after)
        self._on_both = [file for file in others if file in files]
        old, new, history = ([each._raw for each in side] for side in (before, after, earlier))
        self._raw = _breakeven.compare(old, new, threshold, **{**options, "history": history})
        all = before + after + earlier
        self._notes = [f"{each.source}: {note}" for each in all for note in each.notes]
        self._gate: Optional[tuple[str, int, list[str], list[str]]] = None

    def __reduce__(self) -> tuple[Any, ...]:
        return self._made, (), (None, {"_gate": self._gate})

    @property
    def operations(self) -> list[OperationComparison]:
        """In the baseline's order, then the new ones."""
        return [entry(OperationComparison, each) for each in self.to_dict()["operations"]]

    @property
    def summary(self) -> ComparisonSummary:
        """Number of operations per verdict."""
        return entry(ComparisonSummary, json.loads(self._raw.summary()))

    @property
    def warnings(self) -> list[str]:
        """Reasons to trust the comparison less, and notes on files of other tools."""
        return self._raw.warnings() + self._notes

    def _of(self, change_type: str, top_n: Optional[int]) -> list[OperationComparison]:
        all = (entry(OperationComparison, each) for each in json.loads(self._raw.by_weight()))
        found = [each for each in all if each.change_type == change_type]
        return found if top_n is None else found[: max(0, top_n)]

    def regressions(self, top_n: Optional[int] = None) -> list[OperationComparison]:
        """Operations that became worse, the largest change first."""
        return self._of("REGRESSION", top_n)

    def improvements(self, top_n: Optional[int] = None) -> list[OperationComparison]:
        """Operations that became better, the largest change first."""
        return self._of("IMPROVEMENT", top_n)

    def inconclusive(self, top_n: Optional[int] = None) -> list[OperationComparison]:
        """Undecided operations, the largest change first."""
        return self._of("INCONCLUSIVE", top_n)

    def gate(
        self, *, strict: bool = False, allow_missing: bool = False, require_decided: bool = False
    ) -> Verdict:
        """The overall verdict, as of ``breakeven compare --gate``: it fails if something became
        worse, and does not pass if nothing could be judged.

        With ``require_decided`` it does not pass if any operation is undecided. With ``strict`` it
        also fails if memory, allocations, the number of calls or the mean became worse in addition
        to the judged metric. Later output includes the verdict.

        Raises :class:`CompareError` if a file is on both sides: that would always pass.
        """
        for file in self._on_both:
            raise CompareError(f"{file} is on both sides; name the baseline and the new profile")
        self._gate = self._raw.gate(strict, allow_missing, require_decided)
        return Verdict(*self._gate)

    def to_dict(self) -> dict[str, Any]:
        """The complete result, as in ``breakeven compare --format json``."""
        data: dict[str, Any] = json.loads(self._raw.json())
        data["summary"] = json.loads(self._raw.summary())
        return data

    def to_pandas(self) -> pandas.DataFrame:
        """The operations as a data frame, one per row."""
        return frame(self.operations)

    def _page(self) -> _breakeven.Printed:
        return self._raw.page(self._gate, self._notes)

    def __repr__(self) -> str:
        return f"<breakeven.Comparison: {self._raw.summary_text()}>"

    # Names of earlier designs.

    def get_summary(self) -> ComparisonSummary:
        """:attr:`summary`."""
        return self.summary

    def get_regressions(self, top_n: int = 5) -> list[OperationComparison]:
        """:meth:`regressions`."""
        return self.regressions(top_n)

    def get_improvements(self, top_n: int = 5) -> list[OperationComparison]:
        """:meth:`improvements`."""
        return self.improvements(top_n)

    def print_summary(self) -> None:
        """Prints the number of operations per verdict, and the warnings."""
        print(self._raw.print_summary(), end="")

    def print_regressions(self, top_n: int = 5) -> None:
        """Prints the regressions, the largest first."""
        print(self._raw.print_regressions(max(0, top_n)), end="")

    def print_improvements(self, top_n: int = 5) -> None:
        """Prints the improvements, the largest first."""
        print(self._raw.print_improvements(max(0, top_n)), end="")

    def export_json(self, path: PathLike) -> None:
        """Writes :meth:`to_dict` to a file. Raises :class:`FileError`."""
        try:
            with open(path, "w", encoding="utf-8") as file:
                json.dump(self.to_dict(), file, indent=2)
        except OSError as error:
            raise FileError(f"{os.fspath(path)}: cannot be written: {error.strerror}") from error


def _files(side: list[Profile]) -> list[str]:
    """The files of a side, without duplicates: the same runs twice would look like less noise."""
    files: list[str] = []
    for profile in side:
        file = profile.path and os.path.realpath(profile.path)
        if file in files:
            raise CompareError(f"{profile.path} is named twice on one side")
        if file:
            files.append(file)
    return files


def compare(
    baseline: Side,
    current: Side,
    *,
    threshold: float = 0.05,
    metric: str = "time",
    alpha: float = 0.05,
    history: Side = (),
    relative: bool = False,
    plain_threshold: bool = False,
    budget: Optional[PathLike] = None,
) -> Comparison:
    """Compares two sides: a path, the parsed JSON of a profile, a :class:`Profile`, or a list each.

    Verdicts need four runs per side (five or more are better), or ``history``: earlier profiles.

    ``threshold`` is the smallest change that counts, a fraction. ``metric`` is the judged metric:
    time (the median), mean, p95, p99, total, memory, energy, calls, throughput, or the name of a
    counter in the profiles. ``alpha`` is the false-positive rate, corrected for the number of
    operations (Benjamini and Hochberg). ``relative`` judges changes relative to the common shift
    of nearly all operations, ``plain_threshold`` by the threshold alone. ``budget`` is a file of
    limits.

    Raises :class:`CompareError` if the sides have nothing in common, :class:`FileError` and
    :class:`ProfileError` for files that cannot be read, :class:`InvalidError` for an option.
    """
    return Comparison(**locals())


def compare_profiling_runs(
    baseline_path: Side,
    current_path: Side,
    significance_threshold: float = 5.0,
    *,
    plain_threshold: bool = False,
) -> Comparison:
    """Compares two profiles, or two lists of runs; the threshold is in percent.

    With one run per side no change can be separated from noise: every operation is INCONCLUSIVE,
    and an :class:`InconclusiveWarning` says so. ``plain_threshold=True`` judges by the threshold
    alone, whatever the noise.
    """
    options = {"percent": True, "plain_threshold": plain_threshold}
    comparison = Comparison(baseline_path, current_path, significance_threshold, **options)
    summary = comparison.summary
    if summary.inconclusive_count:
        warnings.warn(
            f"{summary.inconclusive_count} of {summary.operations_count} operation(s) are "
            "inconclusive, which is not \"no regression\": "
            + (comparison.warnings or ["the noise allows no verdict"])[0],
            InconclusiveWarning,
            stacklevel=2,
        )
    return comparison

