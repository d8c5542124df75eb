"""How many tasks each process gets next, from its measured rate."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Optional, Sequence

#: Target duration of a span, seconds: long compared with a call of an actor (1 to 2 ms), and short
#: enough that a node that dies or slows down delays little.
_TARGET = 0.5
#: Shortest span, seconds, near the end.
_LEAST = 0.05
#: For long tasks: rounds of a node's cores per span, because the last round leaves cores idle.
_WAVES = 8
#: Rounds of a node's cores before anything is measured.
_FIRST = 4
#: Largest factor from the measured span to the next.
_GROWTH = 16


@dataclass(frozen=True)
class Span:
    """Adjacent tasks."""

    start: int
    stop: int
    #: How often it was lost with its process.
    losses: int = 0

    def __len__(self) -> int:
        return self.stop - self.start


class Free:
    """Unassigned tasks."""

    def __init__(self, tasks: int) -> None:
        self._spans = [Span(0, tasks)] if tasks else []

    def __len__(self) -> int:
        return sum(map(len, self._spans))

    def take(self, most: int) -> Span:
        """The next tasks, ``most`` or fewer; returned tasks come first."""
        span = self._spans.pop()
        if len(span) > most:
            self._spans.append(Span(span.start + most, span.stop, span.losses))
            span = Span(span.start, span.start + most, span.losses)
        return span

    def give_back(self, span: Span) -> None:
        self._spans.append(span)


@dataclass
class Pace:
    """The rate of a process."""

    #: Concurrent tasks.
    cores: int
    #: Tasks per second, once measured.
    rate: Optional[float] = None
    _largest: int = 0

    def done(self, tasks: int, seconds: float) -> None:
        """A span of that many tasks is done."""
        rate = tasks / max(seconds, 1e-6)
        # A few tasks say little about many; otherwise the last span counts for half.
        if self.rate is None or tasks > 4 * self._largest:
            self.rate = rate
        else:
            self.rate = (self.rate + rate) / 2
        self._largest = max(self._largest, tasks)

    def next(self, free: int, others: Sequence[Pace], most: int) -> int:
        """How many of the ``free`` tasks it gets now, at most ``most``."""
        if self.rate is None:
            return min(_FIRST * self.cores, math.ceil(free / (1 + len(others))), most)
        total = self.rate + sum(other.rate or 0.0 for other in others)
        longest = max(_TARGET, _WAVES * self.cores / self.rate)
        tasks = math.ceil(self.rate * max(min(longest, free / total / 2), _LEAST))
        tasks = max(tasks, min(self.cores, math.ceil(free * self.rate / total)))
        return min(tasks, _GROWTH * self._largest, most, free)
