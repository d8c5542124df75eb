"""Times breakeven's CPU forms and other packages in turns: see `run` beside it.

A round is a block of ours and a block of the best peer, a ratio is made within a
round, and the figure is the median over the rounds; its interval is that of the
median by order statistics, 95 % or a little more. A block is several lots of
calls and counts as their median, so that what else the machine does meets few of
its lots. Between blocks there is a pause in which the threads of the side that
just ran fall asleep: OpenBLAS's and OpenMP's wait busily for a while.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PAUSE_S = 0.06
LOT_S = 0.5e-3
LOTS = 25
BLOCK_S = 0.1


def arguments():
    parser = argparse.ArgumentParser(prog="bench/peers/run")
    parser.add_argument("--ours", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--quick", action="store_true", help="5 rounds in place of 15")
    parser.add_argument("--only", action="append", metavar="KERNEL")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    return parser.parse_args()


class Ours:
    """The process that holds our kernels; one line of JSON for another."""

    def __init__(self, program, folder):
        self.folder = Path(folder)
        self.process = subprocess.Popen([program, "--serve"], text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)

    def ask(self, command):
        print(json.dumps(command), file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            sys.exit("peers: our process ended; its message is above")
        return json.loads(line)

    def make(self, work):
        """Our output for that work, or None where we have no such kernel."""
        paths = []
        for index, values in enumerate(work.inputs):
            paths.append(str(self.folder / f"{index}.f32"))
            values.astype("float32").tofile(paths[-1])
        output = self.folder / "output.f32"
        answer = self.ask({"make": {"kernel": work.kernel, **work.sizes, "inputs": paths,
                                    "output": str(output)}})
        if "failed" in answer:
            print(f"{work.name}: skipped: {answer['failed']}")
            return None
        threads = int(os.environ["RAYON_NUM_THREADS"])
        assert answer["made"]["workers"] == threads, "both sides have as many threads"
        return work.read(output)

    def lots(self, count, calls):
        return [ns * 1e-9 for ns in self.ask({"time": {"lots": count, "calls": calls}})["times"]]


class Peer:
    """Another package's function, timed in this process."""

    def __init__(self, function):
        self.function = function

    def lots(self, count, calls):
        times = []
        for _ in range(count):
            start = time.perf_counter()
            for _ in range(calls):
                self.function()
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

    def __init__(self, side):
        self.side = side
        calls, (took,) = 1, side.lots(1, 1)
        while took < LOT_S:
            calls = max(calls + 1, int(calls * min(10, 1.2 * LOT_S / max(took, 1e-9))))
            took = min(side.lots(3, calls))
        self.calls = calls
        self.count = max(1, min(LOTS, int(BLOCK_S / took)))

    def time(self):
        """Seconds a call."""
        if self.count > 1:
            self.side.lots(1, self.calls)
        took = median(self.side.lots(self.count, self.calls)) / self.calls
        time.sleep(PAUSE_S)
        return took


def text(seconds):
    for unit, scale in (("s", 1), ("ms", 1e3), ("us", 1e6)):
        if seconds * scale >= 1:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def compare(work, ours, rounds):
    output = ours.make(work)
    if output is None:
        return
    block, peers = Block(ours), {}
    for name, function in work.peers.items():
        work.check(name, output, function())
        peers[name] = Block(Peer(function))
    first = {name: median([peer.time() for _ in range(3)]) for name, peer in peers.items()}
    best = min(first, key=first.get)
    our_times, ratios = [], []
    for _ in range(rounds):
        our_times.append(block.time())
        ratios.append(peers[best].time() / our_times[-1])
    low, high = interval(ratios)
    print(f"METRIC cpu_vs_peer/{work.name} {median(ratios):.3f} x")
    others = ", ".join(f"{name} {text(took)}" for name, took in sorted(first.items(), key=lambda p: p[1]))
    print(f"  {low:.3f} to {high:.3f}; ours {text(median(our_times))}; {others}", flush=True)


def main():
    options = arguments()
    # Before the packages are loaded: each has threads of its own.
    for name in ("RAYON", "OMP", "OPENBLAS", "MKL", "NUMEXPR"):
        os.environ[f"{name}_NUM_THREADS"] = str(options.threads)
    from works import works

    print(f"threads {options.threads}, load {os.getloadavg()[0]:.2f}")
    with tempfile.TemporaryDirectory() as folder:
        ours = Ours(options.ours, folder)
        for work in works(options.threads, options.only):
            compare(work, ours, 5 if options.quick else 15)


if __name__ == "__main__":
    main()
