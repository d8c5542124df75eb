"""How many tasks who gets next, from what was measured of each. Reads no clock."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Optional, Sequence

#: Seconds that a span takes: so long that a call of an actor (1 to 2 ms) is small beside it,
#: so short that a node that dies or slows down holds up little.
_TARGET = 0.5
#: Seconds that a span takes at the least, near the end.
_LEAST = 0.05
#: Tasks that take long: so many rounds of a node's cores, as the last round leaves cores idle.
_WAVES = 8
#: Rounds of a node's cores while nothing was measured.
_FIRST = 4
#: How much larger than what was measured the next span may be.
_GROWTH = 16


@dataclass(frozen=True)
class Span:
    """Tasks side by side."""

    start: int
    stop: int
    #: How often it was lost with who had it.
    losses: int = 0

    def __len__(self) -> int:
        return self.stop - self.start


class Free:
    """Tasks that nobody has."""

    def __init__(self, tasks: int) -> None:
        self._spans = [Span(0, tasks)] if tasks else []

    def __len__(self) -> int:
        return sum(map(len, self._spans))

    def take(self, most: int) -> Span:
        """The next tasks, ``most`` or fewer; those given back come first."""
        span = self._spans.pop()
        if len(span) > most:
            self._spans.append(Span(span.start + most, span.stop, span.losses))
            span = Span(span.start, span.start + most, span.losses)
        return span

    def give_back(self, span: Span) -> None:
        self._spans.append(span)


@dataclass
class Pace:
    """How fast somebody works, and what they have to do."""

    #: Tasks that run side by side.
    cores: int
    #: Tasks per second, once measured.
    rate: Optional[float] = None
    #: Tasks of what they have, oldest first.
    queue: list[int] = field(default_factory=list)
    #: When they began with the oldest.
    since: float = 0.0
    _largest: int = 0

    def give(self, tasks: int, now: float) -> None:
        """They get a span."""
        if not self.queue:
            self.since = now
        self.queue.append(tasks)

    def done(self, tasks: int, seconds: float, now: float) -> None:
        """They have done their oldest span."""
        self.queue.pop(0)
        self.since = now
        rate = tasks / max(seconds, 1e-6)
        # A few tasks say little about many; else the last span counts for half.
        if self.rate is None or tasks > 4 * self._largest:
            self.rate = rate
        else:
            self.rate = (self.rate + rate) / 2
        self._largest = max(self._largest, tasks)

    def forget(self) -> None:
        """What they had is somebody else's."""
        self.queue.clear()

    def now(self, now: float) -> float:
        """Tasks per second; fewer where a span is late."""
        rate = self.rate or 0.0
        took = now - self.since
        return min(rate, self.queue[0] / took) if self.queue and took > 0 else rate

    def wave(self, now: float) -> float:
        """Seconds that one task takes on each core."""
        return self.cores / max(self.now(now), 1e-9)

    def left(self, now: float) -> float:
        """Seconds until they have nothing to do."""
        if not self.queue:
            return 0.0
        return max(sum(self.queue) / max(self.now(now), 1e-9) - (now - self.since), 0.0)

    def next(self, free: int, others: Sequence[Pace], now: float, most: int) -> int:
        """How many of the ``free`` tasks they get now: at most ``most``, and none where the
        others would sooner have done them."""
        if len(self.queue) > 1 or not free:
            return 0
        if self.rate is None:
            fair = math.ceil(free / (1 + len(others)))
            return 0 if self.queue else min(_FIRST * self.cores, fair, most)
        measured = [other for other in others if other.rate is not None]
        rate = self.now(now)
        total = rate + sum(other.now(now) for other in measured)
        remaining = free / max(total, 1e-9)
        # A span that waits behind another hides the way to the node and back; near the end it
        # would only wait.
        if self.queue and remaining < _TARGET:
            return 0
        if not self.queue and self.wave(now) > _done_by(free, measured, now):
            return 0
        longest = max(_TARGET, _WAVES * self.wave(now))
        tasks = math.ceil(rate * max(min(longest, remaining / 2), _LEAST))
        tasks = max(tasks, min(self.cores, math.ceil(free * rate / max(total, 1e-9))))
        if tasks > self.cores:
            tasks -= tasks % self.cores
        return min(tasks, _GROWTH * self._largest, most, free)


def _done_by(free: int, others: Sequence[Pace], now: float) -> float:
    """Seconds until the others would have done what is free beside what they have."""
    if not others:
        return math.inf
    soonest = min(other.left(now) + other.wave(now) for other in others)
    tasks = free + sum(sum(other.queue) for other in others)
    return max(soonest, tasks / max(sum(other.now(now) for other in others), 1e-9))


def latest(paces: Sequence[Pace], now: float) -> Optional[Pace]:
    """Where nothing is free and somebody has nothing to do: who should give back what waits
    behind what they do."""
    if all(pace.queue for pace in paces):
        return None
    late = [pace for pace in paces if len(pace.queue) > 1]
    return max(late, key=lambda pace: pace.left(now), default=None)
