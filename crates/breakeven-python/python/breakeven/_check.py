"""Checks of arguments: one :class:`InvalidError` each, with name, value and remedy."""

from __future__ import annotations

import math
import operator
import os
import reprlib
import sys
from typing import Any, Optional

from ._errors import InvalidError

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 80
shown = _SHORT.repr


def invalid(name: str, value: Any, remedy: str) -> InvalidError:
    """The error of an argument; a long value is shortened."""
    return InvalidError(f"{name}: {shown(value)}; {remedy}")


def count(
    name: str, value: Any, least: int = 0, most: int = sys.maxsize, remedy: str = ""
) -> int:
    """A whole number of any type: Python's, NumPy's, or a float without a fraction."""
    try:
        is_float = isinstance(value, float) and value.is_integer()
        whole = int(value) if is_float else operator.index(value)
    except TypeError:
        whole = least - 1
    if isinstance(value, bool) or not least <= whole <= most:
        raise invalid(name, value, remedy or f"give a whole number, {least} or more")
    return whole


def number(
    name: str, value: Any, remedy: str, least: float = 0.0, most: float = math.inf
) -> float:
    """A real number of any type."""
    try:
        real = math.nan if isinstance(value, (str, bytes)) else float(value)
    except (TypeError, ValueError, OverflowError):
        real = math.nan
    if not least <= real <= most:
        raise invalid(name, value, remedy)
    return real


def text(name: str, value: Any) -> None:
    """A text that is not empty, or None."""
    if value is not None and not (isinstance(value, str) and value):
        raise invalid(name, value, "give a text")


def costs_file(costs: Any) -> Optional[str]:
    """The path of a cost model's file; None without one."""
    if costs is None or costs is False:
        return None
    path = os.fspath(costs) if isinstance(costs, os.PathLike) else costs
    if not isinstance(path, str) or not path:
        raise invalid("costs", costs, "give the path of a file, False or None")
    if os.path.isdir(path) or not os.path.isdir(os.path.dirname(path) or "."):
        raise invalid("costs", path, "give a file in a folder that exists")
    return path
