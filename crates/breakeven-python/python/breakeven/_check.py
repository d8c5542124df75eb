"""Checks of arguments: each error has the name, the value, shortened, and what to give."""

from __future__ import annotations

import math
import os
import reprlib
import sys
from typing import Any, Optional

from ._errors import InvalidError

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 80
shown = _SHORT.repr


def invalid(name: str, value: Any, remedy: str) -> InvalidError:
    return InvalidError(f"{name}: {shown(value)}; {remedy}")


def number(
    name: str, value: Any, remedy: str = "give 0 or more", least: float = 0, most: float = math.inf
) -> float:
    try:
        real = math.nan if isinstance(value, str) else float(value)
    except (TypeError, ValueError, OverflowError):
        real = math.nan
    if not least <= real <= most:
        raise invalid(name, value, remedy)
    return real


def count(
    name: str, value: Any, least: int = 0, remedy: str = "", most: int = sys.maxsize
) -> int:
    """A whole number of any type: Python's, NumPy's, or a float without a fraction."""
    remedy = remedy or f"give a whole number, {least} or more"
    if number(name, value, remedy, least, most) % 1 or isinstance(value, bool):
        raise invalid(name, value, remedy)
    return int(value)


def text(name: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise invalid(name, value, "give a text")
    return value


def costs_file(costs: Any, is_here: bool = True) -> Optional[str]:
    """The path of a cost model's file, in a folder that exists here; None without one."""
    if costs is None or costs is False:
        return None
    path = os.fspath(costs) if isinstance(costs, os.PathLike) else text("costs", costs)
    if is_here and (os.path.isdir(path) or not os.path.isdir(os.path.dirname(path) or ".")):
        raise invalid("costs", path, "give a file in a folder that exists")
    return path
