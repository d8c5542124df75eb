"""Decides how many tasks each process gets next, from its measured rate. Reads no clock."""

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
    """The rate of a process, and its running span."""

    #: Concurrent tasks.
    cores: int
    #: Tasks per second, once measured.
    rate: Optional[float] = None
    #: Tasks of the running span, 0 if there is none.
    tasks: int = 0
    #: When it began.
    since: float = 0.0
    _largest: int = 0

    def give(self, tasks: int, now: float) -> None:
        """A span is assigned."""
        self.tasks, self.since = tasks, now

    def done(self, seconds: float) -> None:
        """The span is done."""
        tasks, self.tasks = self.tasks, 0
        rate = tasks / max(seconds, 1e-6)
        # A few tasks say little about many; otherwise the last span counts for half.
        if self.rate is None or tasks > 4 * self._largest:
            self.rate = rate
        else:
            self.rate = (self.rate + rate) / 2
        self._largest = max(self._largest, tasks)

    def now(self, now: float) -> float:
        """Tasks per second, fewer if the span is late."""
        late = self.tasks / max(now - self.since, 1e-9) if self.tasks else math.inf
        return max(min(self.rate or 0.0, late), 1e-9)

    def wave(self, now: float) -> float:
        """Seconds of one task on one core."""
        return self.cores / self.now(now)

    def left(self, now: float) -> float:
        """Seconds until it is idle."""
        return max(self.tasks / self.now(now) - (now - self.since), 0.0) if self.tasks else 0.0

    def next(self, free: int, others: Sequence[Pace], now: float, most: int) -> int:
        """How many of the ``free`` tasks it gets now: at most ``most``, and none if the other
        processes would finish them sooner."""
        if self.tasks or not free:
            return 0
        if self.rate is None:
            fair = math.ceil(free / (1 + len(others)))
            return min(_FIRST * self.cores, fair, most)
        measured = [other for other in others if other.rate is not None]
        rate = self.now(now)
        total = rate + sum(other.now(now) for other in measured)
        if self.wave(now) > _done_by(free, measured, now):
            return 0
        longest = max(_TARGET, _WAVES * self.wave(now))
        tasks = math.ceil(rate * max(min(longest, free / total / 2), _LEAST))
        tasks = max(tasks, min(self.cores, math.ceil(free * rate / total)))
        if tasks > self.cores:
            tasks -= tasks % self.cores
        return min(tasks, _GROWTH * self._largest, most, free)


def _done_by(free: int, others: Sequence[Pace], now: float) -> float:
    """Seconds until the other processes would have done the free tasks and their own."""
    if not others:
        return math.inf
    soonest = min(other.left(now) + other.wave(now) for other in others)
    tasks = free + sum(other.tasks for other in others)
    return max(soonest, tasks / sum(other.now(now) for other in others))
