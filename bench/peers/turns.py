"""Times our process and other packages in turns.

A round is a block of ours and a block of the best peer, a ratio is made within a
round, and the figure is the median over the rounds; its interval is that of the
median by order statistics, 95 % or a little more, for which there have to be six. A block is several lots of
calls and counts as their median, so that what else the machine does meets few of
its lots.
"""

import json
import subprocess
import time
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path


class Failure(Exception):
    """What one side could not do; the others can go on."""


class Unsupported(Failure):
    """What our device lacks."""


def said(error):
    """An exception in one line."""
    line = (str(error).strip().splitlines() or [""])[0]
    return line if isinstance(error, Failure) else f"{type(error).__name__}: {line}"


@dataclass
class Turns:
    """How long blocks are."""

    # A lot of calls lasts at least this long, seconds.
    lot_s: float
    # Most lots in a block, and how long they may take together.
    lots: int
    block_s: float
    # After each block.
    pause_s: float
    rounds: int
    # Before a block is timed its side works for so long: a system may leave threads that
    # just woke on one core for some tens of milliseconds.
    warm_s: float = 0.0


class Ours:
    """The process that holds our kernels; one line of JSON for another. It is
    started again for the next work after one at which it ended."""

    def __init__(self, command, folder):
        self.command, self.folder, self.process = command, Path(folder), None

    def ask(self, command):
        if self.process is None:
            self.process = subprocess.Popen(self.command, text=True, stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE)
        try:
            print(json.dumps(command), file=self.process.stdin, flush=True)
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            self.process.wait()
            self.process = None
            raise Failure("our process ended; its message is above")
        answer = json.loads(line)
        if "unsupported" in answer:
            raise Unsupported(answer["unsupported"])
        if "failed" in answer:
            raise Failure(answer["failed"])
        return answer

    def about(self):
        """Where the work is done: device, workers, and how much a problem may take."""
        return self.ask("about")["about"]

    def make(self, work):
        """Our output for the work, which is timed from now on."""
        paths = []
        for index, values in enumerate(work.inputs):
            paths.append(str(self.folder / f"{index}.f32"))
            values.astype("float32", copy=False).tofile(paths[-1])
        output = self.folder / "output.f32"
        self.ask({"make": {"kernel": work.kernel, **work.sizes, "inputs": paths,
                           "output": str(output)}})
        return work.read(output)

    def lots(self, count, calls):
        return [ns * 1e-9 for ns in self.ask({"time": {"lots": count, "calls": calls}})["times"]]


class Peer:
    """Another package's function, timed in this process. `wait` returns when all
    that was started is done."""

    def __init__(self, function, wait=lambda: None):
        self.function, self.wait = function, wait

    def lots(self, count, calls):
        times, function = [], self.function
        for _ in range(count):
            self.wait()
            start = time.perf_counter()
            for _ in repeat(None, calls):
                function()
            self.wait()
            times.append(time.perf_counter() - start)
        return times


def median(values):
    values = sorted(values)
    return (values[(len(values) - 1) // 2] + values[len(values) // 2]) / 2


def interval(values):
    """The median's, by order statistics: P(below the k-th smallest) is binomial."""
    values, n = sorted(values), len(values)
    ways, tail, k = 1, 0.0, 0
    for i in range(n // 2):
        tail += ways / 2**n
        if tail > 0.025:
            break
        k = i
        ways = ways * (n - i) // (i + 1)
    return values[k], values[n - 1 - k]


class Block:
    """How a side is timed: lots of enough calls to be read off a clock."""

    def __init__(self, side, turns):
        self.side, self.turns = side, turns
        # What the first call makes or fetches is no call's time, and of a few lots one
        # is not disturbed: what is too long here would make lots too short for good.
        side.lots(1, 1)
        calls, took = 1, min(side.lots(3, 1))
        while took < turns.lot_s:
            calls = max(calls + 1, int(calls * min(10, 1.2 * turns.lot_s / max(took, 1e-9))))
            took = min(side.lots(3, calls))
        self.calls = calls
        self.count = max(1, min(turns.lots, int(turns.block_s / took)))
        self.warm = max(int(self.count > 1), int(turns.warm_s / took))

    def time(self):
        """Seconds a call."""
        if self.warm:
            self.side.lots(self.warm, self.calls)
        took = median(self.side.lots(self.count, self.calls)) / self.calls
        time.sleep(self.turns.pause_s)
        return took

    def thrice(self):
        """Seconds a call, the median of three blocks."""
        return median([self.time() for _ in range(3)])


def text(seconds):
    for unit, scale in (("s", 1), ("ms", 1e3), ("us", 1e6)):
        if seconds * scale >= 1:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def compare(figure, work, ours, peers, turns, small):
    """Prints the time of the best of the peers (functions by name) over ours, and what
    its calls take where there is next to nothing to do, which `small` gives by name:
    that much of its time is for being called from Python."""
    block = Block(ours, turns)
    blocks = {name: Block(peer, turns) for name, peer in peers.items()}
    first = {name: block.thrice() for name, block in blocks.items()}
    best = min(first, key=first.get)
    our_times, ratios = [], []
    for _ in range(turns.rounds):
        our_times.append(block.time())
        ratios.append(blocks[best].time() / our_times[-1])
    low, high = interval(ratios)
    print(f"METRIC {figure}/{work.name} {median(ratios):.3f} x")
    others = ", ".join(f"{name} {text(first[name])}" for name in sorted(first, key=first.get))
    print(f"  {low:.3f} to {high:.3f}; ours {text(median(our_times))}; {others}", flush=True)
    calls = Block(small(best), turns).thrice()
    print(f"METRIC {figure}_calls/{work.name} {calls * 1e6:.2f} us")
    print(f"  {best} with next to nothing to do", flush=True)
