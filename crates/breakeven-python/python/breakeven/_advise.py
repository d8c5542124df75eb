"""Advice: what to change first, why, and the estimated gain."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any, Optional, Sequence

from . import _breakeven
from ._check import count
from ._profile import Page, PathLike, ProfileLike, Side, entry, frame, profile_of, profiles_of

if TYPE_CHECKING:
    import pandas


@dataclasses.dataclass(frozen=True)
class OptimizationSuggestion:
    """One piece of advice. Figures without an estimate are None."""

    #: Its rank in the complete list, from 1.
    rank: int
    operation: str
    device: str
    size: Optional[int]
    #: ROUTING, BATCHING, MEMORY, CACHING, ALGORITHM or PARALLELIZATION.
    type: str
    #: CRITICAL, HIGH, MEDIUM or LOW: how much of the total time it saves.
    priority: str
    rule: str
    target_device: Optional[str]
    #: The problem, and the evidence for it.
    description: str
    expected_improvement: str
    #: What to do.
    implementation_hint: str
    #: Mean time of a call now, and the estimate afterwards.
    current_time_ms: float
    estimated_time_ms: Optional[float]
    potential_speedup: Optional[float]
    #: Time saved over the complete profile if only this is done.
    saved_ms: Optional[float]
    saved_share: Optional[float]
    range_ms: Optional[list[float]]
    #: Its evidence, the strongest first.
    evidence: list[dict[str, Any]] = dataclasses.field(repr=False)


class ProfilerOptimizer(Page, Sequence[OptimizationSuggestion]):
    """Advice on one profile, a list of suggestions, the largest saving first."""

    __slots__ = ("_raw", "_suggestions", "_top")

    def __init__(
        self, data: ProfileLike, *, evidence: Side = (), top: Optional[int] = None
    ) -> None:
        """``data`` is a profile, the parsed JSON of one, or a path; see :func:`advise`."""
        others = [each._raw for each in profiles_of(evidence)]
        self._raw = _breakeven.advise(profile_of(data)._raw, others)
        suggestions = self.to_dict()["suggestions"]
        self._suggestions = [entry(OptimizationSuggestion, each) for each in suggestions]
        self._top = len(self._suggestions) if top is None else count("top", top)

    def __getitem__(self, place: Any) -> Any:
        return self._suggestions[: self._top][place]

    def __len__(self) -> int:
        return min(self._top, len(self._suggestions))

    @property
    def conclusion(self) -> str:
        """What all suggestions save together, or why that is unknown: one sentence."""
        return self._raw.conclusion()

    @property
    def caveats(self) -> list[str]:
        """The limits of the advice, one sentence each."""
        return self._raw.caveats()

    def to_dict(self) -> dict[str, Any]:
        """The complete advice, including rules that measurements overruled."""
        data: dict[str, Any] = json.loads(self._raw.json())
        return data

    def to_pandas(self) -> pandas.DataFrame:
        """The suggestions as a data frame, one per row."""
        return frame(list(self))

    def _page(self) -> _breakeven.Printed:
        return self._raw.page(len(self))

    def __repr__(self) -> str:
        return f"<breakeven.ProfilerOptimizer: {len(self)} suggestion(s). {self.conclusion}>"

    def get_suggestions(self, top_n: int = 10) -> list[OptimizationSuggestion]:
        """The suggestions that save the most."""
        return self._suggestions[: max(0, top_n)]

    def get_critical_suggestions(self) -> list[OptimizationSuggestion]:
        """The suggestions that each save a quarter or more of the total time."""
        return [each for each in self._suggestions if each.priority == "CRITICAL"]

    def print_suggestions(self, top_n: int = 5) -> None:
        """Prints the suggestions that save the most."""
        print(self._raw.print_suggestions(max(0, top_n)), end="")

    def print_critical_suggestions(self) -> None:
        """Prints the suggestions that each save a quarter or more of the total time."""
        print(self._raw.print_critical_suggestions(), end="")

    def export_suggestions(self, path: PathLike) -> None:
        """Writes :meth:`to_dict` to a file, in one step. Raises :class:`FileError`."""
        self._raw.export(path)


def advise(
    profile: ProfileLike, *, evidence: Side = (), top: Optional[int] = None
) -> ProfilerOptimizer:
    """What to change first in a profile, why, and the estimated gain.

    ``evidence`` are other profiles of the same machine (a sweep's, the suite's) whose
    measurements replace rules of thumb. ``top`` is the number of suggestions: all, unless
    given.

    Raises :class:`FileError` and :class:`ProfileError` for files that cannot be read, and
    :class:`ProfileError` for evidence from another machine.
    """
    return ProfilerOptimizer(profile, evidence=evidence, top=top)
