"""A profile of this recorder or of another tool."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
from typing import TYPE_CHECKING, Any, Mapping, Optional, Sequence, TypeVar, Union

from . import _breakeven

if TYPE_CHECKING:
    import pandas

PathLike = Union[str, "os.PathLike[str]"]
T = TypeVar("T")


def entry(of: type[T], data: Mapping[str, Any]) -> T:
    """Builds a dataclass from a dictionary that may have additional entries."""
    names = (field.name for field in dataclasses.fields(of))  # type: ignore[arg-type]
    return of(**{name: data.get(name) for name in names})


def frame(entries: Sequence[Any]) -> pandas.DataFrame:
    """Entries as a data frame, one per row. Intervals become two columns; other non-scalar
    values are dropped."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError("data frames need pandas: pip install 'breakeven[pandas]'") from error
    rows = []
    for each in entries:
        row = dict(vars(each))
        if "interval" in row:
            row["interval_low"], row["interval_high"] = row.pop("interval") or (None, None)
        rows.append({k: v for k, v in row.items() if not isinstance(v, (dict, list))})
    return pandas.DataFrame(rows)


class Page:
    """Something that prints as a page: as text, as Markdown, and in notebooks."""

    def _page(self) -> _breakeven.Printed:
        raise NotImplementedError

    def print(self, width: Optional[int] = None) -> None:
        """Prints the page, ``width`` columns wide; by default as wide as the terminal."""
        if width is None:
            width = shutil.get_terminal_size((80, 24)).columns
        print(self._page().text(width), end="")

    def to_markdown(self) -> str:
        """The page as Markdown, for a report or a pull request."""
        return self._page().markdown()

    def __str__(self) -> str:
        return self._page().text().rstrip("\n")

    def _repr_html_(self) -> str:
        return self._page().html()

    _repr_markdown_ = to_markdown


@dataclasses.dataclass(frozen=True)
class Operation:
    """One operation on one device. Times are in nanoseconds; unknown figures are None."""

    name: str
    device: str
    #: Elements in one call.
    size: Optional[int]
    #: The workload in words.
    workload: Optional[str]
    #: Processes that measured it.
    runs: int
    calls: int
    #: Time of all calls, ns.
    total_ns: float
    #: Time of all calls without the operations inside, ns.
    own_ns: float
    #: The fraction of the profile's time, of own times.
    share_of_total: float
    mean_ns: Optional[float]
    deviation_ns: Optional[float]
    min_ns: Optional[float]
    median_ns: Optional[float]
    p95_ns: Optional[float]
    p99_ns: Optional[float]
    max_ns: Optional[float]
    #: Coefficient of variation, a fraction.
    cv: Optional[float]
    calls_per_s: Optional[float]
    items_per_s: Optional[float]
    #: Bytes, items and floating-point operations of a call, if stated.
    bytes: Optional[int]
    items: Optional[int]
    flops: Optional[int]
    #: Peak memory of a call.
    memory_bytes: Optional[int]
    #: The fraction of the GPU's units that a call keeps busy.
    gpu_use: Optional[float]
    #: Why samples are missing.
    failure: Optional[str]
    #: Further attributes.
    attributes: dict[str, Any]
    #: The samples of each run, ns.
    samples_ns: list[list[float]] = dataclasses.field(repr=False)


_FIGURES = ("mean", "deviation", "min", "median", "p95", "p99", "max")


class Profile(Page):
    """A profile. From :func:`load`, or ``get_profiler().snapshot()``."""

    __slots__ = ("_raw", "path", "source")

    _raw: _breakeven.Profile
    #: The file that it was read from.
    path: Optional[str]
    #: The file, or another origin.
    source: str

    def __init__(self, data: Union[Mapping[str, Any], str]) -> None:
        """From the parsed JSON of a profile file, or its text."""
        text = data if isinstance(data, str) else json.dumps(data)
        self._raw = _breakeven.parse(text, "the profile")
        self.path, self.source = None, "parsed data"

    @classmethod
    def _of(
        cls, raw: _breakeven.Profile, source: str, path: Optional[str] = None
    ) -> Profile:
        profile = cls.__new__(cls)
        profile._raw, profile.source, profile.path = raw, source, path
        return profile

    def __reduce__(self) -> tuple[Any, ...]:
        slots = {"source": self.source, "path": self.path}
        return type(self), (self._raw.json(),), (None, slots)

    @property
    def notes(self) -> list[str]:
        """Warnings about the file."""
        return self._raw.notes

    @property
    def operations(self) -> list[Operation]:
        """The operations, in the order in which they first appeared."""
        operations = []
        for data, row in json.loads(self._raw.operations()):
            summary, failure = row["summary"] or {}, data.get("failure")
            figures = {f"{name}_ns": summary.get(name) for name in _FIGURES}
            samples = [run["samples_ns"] for run in data.get("runs", ())]
            data = {"attributes": {}, **data, **row, **figures, "cv": summary.get("cv")}
            data["failure"] = failure and "{kind}: {message}".format(**failure)
            operations.append(entry(Operation, {**data, "samples_ns": samples}))
        return operations

    def to_dict(self) -> dict[str, Any]:
        """The profile as in a profile file."""
        data: dict[str, Any] = json.loads(self._raw.json())
        return data

    def to_pandas(self) -> pandas.DataFrame:
        """The operations as a data frame, one per row."""
        return frame(self.operations)

    def write(self, path: PathLike) -> None:
        """Writes a profile file, in one step. Raises :class:`FileError`."""
        self._raw.write(path)

    def _page(self) -> _breakeven.Printed:
        return self._raw.page()

    def __len__(self) -> int:
        return len(self._raw)

    def __repr__(self) -> str:
        return f"<breakeven.Profile of {self.source}: {len(self)} operation(s)>"


#: A profile, the parsed JSON of one, or the path of a file.
ProfileLike = Union[Profile, Mapping[str, Any], PathLike]
Side = Union[ProfileLike, Sequence[ProfileLike]]


def load(path: PathLike, *, format: Optional[str] = None, columns: Optional[str] = None) -> Profile:
    """Reads a profile file, or a file of another benchmark, profiler or tracer.

    The content shows the format; otherwise ``format`` names it. ``columns`` gives the meaning of
    the columns of a CSV file, as in ``"name=case,time=wall,unit=ms"``.

    Raises :class:`FileError` if the file cannot be read, and :class:`ProfileError`, with line and
    place, if its content is invalid.
    """
    name = os.fspath(path)
    return Profile._of(_breakeven.load(path, format, columns), name, name)


def profile_of(data: ProfileLike) -> Profile:
    """The profile that ``data`` is, contains, or names."""
    if isinstance(data, Profile):
        return data
    if isinstance(data, Mapping):
        return Profile(data)
    if isinstance(data, (str, os.PathLike)):
        return load(data)
    raise TypeError(f"a profile is a Profile, parsed JSON or a path, not {type(data).__name__}")


def profiles_of(data: Side) -> list[Profile]:
    """The profiles of one side: one, or a list of runs."""
    if isinstance(data, (str, Mapping)) or not hasattr(data, "__iter__"):
        return [profile_of(data)]
    return [profile_of(each) for each in data]
