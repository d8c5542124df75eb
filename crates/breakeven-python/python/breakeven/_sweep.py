"""The size from which the program's own GPU function pays."""

from __future__ import annotations

import math
from typing import Any, Callable, Iterable, Optional, TypeVar

from . import _breakeven
from ._check import count, invalid, number
from ._profile import Page, Profile

Input = TypeVar("Input")


class Swept(Page):
    """Times over size of both functions. Prints as a table, a plot and the answer."""

    __slots__ = ("_raw",)

    def __init__(self, raw: _breakeven.Swept) -> None:
        self._raw = raw

    @property
    def size(self) -> Optional[float]:
        """The size from which the GPU's function is faster; None if that is at every size, at
        none, or undecided, as the printed answer says."""
        found = self._raw.found()
        return found and found[0]

    @property
    def interval(self) -> Optional[tuple[float, float]]:
        """The 95 % interval of :attr:`size`."""
        found = self._raw.found()
        return found and (found[1][0], found[1][1])

    @property
    def constant(self) -> Optional[float]:
        """For ``if n >= constant``: the size with as few digits as its interval permits, 0 if the
        GPU always pays, ``math.inf`` if it never does, None if the times do not decide."""
        constant = self._raw.constant()
        return constant if constant is None or math.isinf(constant) else int(constant)

    def profile(self) -> Profile:
        """The times as a profile, with the size as evidence for ``show``, ``report`` and
        :func:`advise`."""
        return Profile._of(self._raw.profile(), "a sweep")

    def __repr__(self) -> str:
        return f"<breakeven.Swept: {str(self).splitlines()[-1].strip()}>"

    def _page(self) -> _breakeven.Printed:
        return self._raw.page()


def sweep(
    cpu: Callable[[Input], Any],
    gpu: Callable[[Input], Any],
    *,
    make: Callable[[int], Input],
    sizes: Optional[Iterable[int]] = None,
    name: Optional[str] = None,
    time_limit: float = 10.0,
) -> Swept:
    """Finds the size from which ``gpu`` is faster than ``cpu``.

    Each is called once to warm up, then in turns with the other; short calls are repeated.

    Args:
        cpu: Computes on an input.
        gpu: The same on the GPU. It must wait for its result (``torch.cuda.synchronize()``,
            ``block_until_ready()``).
        make: Makes the input of a size, once for each and outside the measured time.
        sizes: Sizes to measure first, 1 or more each; more follow where the answer lies. By
            default they double from 1 000 to 10 000 000.
        name: The operation's name in the profile; by default the CPU function's.
        time_limit: Seconds for all of it; the largest sizes are left out if it does not suffice.

    Returns:
        The times; a size at which a function raised has a failure.

    Raises:
        InvalidError: A size is not a whole number of 1 or more, there is none, or no time.
        Exception: What a function raised, if nothing could be measured.
    """
    if sizes is not None:
        given, each = sizes, getattr(sizes, "__iter__", tuple)
        sizes = [count("sizes", size, 1) for size in each()]
        if not sizes:
            raise invalid("sizes", given, "give a list of whole numbers")
    time_limit = number("time_limit", time_limit, "give seconds, more than 0", 1e-9)
    name = name or str(getattr(cpu, "__qualname__", type(cpu).__qualname__))
    return Swept(_breakeven.sweep(name, sizes, time_limit, make, cpu, gpu))
